// A save that is written while the world goes on: each column as it was, copied only where it changes before it was read.
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <thread>

#include "include/muster/world.h"
#include "registry/host.h"
#include "tests/registry/random_steps.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/server/world/saved_registry.h"
#include "tests/server/world/write_lock.h"
#include "tests/support/seeds.h"

namespace preserved_columns_test {

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
    registry.host().begin_version();
    was = rows_of(registry);
    registry.save(copy);
    registry.host().add_preserver(*copy.preserver());
  }
  ~Begun() { registry.host().remove_preserver(*copy.preserver()); }
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
  const std::uint64_t rows = of.registry.host().storage().find(e).chunk->count;
  of.registry.set(e, game::Health{.value = 2});
  CHECK(columns.copied() == rows * sizeof(game::Health));
  of.registry.host().begin_version();  // another reader's
  of.registry.set(e, game::Health{.value = 3});
  CHECK(columns.copied() == rows * sizeof(game::Health));
  CHECK(columns.bytes() == columns.copied());
  AllRows given;
  REQUIRE(of.copy.give(given));
  CHECK(given.rows == of.was);
  CHECK(columns.bytes() == 0);
  // What was read may change, and nobody copies it.
  of.registry.host().begin_version();
  for (const Entity other : of.entities) of.registry.set(other, game::Armor{.factor = 7});
  CHECK(columns.copied() == rows * sizeof(game::Health));
  CHECK_FALSE(of.copy.give(given));  // once
}

TEST_CASE("copies of the next save lie in the memory of those before it, read or not, and that is bounded") {
  Begun of(much);
  PreservedColumns& columns = *of.copy.preserver();
  const auto change_all = [&](float value) {
    of.registry.host().begin_version();
    for (const Entity e : of.entities) of.registry.set(e, game::Health{.value = value});
  };
  change_all(2);
  const std::uint64_t copied = columns.bytes();
  CHECK(columns.spare_bytes() == 0);
  AllRows given;
  std::size_t at = 0;
  REQUIRE(of.copy.give(given, at, [&] { return columns.bytes() <= copied / 2; }));
  CHECK(columns.spare_bytes() > 0);
  of.registry.host().remove_preserver(columns);
  of.copy.clear();
  CHECK(columns.bytes() == 0);
  const std::uint64_t spare = columns.spare_bytes();
  CHECK(spare >= copied);
  CHECK(spare <= copied + copied / 2);
  for (int save = 0; save < 20; ++save) {
    of.registry.host().begin_version();
    of.registry.save(of.copy);
    of.registry.host().add_preserver(columns);
    change_all(static_cast<float>(3 + save));
    CHECK(columns.bytes() == copied);
    CHECK(columns.spare_bytes() == 0);
    of.registry.host().remove_preserver(columns);
    of.copy.clear();
    CHECK(columns.spare_bytes() == spare);
  }
  for (int save = 0; save < 100; ++save) of.copy.clear();
  CHECK(columns.spare_bytes() == 0);

  Begun small(copied);  // an eighth of them may be spare
  small.registry.host().begin_version();
  for (const Entity e : small.entities) small.registry.set(e, game::Health{.value = 2});
  CHECK_FALSE(small.copy.preserver()->given_up());
  REQUIRE(small.copy.give(given));
  CHECK(small.copy.preserver()->spare_bytes() > 0);
  CHECK(small.copy.preserver()->spare_bytes() <= copied / 8);
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
      world.registry.host().begin_version();
      const Contents was = rows_of(world.registry);
      StateCopy copy = used ? StateCopy(nullptr, 0, std::move(*used)) : StateCopy(nullptr, 0, much);
      used.reset();
      CHECK(copy.size() == 0);
      world.registry.save(copy);
      world.registry.host().add_preserver(*copy.preserver());
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
        if (world.draw() % 4 == 0) world.registry.host().begin_version();
      }
      writer.join();
      world.registry.host().remove_preserver(*copy.preserver());
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
    world.registry.host().begin_version();
    world.registry.save(copy);
    world.registry.host().add_preserver(*copy.preserver());
    return rows_of(world.registry);
  };
  StateCopy first(nullptr, 0, much), second(nullptr, 0, much);
  const Contents was = begin(first);
  for (int i = 0; i < 50; ++i) world.step();
  const Contents later = begin(second);
  for (int i = 0; i < 50; ++i) world.step();
  AllRows of_first, of_second;
  REQUIRE(first.give(of_first));
  world.registry.host().remove_preserver(*first.preserver());
  for (int i = 0; i < 50; ++i) world.step();
  REQUIRE(second.give(of_second));
  world.registry.host().remove_preserver(*second.preserver());
  CHECK(of_first.rows == was);
  CHECK(of_second.rows == later);
}

TEST_CASE("what is saved in the background, change after change, is what the file has") {
  Saved world(Durability::batched, 0ns);
  const std::vector<Entity> many = world.registry.create_many(8'000, game::Health{}, game::Armor{});
  world.first_save();
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
  CHECK(world.saver.spare_bytes() <= (256u << 20) / 8 + 2 * SpareRecords::most);
}

TEST_CASE("a world keeps the memory of what it copied for a save, for the next one") {
  Saved world(Durability::checkpoint, 0ns);
  const std::vector<Entity> many = world.registry.create_many(100'000, game::Health{}, game::Armor{});
  world.first_save();
  const auto change_all = [&](float value) {
    for (const Entity e : many) world.registry.set(e, game::Health{.value = value});
  };
  change_all(2);
  std::optional<Saver::Report> told;
  {
    const WriteLock nothing_is_written(world.directory / "w.muster");
    REQUIRE(world.saver.begin([&](Saver::Report report) { told = std::move(report); }));
    change_all(3);
    CHECK(world.saver.preserved_bytes() >= many.size() * sizeof(game::Health));
    CHECK(world.saver.spare_bytes() == 0);
  }
  world.wait([&] { return told.has_value(); });
  REQUIRE(*told);
  CHECK(world.saver.preserved_bytes() == 0);
  CHECK(world.saver.spare_bytes() >= many.size() * sizeof(game::Health));
}

TEST_CASE("a world keeps the memory of a large group that is on the disk, for the next one") {
  Saved world(Durability::batched, 0ns);
  const std::vector<Entity> many = world.registry.create_many(100'000, game::Health{});
  world.first_save();
  std::uint64_t spare = 0;
  for (int time = 0; time < 5; ++time) {
    world.registry.push(many, game::Damage{.amount = 1});
    const std::uint64_t without = world.saver.spare_bytes();
    if (time > 1) CHECK(without < spare);  // the group that is open has it
    world.write_due_idle(Saver::Clock::now() + time * 1h);
    world.wait([&] { return world.saver.spare_bytes() > without; });
    if (time > 1) CHECK(world.saver.spare_bytes() == spare);
    CHECK(world.saver.durable() == world.registry.sequence());
    spare = world.saver.spare_bytes();
    CHECK(spare >= many.size() * sizeof(Entity));
  }
}

TEST_CASE(
    "a save that is given up at the bound of what is kept is begun again and said; the third time the world waits") {
  Saved world(Durability::checkpoint, 0ns, 0, 1u << 10);
  const std::vector<Entity> many = world.registry.create_many(4'000, game::Health{}, game::Armor{});
  world.first_save();
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

TEST_CASE("a world that ends while a save is under way has it on the disk, though it was given up") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto install = [](EntityRegistry& registry) {
    registry.add_type<game::Health>();
    return Handlers();
  };
  std::vector<Entity> many;
  {
    World world(path, install, saved_by_hand({.preserved_bytes_max = 1}));
    many = world.registry().create_many(4'000, game::Health{.value = 1});
    world.save();
    const auto change_all = [&](float value) {
      for (const Entity e : many) world.registry().set(e, game::Health{.value = value});
    };
    change_all(2);
    const WriteLock nothing_is_written(path);
    REQUIRE(world.begin_save([](const auto&) { FAIL("the world ended before"); }));
    change_all(3);
  }
  const World world(path, install);
  for (const Entity e : many) REQUIRE(world.registry().get<game::Health>(e).value >= 2);
}

}  // namespace preserved_columns_test
