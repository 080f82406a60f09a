#include <catch2/catch.hpp>

#include <filesystem>

#include "examples/skirmish/skirmish.h"
#include "schema/skirmish.h"
#include "server/world/world.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

using namespace muster;

namespace {

/// As next_frame does it, without the wall clock.
void run(EntityRegistry& registry, int ticks) {
  for (int i = 0; i < ticks; ++i) {
    registry.advance(1'000'000'000 / 60);
    registry.push(Update{.dt = 1.0f / 60});
  }
}

}  // namespace

TEST_CASE("a battle in a world file goes on where it was saved, with the same hashes") {
  const test::Folder folder;
  std::uint64_t saved = 0, later = 0;
  {
    World world(folder / "battle.muster", skirmish::install, test::saved_by_hand({.hz = 60}));
    REQUIRE(world.is_new());
    skirmish::define_squads(world.registry());
    world.registry().push(skirmish::Deploy{.entities = 600, .distance = 30});
    for (int part = 0; part < 5; ++part) {
      run(world.registry(), 100);
      world.save();
    }
    saved = world.registry().hash();
    run(world.registry(), 500);
    later = world.registry().hash();
    CHECK(later != saved);
  }
  World world(folder / "battle.muster", skirmish::install, test::saved_by_hand({.hz = 60}));
  CHECK_FALSE(world.is_new());
  CHECK(world.registry().hash() == saved);
  run(world.registry(), 500);
  CHECK(world.registry().hash() == later);
}

TEST_CASE("what was posted when a world was saved is delivered after it was opened again") {
  const test::Folder folder;
  {
    World world(folder / "battle.muster", skirmish::install, test::saved_by_hand());
    EntityRegistry& registry = world.registry();
    skirmish::define_squads(registry);
    registry.push(skirmish::Deploy{.entities = 40});
    registry.post(registry.find_path("/red/tower-0"), skirmish::Damage{.amount = 7});
    world.save();
  }
  World world(folder / "battle.muster", skirmish::install, test::saved_by_hand());
  EntityRegistry& registry = world.registry();
  const Entity tower = registry.find_path("/red/tower-0");
  CHECK(registry.get<skirmish::Health>(tower).value == 2000);
  CHECK(registry.flush().handled == 1);
  CHECK(registry.get<skirmish::Health>(tower).value == 1993);
}
