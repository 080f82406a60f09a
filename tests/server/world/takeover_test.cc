// Worlds of older file formats: format 2 is converted, and format 1 is refused.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/server/world/file/format_2.h"
#include "tests/server/world/made_up_groups.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/faulty_disk.h"

namespace takeover_test {

using namespace muster;
using namespace muster::test;

namespace {

constexpr std::uint64_t session = 7, user = 3;

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  registry.add_type<game::Armor>();
  return {};
}

WorldOptions recorded() { return {.durability = Durability::each_flush, .autosave = {}}; }

void set(EntityRegistry& registry, Entity e, float value) {
  BatchBuilder edit;
  edit.append_rows(e, Set{}, game::Health{.value = value});
  REQUIRE(registry.host().push_batch(edit.bytes(), {.session = session, .user = user, .request = 1}).refused == 0);
}

/// Writes a world of format 2.
void write_world(const std::string& path) {
  {
    World world(path, install, saved_by_hand());
    EntityRegistry& registry = world.registry();
    const Entity orc = registry.create("orc", game::Health{.value = 23}).or_stop();
    registry.create_under(orc, "child", game::Armor{.factor = 3}).or_stop();
    set(registry, orc, 24);
    world.save();
  }
  make_format_2(path);
}

void check_values(World& world) {
  const EntityRegistry& registry = world.registry();
  CHECK(registry.get<game::Health>(registry.find_path("/orc")).value == 24);
  CHECK(registry.get<game::Armor>(registry.find_path("/orc/child")).factor == 3);
}

/// Undoes the user's newest step.
UndoReport undo(World& world) {
  return world.history().apply(HistoryAct::undo, {.session = session, .user = user}, Conflicts::skip, false);
}

}  // namespace

TEST_CASE("a world of format 1 is refused with a sentence, and stays as it is") {
  const Directory directory;
  const std::string path = directory / "w.muster", original = read_file(MUSTER_FORMAT_1_WORLD);
  write_file(path, original);
  const auto file = WorldFile::open(path);
  REQUIRE_FALSE(file);
  CHECK(file.error().code() == WorldErrorCode::older);
  CHECK(file.error().detail() == "written in file format 1; this Muster 0.1.0 reads formats from 2 to 3");
  CHECK(read_file(path) == original);
  CHECK(directory.names() == std::vector<std::string>{"w.muster"});
}

TEST_CASE("a world of format 2 opens with what it had, and opening changes no byte of it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_world(path);
  const std::string original = read_file(path);
  {
    World world(path, install, saved_by_hand());
    CHECK_FALSE(world.is_new());
    check_values(world);
    CHECK(world.history().steps(user, HistoryAct::undo) == 0);
  }
  CHECK(read_file(path) == original);
}

TEST_CASE("the first checkpoint of a world of format 2 makes it one of format 3, with the edits before it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_world(path);
  const bool is_begun = GENERATE(false, true);
  std::uint64_t hash = 0;
  {
    World world(path, install, saved_by_hand());
    set(world.registry(), world.registry().find_path("/orc"), 30);
    if (is_begun) {
      bool saved = false;
      REQUIRE(world.begin_save([&](const auto& report) { saved = report.has_value(); }));
      world.save();
      CHECK(saved);
    } else {
      CHECK(world.save().checkpoint == 2);
    }
    hash = world.registry().hash();
  }
  CHECK(format_of(path) == 3);
  World world(path, install, saved_by_hand());
  CHECK(world.registry().hash() == hash);
  CHECK(undo(world).done == 1);
  check_values(world);
  CHECK(undo(world).done == 0);
}

TEST_CASE("a world of format 2 whose inputs are recorded is converted when it is opened") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_world(path);
  {
    World world(path, install, recorded());
    check_values(world);
    set(world.registry(), world.registry().find_path("/orc"), 30);
  }
  CHECK(format_of(path) == 3);
  World world(path, install, recorded());
  CHECK(world.recovery_report().exact());
  CHECK(world.registry().get<game::Health>(world.registry().find_path("/orc")).value == 30);
  CHECK(undo(world).done == 1);
  check_values(world);
}

TEST_CASE("inputs are recorded only after a world of format 2 was converted") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  write_world(path);
  auto file = WorldFile::open(path);
  const auto all = load_all(*file);
  REQUIRE(all);
  REQUIRE(file->journal({}));
  CHECK(file->is_older());
  JournalGroup group = made_up_group(1, file->meta().sequence);
  CHECK(file->append(group).error().detail() == "inputs cannot be recorded before the first checkpoint");
  Rows rows;
  for (const auto& [key, bytes] : *all) rows[key] = {1, bytes};
  REQUIRE(file->save({.sequence = file->meta().sequence}, saving(rows)));
  CHECK_FALSE(file->is_older());
  REQUIRE(file->append(group));
  CHECK(load_all(*file).value() == *all);
}

TEST_CASE("a disk that fails at any operation leaves a world of format 2 as it was, or one of format 3") {
  FaultyDisk disk("faulty");
  bool whole = false;
  int untouched = 0;
  for (std::int64_t operations = 0; !whole; ++operations) {
    CAPTURE(operations);
    const Directory directory;
    const std::string path = directory / "w.muster";
    write_world(path);
    Contents all;
    Rows rows;
    const std::vector<EditHistory::Saved> steps{{.number = 1, .bytes = Bytes(100)}};
    {
      auto file = WorldFile::open(path, {.vfs = disk.name()});
      all = load_all(*file).value();
      REQUIRE(file->journal({}));
      for (const auto& [key, bytes] : all) rows[key] = {1, bytes};
      disk.operations_left = operations;
      whole = file->save({.sequence = file->meta().sequence, .steps = steps}, saving(rows)).has_value();
      disk.operations_left = 0;
    }
    disk.operations_left = -1;
    auto file = WorldFile::open(path);
    if (!file) FAIL(file.error().what());
    REQUIRE(load_all(*file) == all);
    REQUIRE(file->journal({}));
    REQUIRE((!whole || !file->is_older()));
    if (file->is_older()) {
      ++untouched;
      const auto report = file->save({.sequence = file->meta().sequence, .steps = steps}, saving(rows));
      if (!report) FAIL(report.error().what());
      REQUIRE(load_all(*file) == all);
    }
    std::size_t bytes_read = 0;
    REQUIRE(file->steps([&](std::uint64_t, std::span<const std::byte> bytes) { bytes_read += bytes.size(); }));
    REQUIRE(bytes_read == 100);
  }
  CHECK(untouched > 5);
}

}  // namespace takeover_test
