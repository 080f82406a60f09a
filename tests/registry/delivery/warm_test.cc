#include <catch2/catch.hpp>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/profile.h"
#include "tests/lineage/allocations.h"
#include "tests/registry/game.h"

using namespace muster;

TEST_CASE("a spread pass whose handlers post asks for no memory once warm") {
  ThreadPool pool(4);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  registry.create_many(5000, game::Health{}, game::Count{});
  for (int i = 0; i < 50; ++i) {
    Entity up = registry.create(game::Position{});
    for (int k = 0; k < 10; ++k) up = registry.create_under(up, {}, game::Position{});
  }
  Handlers handlers;
  handlers.add(registry.subscribe("push", [](const Update&, const game::Health&, Entity self, Outbox& out) {
    if (self.index % 3 == 0) out.post(self, game::Heal{.amount = 1});
  }));
  handlers.add(registry.subscribe("count", [](const Update&, game::Count& count) { ++count.hits; }));
  handlers.add(registry.subscribe(
      "follow", [](const Update&, game::Position& at, Parent<const game::Position> up) { at.at.x = up->at.x + 1; }));
  handlers.add(
      registry.subscribe("heal", [](const game::Heal& heal, game::Health& health) { health.value += heal.amount; }));
  for (int i = 0; i < 50; ++i) registry.push(Update{});  // which worker writes how much is never the same
  const std::uint64_t before = allocations(), spread = registry.profile().pass_counters().spread;
  for (int i = 0; i < 200; ++i) registry.push(Update{});
  CHECK(registry.profile().pass_counters().spread == spread + 200);
  CHECK(registry.profile().pass_counters().branches > 0);
  CHECK(allocations() - before <= 40);  // a worker that never had that many tasks before; not one per pass
}
