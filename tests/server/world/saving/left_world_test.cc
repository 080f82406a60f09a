// Tests which data is on disk after a program has ended without a save.
#include <catch2/catch.hpp>

#include "include/muster/world.h"
#include "tests/registry/game.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

namespace left_world_test {

using namespace muster;

namespace {

Handlers install(EntityRegistry& registry) {
  return {
      registry.subscribe("damage", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; })};
}

/// Returns the health of /orc in the file, or -1 if there is no orc.
float health_in(const std::string& path) {
  const World world(path, install, test::saved_by_hand());
  const Entity orc = world.registry().find_path("/orc");
  return orc ? world.registry().get<game::Health>(orc).value : -1;
}

}  // namespace

TEST_CASE("a world that is left without a save has every input on disk, with the options that nobody chose") {
  const test::Folder folder;
  const std::string path = folder / "w.muster";
  const bool runs = GENERATE(false, true);
  {
    World world(path, install, {.hz = 1000});
    CHECK(world.durability() == Durability::batched);
    CHECK(world.autosave() == std::chrono::seconds(2));
    const Entity orc = world.registry().create("orc", game::Health{.value = 30});
    world.save();
    if (runs) REQUIRE(world.next_frame());
    world.registry().push(orc, game::Damage{.amount = 7});
  }
  CHECK(health_in(path) == 23);
}

TEST_CASE("the first frame saves a new world that its program never saves, and what follows is recorded") {
  const test::Folder folder;
  const std::string path = folder / "w.muster";
  const bool polls = GENERATE(false, true);
  {
    World world(path, install, {.hz = 1000});
    const Entity orc = world.registry().create("orc", game::Health{.value = 30});
    CHECK(world.is_new());
    while (!(polls ? world.poll() : world.next_frame())) {
    }
    CHECK_FALSE(world.is_new());
    CHECK(world.durable_sequence() > 0);
    world.registry().push(orc, game::Damage{.amount = 7});
  }
  CHECK(health_in(path) == 23);
}

TEST_CASE("a new world without a journal is saved by its program alone") {
  const test::Folder folder;
  const std::string path = folder / "w.muster";
  {
    World world(path, install, test::saved_by_hand({.hz = 1000}));
    world.registry().create("orc", game::Health{.value = 30}).or_stop();
    CHECK(world.next_frame());
    CHECK(world.is_new());
  }
  CHECK(health_in(path) == -1);
}

}  // namespace left_world_test
