#include <catch2/catch.hpp>
#include <set>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

Receipt create_as(EntityRegistry& registry, Entity id, std::uint64_t author) {
  BatchBuilder builder;
  builder.append_rows(id, Create{}, game::Health{.value = 7});
  return registry.push_batch(builder.bytes(), author);
}

}  // namespace

TEST_CASE("a granted id creates without asking, once") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  const Entity first = registry.grant(3, 5);
  REQUIRE(first.generation == 1);
  const Entity second{first.index + 1, 1}, third{first.index + 2, 1};
  CHECK_FALSE(registry.alive(first));
  CHECK(create_as(registry, second, 5).handled == 1);
  CHECK(registry.alive(second));
  CHECK(registry.get<game::Health>(second).value == 7);
  const Receipt again = create_as(registry, second, 5);
  CHECK(again.refused == 1);
  CHECK(again.refusal.code == RefusalCode::id_not_granted);
  CHECK(again.refusal.entity == second);
  CHECK(create_as(registry, third, 5).handled == 1);
  CHECK(create_as(registry, first, 5).handled == 1);
  CHECK(registry.entity_count() == 3);
}

TEST_CASE("an id that was never granted is refused without effect") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  const Entity granted = registry.grant(2, 5);
  const Entity alive = registry.create("alive");
  const Entity dead = registry.create("dead");
  registry.destroy(dead);
  for (const Entity bad :
       {Entity{}, Entity{granted.index + 100, 1}, Entity{granted.index, 2}, Entity{granted.index, 0}, Entity{0, 1},
        Entity{0xffffffffu, 1}, alive, dead, Entity{dead.index, dead.generation + 1}}) {
    CAPTURE(bad.index, bad.generation);
    const Receipt receipt = create_as(registry, bad, 5);
    CHECK(receipt.handled == 0);
    CHECK(receipt.refusal.code == RefusalCode::id_not_granted);
  }
  CHECK(registry.entity_count() == 1);
}

TEST_CASE("leftovers of a grant go back and are refused afterwards") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  const Entity first = registry.grant(2000, 5);
  REQUIRE(create_as(registry, {first.index + 1, 1}, 5).handled == 1);
  registry.return_grant(first, 2000);
  CHECK(create_as(registry, first, 5).refusal.code == RefusalCode::id_not_granted);
  CHECK(registry.alive({first.index + 1, 1}));
  // 1999 free indices: those beyond the 1024 that rest are given out again, and none twice.
  std::set<Entity> made;
  for (int i = 0; i < 3000; ++i) {
    const Entity e = registry.create(game::Health{});
    REQUIRE(e);
    REQUIRE(made.insert(e).second);
  }
  CHECK(made.contains(first));
  CHECK_FALSE(made.contains({first.index + 1, 1}));
  CHECK(registry.entity_count() == 3001);
}

TEST_CASE("grants to several authors do not overlap") {
  EntityRegistry registry;
  const Entity a = registry.grant(10, 1), b = registry.grant(10, 2);
  const Entity own = registry.create("own");
  CHECK(b.index >= a.index + 10);
  CHECK(own.index >= b.index + 10);
}

TEST_CASE("an id granted once stays dead after its entity is destroyed") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  const Entity id = registry.grant(1, 5);
  REQUIRE(create_as(registry, id, 5).handled == 1);
  registry.destroy(id);
  CHECK_FALSE(registry.alive(id));
  CHECK(create_as(registry, id, 5).refusal.code == RefusalCode::id_not_granted);
}
