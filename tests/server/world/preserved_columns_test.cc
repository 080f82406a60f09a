// A save that is written while the world goes on: each column as it was, copied only where it changes before it was read.
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <thread>

#include "include/muster/world.h"
#include "tests/registry/random_steps.h"
#include "tests/server/world/saved_registry.h"
#include "tests/server/world/write_lock.h"
#include "tests/support/seeds.h"

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

struct AllRows final : StateSink {
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    rows[key] = Bytes(bytes.begin(), bytes.end());
  }
  Contents rows;
};

Contents rows_of(const EntityRegistry& registry) {
  AllRows all;
  registry.save(all);
  return all.rows;
}

constexpr std::uint64_t much = 1u << 30;

/// Sixteen chunks of one archetype, of which a save was begun.
struct Begun {
  explicit Begun(std::uint64_t bytes_max) : copy(nullptr, 0, bytes_max) {
    entities = registry.create_many(16'000, game::Health{.value = 1}, game::Armor{.factor = 1});
    registry.begin_version();
    was = rows_of(registry);
    registry.save(copy);
    registry.add_preserver(*copy.preserver());
  }
  ~Begun() { registry.remove_preserver(*copy.preserver()); }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  EntityRegistry registry;
  std::vector<Entity> entities;
  Contents was;
  StateCopy copy;
};

}  // namespace

TEST_CASE("a column is copied once, where it changes before it was read, and no other is") {
  Begun of(much);
  const PreservedColumns& columns = *of.copy.preserver();
  CHECK(columns.copied() == 0);
  const Entity e = of.entities[5'000];
  const std::uint64_t rows = of.registry.storage().find(e).chunk->count;
  of.registry.set(e, game::Health{.value = 2});
  CHECK(columns.copied() == rows * sizeof(game::Health));
  of.registry.begin_version();  // another reader's
  of.registry.set(e, game::Health{.value = 3});
  CHECK(columns.copied() == rows * sizeof(game::Health));
  CHECK(columns.bytes() == columns.copied());
  AllRows given;
  REQUIRE(of.copy.give(given));
  CHECK(given.rows == of.was);
  CHECK(columns.bytes() == 0);
  // What was read may change, and nobody copies it.
  of.registry.begin_version();
  for (const Entity other : of.entities) of.registry.set(other, game::Armor{.factor = 7});
  CHECK(columns.copied() == rows * sizeof(game::Health));
  CHECK_FALSE(of.copy.give(given));  // once
}

TEST_CASE("chunks that go, and rows that are laid out anew, are given as they were") {
  Begun of(much);
  for (std::size_t i = 0; i < of.entities.size(); i += 1 + i % 3) of.registry.destroy(of.entities[i]);
  of.registry.create_many(9'000, game::Health{.value = 9});
  AllRows given;
  REQUIRE(of.copy.give(given));
  CHECK(given.rows == of.was);
}

TEST_CASE("where more changes than may be kept, the rest is given up, and the copy says so") {
  Begun of(64u << 10);
  PreservedColumns& columns = *of.copy.preserver();
  CHECK(columns.bytes_max() == 64u << 10);
  for (const Entity e : of.entities) {
    of.registry.set(e, game::Health{.value = 2}, game::Armor{.factor = 2});
    REQUIRE(columns.bytes() <= 64u << 10);
  }
  CHECK(columns.given_up());
  AllRows given;
  CHECK_FALSE(of.copy.give(given));
}

TEST_CASE("whatever happens while another thread writes a save, it has the rows of the moment in which it was begun") {
  for (const std::uint64_t seed : seeds("saves while the world runs", 1, 100)) {
    CAPTURE(seed);
    RandomSteps world(seed);
    for (int i = 0; i < 400; ++i) world.step();
    std::uint64_t copied = 0;
    std::optional<StateCopy> used;
    for (int round = 0; round < 60; ++round) {
      world.registry.begin_version();
      const Contents was = rows_of(world.registry);
      StateCopy copy = used ? StateCopy(nullptr, 0, std::move(*used)) : StateCopy(nullptr, 0, much);
      used.reset();
      CHECK(copy.size() == 0);
      world.registry.save(copy);
      world.registry.add_preserver(*copy.preserver());
      AllRows given;
      bool whole = true;
      std::thread writer([&] {
        std::size_t at = 0;
        while (whole && at < copy.size()) {
          whole = copy.give(given, at, [] { return true; });
          std::this_thread::yield();
        }
      });
      const std::uint64_t steps = world.draw() % 40;
      for (std::uint64_t i = 0; i < steps; ++i) {
        world.step();
        if (world.draw() % 4 == 0) world.registry.begin_version();
      }
      writer.join();
      world.registry.remove_preserver(*copy.preserver());
      copied += copy.preserver()->copied();
      REQUIRE(whole);
      REQUIRE(given.rows == was);
      if (round % 8 == 0) continue;
      copy.clear();
      CHECK(copy.preserver()->bytes() == 0);
      used.emplace(std::move(copy));
    }
    CHECK(copied > 0);
  }
}

TEST_CASE("each of several readers of the past has its own") {
  RandomSteps world(2);
  for (int i = 0; i < 400; ++i) world.step();
  const auto begin = [&](StateCopy& copy) {
    world.registry.begin_version();
    world.registry.save(copy);
    world.registry.add_preserver(*copy.preserver());
    return rows_of(world.registry);
  };
  StateCopy first(nullptr, 0, much), second(nullptr, 0, much);
  const Contents was = begin(first);
  for (int i = 0; i < 50; ++i) world.step();
  const Contents later = begin(second);
  for (int i = 0; i < 50; ++i) world.step();
  AllRows of_first, of_second;
  REQUIRE(first.give(of_first));
  world.registry.remove_preserver(*first.preserver());
  for (int i = 0; i < 50; ++i) world.step();
  REQUIRE(second.give(of_second));
  world.registry.remove_preserver(*second.preserver());
  CHECK(of_first.rows == was);
  CHECK(of_second.rows == later);
}

TEST_CASE("what is saved in the background, change after change, is what the file has") {
  Saved world(Durability::batched, 0ns);
  const std::vector<Entity> many = world.registry.create_many(8'000, game::Health{}, game::Armor{});
  world.first_commit();
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    for (std::uint64_t i = random() % 5; i > 0; --i)
      world.registry.set(many[random() % many.size()], game::Health{.value = static_cast<float>(round)});
    if (round % 5 == 1) world.registry.set(many[static_cast<std::size_t>(round)], game::Frozen{});
    const Contents was = rows_of(world.registry);
    std::optional<Saver::Report> told;
    REQUIRE(world.saver.begin([&](Saver::Report report) { told = std::move(report); }));
    for (std::uint64_t i = random() % 50; i > 0; --i)
      world.registry.set(many[random() % many.size()], game::Armor{.factor = static_cast<float>(random() % 100)});
    world.wait([&] { return told.has_value(); });
    REQUIRE(*told);
    // The copy of a file that is open is what a kill would leave; its journal is behind the state.
    const std::string copy = world.directory / "copy.muster";
    for (const char* part : {"", "-wal"}) write_file(copy + part, read_file(world.directory / "w.muster" + part));
    const auto rows = read_world(copy);
    if (!rows) FAIL(rows.error().what());
    REQUIRE(*rows == was);
    for (const char* part : {"", "-wal", "-shm", "-lock"}) std::filesystem::remove(copy + part);
  }
  CHECK(world.saver.preserved_bytes() == 0);
}

TEST_CASE(
    "a save that is given up at the bound of what is kept is begun again and said; the third time the world waits") {
  Saved world(Durability::checkpoint, 0ns, 0, 1u << 10);
  const std::vector<Entity> many = world.registry.create_many(4'000, game::Health{}, game::Armor{});
  world.first_commit();
  float value = 0;
  const auto change_all = [&] {
    for (const Entity e : many) world.registry.set(e, game::Health{.value = value});
    ++value;
  };
  std::optional<Saver::Report> told;
  change_all();
  for (int time = 1; time <= 3; ++time) {
    const int wakes = world.wakes;
    {
      const WriteLock nothing_is_written(world.directory / "w.muster");
      if (time == 1)
        REQUIRE(world.saver.begin([&](Saver::Report report) { told = std::move(report); }));
      else
        world.saver.look();
      REQUIRE(world.saver.is_saving());
      change_all();
    }
    for (int i = 0; i < 50'000 && world.wakes == wakes; ++i) std::this_thread::sleep_for(100us);
    REQUIRE(world.wakes > wakes);
    REQUIRE_FALSE(told.has_value());
    CHECK(world.warnings.size() == static_cast<std::size_t>(time - 1));
  }
  world.saver.look();
  REQUIRE(told.has_value());
  REQUIRE(*told);
  CHECK_FALSE(world.saver.is_saving());
  CHECK(world.saver.saved() == world.registry.sequence());
  const std::string again = "a save was given up: more than 1 KiB changed before they were written: it is begun again";
  CHECK(world.warnings == std::vector<std::string>{again, again,
                                                   "a save was given up: more than 1 KiB changed before they were "
                                                   "written: the world waits for the next"});
  CHECK(world.saver.error() == nullptr);
  // One that succeeds ends the row.
  change_all();
  told.reset();
  REQUIRE(world.saver.begin([&](Saver::Report report) { told = std::move(report); }));
  world.wait([&] { return told.has_value(); });
  CHECK(world.warnings.size() == 3);
}

TEST_CASE("a world that ends while a commit is under way has it on the disk, though it was given up") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto install = [](EntityRegistry& registry) {
    registry.add_type<game::Health>();
    return Handlers();
  };
  std::vector<Entity> many;
  {
    World world(path, install, {.preserved_bytes_max = 1});
    many = world.registry().create_many(4'000, game::Health{.value = 1});
    world.commit();
    const auto change_all = [&](float value) {
      for (const Entity e : many) world.registry().set(e, game::Health{.value = value});
    };
    change_all(2);
    const WriteLock nothing_is_written(path);
    REQUIRE(world.begin_commit([](const auto&) { FAIL("the world ended before"); }));
    change_all(3);
  }
  const World world(path, install);
  for (const Entity e : many) REQUIRE(world.registry().get<game::Health>(e).value >= 2);
}
