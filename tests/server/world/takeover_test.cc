// Worlds of file format 1: format1.world was written by the last Muster that wrote them.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "include/muster/world.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_groups.h"
#include "tests/server/world/run_sql.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/faulty_disk.h"

namespace takeover_test {

using namespace muster;
using namespace muster::test;

namespace {

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  registry.add_type<game::Armor>();
  registry.add_type<game::Frozen>();
  registry.add_type<game::Damage>();
  return {};
}

std::string original() { return read_file(MUSTER_FORMAT_1_WORLD); }

void check_values(World& world) {
  const EntityRegistry& registry = world.registry();
  CHECK(world.tick() == 2);
  CHECK(registry.sequence() == 12);
  std::size_t entities = 0;
  registry.each<>([&](Entity) { ++entities; });
  CHECK(entities == 3);
  const Entity orc = registry.find_path("/orc"), child = registry.find_path("/orc/child");
  REQUIRE(registry.alive(orc));
  CHECK(registry.get<game::Health>(orc).value == 23);
  CHECK(registry.get<game::Health>(child).value == 5);
  CHECK(registry.has<game::Frozen>(child));
  CHECK(registry.get<game::Armor>(registry.find_path("/armed")).factor == 3);
}

/// As SQLite sees it: the file itself may be behind its -wal.
std::uint32_t format_of(const std::string& path) {
  return static_cast<std::uint32_t>(std::stoul(run_sql(path, "PRAGMA user_version")));
}

}  // namespace

TEST_CASE("a world of format 1 opens with what it had, and opening changes no byte of it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_file(path, original());
  {
    World world(path, install, saved_by_hand({.hz = 60}));
    CHECK_FALSE(world.is_new());
    check_values(world);
  }
  CHECK(read_file(path) == original());
  CHECK(directory.names() == std::vector<std::string>{"w.muster"});
}

TEST_CASE("the first checkpoint of a world of format 1 makes it one of format 2, and the original stays beside it") {
  const Directory directory;
  const std::string path = directory / "w.muster", kept = path + "-format1";
  write_file(path, original());
  std::uint64_t hash = 0;
  {
    World world(path, install, saved_by_hand({.hz = 60}));
    const CheckpointReport report = world.save();
    CHECK(report.checkpoint == 3);
    CHECK(report.original == kept);
    CHECK(report.rows_written == report.rows);
    CHECK(world.save().original == "");
    hash = world.registry().hash();
  }
  CHECK(directory.names() == std::vector<std::string>{"w.muster", "w.muster-format1", "w.muster-lock"});
  CHECK(format_of(path) == 2);
  CHECK(format_of(kept) == 1);
  {
    World world(path, install, saved_by_hand({.hz = 60}));
    check_values(world);
    CHECK(world.registry().hash() == hash);
    CHECK(world.save().original == "");
  }
  write_file(directory / "old.muster", original());
  CHECK(read_world(kept).value() == read_world(directory / "old.muster").value());
  World world(kept, install, saved_by_hand({.hz = 60}));
  check_values(world);
  CHECK(world.registry().hash() == hash);
}

TEST_CASE("a file that has the original's name already is left alone") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_file(path, original());
  write_file(path + "-format1", "mine");
  write_file(path + "-format1-2", "mine too");
  World world(path, install, saved_by_hand());
  CHECK(world.save().original == path + "-format1-3");
  CHECK(read_file(path + "-format1") == "mine");
  CHECK(read_file(path + "-format1-2") == "mine too");
}

TEST_CASE("a save that is begun takes a world of format 1 over too") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_file(path, original());
  World world(path, install, saved_by_hand({.hz = 60}));
  std::string kept;
  REQUIRE(
      world.begin_save([&](std::expected<CheckpointReport, WorldError> report) { kept = report.value().original; }));
  world.save();
  CHECK(kept == path + "-format1");
  CHECK(format_of(path) == 2);
}

TEST_CASE("inputs are recorded only after a world of format 1 was taken over") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_file(path, original());
  auto file = WorldFile::open(path);
  const auto all = load_all(*file);
  REQUIRE(all);
  CHECK(file->is_older());
  JournalGroup group = made_up_group(1, 12);
  CHECK(file->append(group).error().detail() == "inputs cannot be recorded before the first checkpoint");
  Rows rows;
  for (const auto& [key, bytes] : *all) rows[key] = {1, bytes};
  REQUIRE(file->save({.sequence = 12}, saving(rows)));
  CHECK_FALSE(file->is_older());
  REQUIRE(file->append(group));
  CHECK(load_all(*file).value() == *all);
}

TEST_CASE("a world of format 1 that is damaged is refused and stays as it is") {
  const Directory directory;
  const std::string path = directory / "w.muster", whole = original();
  std::mt19937_64 random(8);
  const Contents written = [&] {
    write_file(path, whole);
    return read_world(path).value();
  }();
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bytes = whole;
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write_file(path, bytes);
    CAPTURE(round, at);
    const auto read = read_world(path);
    if (read_file(path) != bytes) FAIL("a file was changed by reading it");
    if (read && *read != written) FAIL("other rows were read than were written");
    refused += !read;
  }
  CHECK(refused > 30);
}

TEST_CASE(
    "a disk that fails at any operation leaves a world of format 1 as it was, or one of format 2 with the original") {
  FaultyDisk disk("faulty");
  bool whole = false;
  int untouched = 0;
  for (std::int64_t operations = 0; !whole; ++operations) {
    CAPTURE(operations);
    const Directory directory;
    const std::string path = directory / "w.muster";
    write_file(path, original());
    Contents all;
    Rows rows;
    {
      auto file = WorldFile::open(path, {.vfs = disk.name()});
      all = load_all(*file).value();
      for (const auto& [key, bytes] : all) rows[key] = {1, bytes};
      disk.operations_left = operations;
      whole = file->save({.sequence = 12}, saving(rows)).has_value();
      disk.operations_left = 0;
    }
    disk.operations_left = -1;
    auto file = WorldFile::open(path);
    if (!file) FAIL(file.error().what());
    REQUIRE(load_all(*file) == all);
    REQUIRE((!whole || !file->is_older()));
    if (file->is_older()) {
      ++untouched;
      const auto report = file->save({.sequence = 12}, saving(rows));
      if (!report) FAIL(report.error().what());
      REQUIRE(report->original == path + "-format1");
      REQUIRE(load_all(*file) == all);
      REQUIRE(read_world(path + "-format1") == all);
    } else if (whole) {
      REQUIRE(read_world(path + "-format1") == all);
    }
  }
  CHECK(untouched > 5);
}

}  // namespace takeover_test
