#include <catch2/catch.hpp>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

namespace hello_test {

using namespace muster;

namespace {

void take_damage(const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

}  // namespace

TEST_CASE("a pushed message is handled when push returns") {
  EntityRegistry registry;
  const Subscription s = registry.subscribe("game.take_damage", take_damage);
  const Entity orc = registry.create("orc", game::Health{.value = 30});
  REQUIRE(registry.alive(orc));
  CHECK(registry.name(orc) == "orc");
  const Receipt receipt = registry.push(orc, game::Damage{.amount = 7});
  CHECK(receipt.handled == 1);
  CHECK(registry.get<game::Health>(orc).value == 23);
  registry.push(orc, game::Damage{.amount = 70});
  CHECK_FALSE(registry.alive(orc));
  CHECK(registry.push(orc, game::Damage{.amount = 7}).dead == 1);
}

TEST_CASE("posted messages wait for the flush and keep their order") {
  EntityRegistry registry;
  std::vector<float> seen;
  const auto s =
      registry.subscribe("log", [&](const game::Damage& hit, const game::Health&) { seen.push_back(hit.amount); });
  const Entity a = registry.create("a", game::Health{});
  const Entity b = registry.create("b", game::Health{});
  for (int i = 0; i < 10; ++i) registry.post(i % 2 ? a : b, game::Damage{.amount = static_cast<float>(i)});
  CHECK(seen.empty());
  const Receipt receipt = registry.flush();
  CHECK(receipt.handled == 10);
  CHECK(seen == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a pass runs over every matching row, parents first") {
  EntityRegistry registry;
  std::vector<Entity> order;
  const auto s =
      registry.subscribe("walk", [&](const Update&, const game::Health&, Entity self) { order.push_back(self); });
  const Entity root = registry.create("top", game::Health{});
  const Entity child = registry.create_under(root, "child", game::Health{}, game::Armor{});
  const Entity grandchild = registry.create_under(child, "grandchild", game::Health{});
  const Entity other = registry.create("other", game::Health{}, game::Armor{});
  registry.push(Update{.dt = 0.1f});
  REQUIRE(order.size() == 4);
  CHECK(order[0] == root);
  CHECK(order[1] == other);
  CHECK(order[2] == child);
  CHECK(order[3] == grandchild);
  CHECK(registry.path(grandchild) == "/top/child/grandchild");
  CHECK(registry.find_path("/top/child/grandchild") == grandchild);
}

}  // namespace hello_test
