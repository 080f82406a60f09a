// World::begin_save: what is saved is the state of the moment in which it was begun, whatever happens meanwhile.
#include <catch2/catch.hpp>
#include <optional>

#include "include/muster/world.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/saved_by_hand.h"

namespace begun_save_test {

using namespace muster;
using namespace muster::test;

namespace {

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  return {};
}

using Report = std::expected<CheckpointReport, WorldError>;

/// Frames until the save that was begun is over.
void wait_for(World& world, const std::optional<Report>& told) {
  for (int frame = 0; !told && frame < 20'000; ++frame) REQUIRE(world.next_frame());
  REQUIRE(told.has_value());
}

float health_in(const std::string& path) {
  const World world(path, install);
  return world.registry().get<game::Health>(world.registry().find_path("/e")).value;
}

struct Begun {
  explicit Begun(const std::string& path) : world(path, install, saved_by_hand({.hz = 1000})) {
    e = world.registry().create("e", game::Health{.value = 1});
    world.save();
  }
  void set(float value) { world.registry().set(e, game::Health{.value = value}); }
  bool begin() {
    told.reset();
    return world.begin_save([this](Report report) { told = std::move(report); });
  }
  World world;
  Entity e;
  std::optional<Report> told;
};

}  // namespace

TEST_CASE("a save that was begun saves the state of that moment, and is told between inputs when it is on the disk") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    Begun of(path);
    of.set(2);
    const std::uint64_t sequence = of.world.registry().sequence();
    REQUIRE(of.begin());
    CHECK_FALSE(of.told.has_value());
    of.set(3);
    wait_for(of.world, of.told);
    REQUIRE(*of.told);
    CHECK((*of.told)->sequence == sequence);
    CHECK(of.world.durable_sequence() == sequence);
  }
  CHECK(health_in(path) == 2);
}

TEST_CASE("one save is under way at a time; another that must be done at once waits for it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    Begun of(path);
    of.set(2);
    REQUIRE(of.begin());
    CHECK_FALSE(of.world.begin_save([](const Report&) { FAIL("it was not begun"); }));
    of.set(3);
    const auto report = of.world.save();
    REQUIRE(of.told.has_value());
    REQUIRE(*of.told);
    CHECK(report.checkpoint == (*of.told)->checkpoint + 1);
    CHECK(report.rows_written > 0);
  }
  CHECK(health_in(path) == 3);
}

TEST_CASE("a world that ends while a save is under way has it on the disk, and tells nobody") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::optional<Report> told;
  {
    Begun of(path);
    of.set(2);
    REQUIRE(of.world.begin_save([&](Report report) { told = std::move(report); }));
  }
  CHECK_FALSE(told.has_value());
  CHECK(health_in(path) == 2);
}

TEST_CASE("a new world is saved at once where a save of it is begun") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  World world(path, install);
  world.registry().create("e", game::Health{.value = 5}).or_stop();
  std::optional<Report> told;
  REQUIRE(world.begin_save([&](Report report) { told = std::move(report); }));
  REQUIRE(told.has_value());
  CHECK(*told);
  CHECK_FALSE(world.is_new());
}

TEST_CASE("saves that are begun and such that are not come to the same, whatever happens between them") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::uint64_t hash = 0;
  {
    Begun of(path);
    EntityRegistry& registry = of.world.registry();
    std::vector<Entity> made;
    for (int round = 0; round < 60; ++round) {
      for (std::size_t i = random() % 200; i > 0; --i) {
        if (made.empty() || random() % 3 > 0) {
          made.push_back(registry.create("", game::Health{.value = static_cast<float>(random() % 100)}));
        } else {
          const std::size_t at = random() % made.size();
          if (random() % 2) {
            registry.destroy(made[at]);
            made.erase(made.begin() + static_cast<std::ptrdiff_t>(at));
          } else {
            registry.set(made[at], game::Health{.value = static_cast<float>(random() % 100)});
          }
        }
      }
      if (random() % 3 == 0) of.world.save();
      if (of.begin() && random() % 2) wait_for(of.world, of.told);
    }
    of.world.save();
    hash = registry.hash();
  }
  const World again(path, install);
  CHECK(again.registry().hash() == hash);
}

}  // namespace begun_save_test
