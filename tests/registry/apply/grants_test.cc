#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

Receipt create_as(EntityRegistry& registry, Entity id, std::uint64_t session) {
  BatchBuilder builder;
  builder.append_rows(id, Create{}, game::Health{.value = 7});
  return registry.host().push_batch(builder.bytes(), {.session = session});
}

}  // namespace

TEST_CASE("a granted id creates without asking, once") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  const Entity first = registry.host().grant(3, 5);
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
  const Entity granted = registry.host().grant(2, 5);
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
  const Entity first = registry.host().grant(2000, 5);
  for (std::uint32_t i = 1; i < 2000; i += 50) REQUIRE(create_as(registry, {first.index + i, 1}, 5).handled == 1);
  registry.host().return_grant(first, 2000);
  CHECK(create_as(registry, first, 5).refusal.code == RefusalCode::id_not_granted);
  CHECK(registry.alive({first.index + 1, 1}));
  // 1960 free indices in short runs: those beyond the 1024 that rest are given out again, and none twice.
  std::set<Entity> made;
  for (int i = 0; i < 3000; ++i) {
    const Entity e = registry.create(game::Health{});
    REQUIRE(e);
    REQUIRE(made.insert(e).second);
  }
  CHECK(made.contains(first));
  CHECK_FALSE(made.contains({first.index + 1, 1}));
  CHECK(registry.entity_count() == 3040);
}

TEST_CASE("grants that come back, in whatever order, are granted again before an index that was never used") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  std::size_t indices = 0;
  for (int round = 0; round < 30; ++round) {
    std::vector<Entity> grants;
    for (std::uint64_t session = 1; session <= 16; ++session) grants.push_back(registry.host().grant(65'536, session));
    if (round == 0) indices = registry.host().storage().ids().indices();
    CHECK(registry.host().storage().ids().indices() == indices);
    CHECK(std::set<Entity>(grants.begin(), grants.end()).size() == 16);
    for (std::size_t i = 0; i < grants.size(); ++i) registry.host().return_grant(grants[(i * 7 + 3) % 16], 65'536);
    CHECK(create_as(registry, grants[round % 16], 5).refusal.code == RefusalCode::id_not_granted);
  }
}

TEST_CASE("grants never overlap, and loaded state grants the same ids, whatever was used and returned") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    auto registry = std::make_unique<EntityRegistry>();
    registry->add_type<game::Health>();
    std::map<std::uint32_t, std::uint32_t> held;  // index -> session
    std::set<std::uint32_t> used;
    for (int step = 0; step < 300; ++step) {
      switch (below(10)) {
        case 0:
        case 1:
        case 2: {
          const std::uint32_t count = below(400), session = 1 + below(9);
          const Entity first = registry->host().grant(count, session);
          for (std::uint32_t i = 0; i < count; ++i) {
            REQUIRE(held.emplace(first.index + i, session).second);
            REQUIRE_FALSE(used.contains(first.index + i));
            REQUIRE(registry->host().storage().in_state({first.index + i, 1}, IdState::granted));
          }
          break;
        }
        case 3:
        case 4: {
          if (held.empty()) break;
          const std::uint32_t first = std::next(held.begin(), below(static_cast<std::uint32_t>(held.size())))->first;
          const std::uint32_t count = below(600);
          registry->host().return_grant({first, 1}, count);
          held.erase(held.lower_bound(first), held.lower_bound(first + count));
          break;
        }
        case 5: {
          const naive::StateRows rows = naive::saved_rows(*registry);
          naive::RowsSource source(rows);
          auto loaded = std::make_unique<EntityRegistry>();
          loaded->add_type<game::Health>();
          REQUIRE(loaded->load(source).has_value());
          REQUIRE(loaded->hash() == registry->hash());
          for (const std::uint32_t count : {1u, 64u, 100u, 1000u})
            REQUIRE(loaded->host().storage().next_grant(count) == registry->host().storage().next_grant(count));
          REQUIRE(loaded->host().returned_ids() == registry->host().returned_ids());
          registry = std::move(loaded);
          break;
        }
        default: {
          if (held.empty()) break;
          const std::uint32_t index = std::next(held.begin(), below(static_cast<std::uint32_t>(held.size())))->first;
          REQUIRE(create_as(*registry, {index, 1}, held[index]).handled == 1);
          held.erase(index);
          used.insert(index);
          if (below(2)) registry->destroy({index, 1});
          break;
        }
      }
    }
  }
}

TEST_CASE("what is left of grants after a load is all that nothing names that waits") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  const Entity first = registry.host().grant(500, 5);
  REQUIRE(create_as(registry, {first.index + 10, 1}, 5).handled == 1);
  BatchBuilder builder;
  builder.append_rows({first.index + 100, 1}, Create{}, game::Health{});
  BatchBuilder timed;
  timed.append_timed(1000, 0, builder.front());
  REQUIRE(registry.host().push_batch(timed.bytes(), {.session = 5}).refused == 0);
  BatchBuilder posted;
  posted.append(Entity{first.index + 200, 1}, Create{});
  registry.host().post_batch(posted.bytes());
  const auto left = registry.host().left_grants();
  REQUIRE(left.size() == 3);
  CHECK(left[0] == std::pair(first, 100u));
  CHECK(left[1] == std::pair(Entity{first.index + 101, 1}, 99u));
  CHECK(left[2] == std::pair(Entity{first.index + 201, 1}, 299u));
  for (const auto& [from, count] : left) registry.host().return_grant(from, count);
  CHECK(registry.alive({first.index + 200, 1}));
  registry.advance(1000);
  CHECK(registry.alive({first.index + 100, 1}));
  CHECK(registry.host().left_grants().empty());
}

TEST_CASE("grants to several sessions do not overlap") {
  EntityRegistry registry;
  const Entity a = registry.host().grant(10, 1), b = registry.host().grant(10, 2);
  const Entity own = registry.create("own");
  CHECK(b.index >= a.index + 10);
  CHECK(own.index >= b.index + 10);
}

TEST_CASE("an id granted once stays dead after its entity is destroyed") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  const Entity id = registry.host().grant(1, 5);
  REQUIRE(create_as(registry, id, 5).handled == 1);
  registry.destroy(id);
  CHECK_FALSE(registry.alive(id));
  CHECK(create_as(registry, id, 5).refusal.code == RefusalCode::id_not_granted);
}

TEST_CASE("a run of 64 returned ids waits for a grant, one of 63 is for whoever needs an id") {
  EntityRegistry registry;
  const Entity first = registry.host().grant(64, 5), second = registry.host().grant(63, 5),
               last = registry.host().grant(1, 5);
  registry.host().return_grant(first, 64);
  registry.host().return_grant(second, 63);
  for (const Entity one : {first, Entity{first.index + 63, 1}})
    CHECK(registry.host().storage().in_state(one, IdState::returned));
  for (const Entity one : {second, Entity{second.index + 62, 1}})
    CHECK(registry.host().storage().in_state(one, IdState::free));
  CHECK(registry.host().grant(63, 6) == first);
  CHECK(registry.host().grant(63, 6).index > last.index);
}
