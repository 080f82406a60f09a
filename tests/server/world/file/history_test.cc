// The history of a world is saved with its state, made again from the journal, and never lost by a
// save that fails.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <random>

#include "include/muster/host.h"
#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "server/file_program/verify.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/run_sql.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/faulty_disk.h"

namespace history_test {

using namespace muster;
using namespace muster::test;

namespace {

constexpr std::uint64_t ann = 1, bob = 2;

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  registry.add_type<game::Armor>();
  return {};
}

WorldOptions recorded() { return {.durability = Durability::each_flush, .autosave = {}}; }

/// Sends a batch as a session of the user does.
void push(EntityRegistry& registry, std::uint64_t user, BatchBuilder& batch) {
  CHECK(registry.host().push_batch(batch.bytes(), {.session = 100 + user, .user = user, .request = 1}).refused == 0);
}
void set(EntityRegistry& registry, std::uint64_t user, Entity e, float value) {
  BatchBuilder edit;
  edit.append_rows(e, Set{}, game::Health{.value = value});
  push(registry, user, edit);
}
Entity create(EntityRegistry& registry, std::uint64_t user, Entity parent, std::string_view name) {
  const Entity made = registry.host().grant(1, 100 + user);
  BatchBuilder edit;
  edit.append_rows(made, Create{.parent = parent, .name = registry.intern(name), .clash = NameClash::suffix},
                   game::Health{.value = 1});
  push(registry, user, edit);
  return made;
}
void destroy(EntityRegistry& registry, std::uint64_t user, Entity e) {
  BatchBuilder edit;
  edit.append(e, Destroy{});
  push(registry, user, edit);
}
UndoReport apply(EditHistory& history, std::uint64_t user, HistoryAct act, Conflicts conflicts = Conflicts::skip) {
  return history.apply(act, {.session = 100 + user, .user = user}, conflicts, false);
}
UndoReport undo(World& world, std::uint64_t user) { return apply(world.history(), user, HistoryAct::undo); }

/// The stacks of both users, as text.
std::string text_of(const EditHistory& history) {
  std::string text;
  for (const std::uint64_t user : {ann, bob})
    for (const HistoryStep& step : history.list(user, 0, 1'000'000))
      text += std::to_string(user) + (step.redo ? " redo " : " undo ") + std::string(step.label) + ' ' +
              std::to_string(step.parts) + " at " + std::to_string(step.sequence) + '\n';
  return text;
}
float health(const World& world, const char* path) {
  return world.registry().get<game::Health>(world.registry().find_path(path)).value;
}
std::string rows(const std::string& path) { return run_sql(path, "SELECT count(*) FROM history"); }

void begin(World& world) {
  (void)world.registry().create("orc", game::Health{.value = 10}).or_stop();
  world.save();
}

}  // namespace

TEST_CASE("steps are there after a restart: from the file, from the journal, and from both") {
  const int saved = GENERATE(0, 1, 2);  // edits before the save
  CAPTURE(saved);
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::string before;
  std::uint64_t hash = 0;
  {
    World world(path, install, recorded());
    begin(world);
    EntityRegistry& registry = world.registry();
    const Entity orc = registry.find_path("/orc");
    set(registry, ann, orc, 20);
    if (saved == 1) world.save();
    (void)create(registry, bob, orc, "axe");
    destroy(registry, bob, registry.find_path("/orc/axe"));
    set(registry, ann, orc, 30);
    CHECK(undo(world, ann).done == 1);
    if (saved == 2) world.save();
    before = text_of(world.history());
    hash = registry.hash();
  }
  World world(path, install, recorded());
  CHECK(world.recovery_report().exact());
  CHECK(world.registry().hash() == hash);
  CHECK(text_of(world.history()) == before);
  CHECK(world.history().steps(ann, HistoryAct::undo) == 1);
  CHECK(world.history().steps(ann, HistoryAct::redo) == 1);
  CHECK(undo(world, bob).done == 1);
  CHECK(health(world, "/orc/axe") == 1);
  CHECK(apply(world.history(), ann, HistoryAct::redo).done == 1);
  CHECK(health(world, "/orc") == 30);
  CHECK(undo(world, ann).done == 1);
  CHECK(undo(world, ann).done == 1);
  CHECK(health(world, "/orc") == 10);
}

TEST_CASE("an edit that the host pushes in the name of a session can be undone, its own cannot") {
  const Directory directory;
  World world(directory / "w.muster", install, recorded());
  begin(world);
  set(world.registry(), 0, world.registry().find_path("/orc"), 50);
  CHECK(world.history().steps(0, HistoryAct::undo) == 1);
  world.registry().set(world.registry().find_path("/orc"), game::Health{.value = 60});
  CHECK(world.history().steps(0, HistoryAct::undo) == 1);
}

TEST_CASE("a save that fails keeps the steps for the next one") {
  FaultyDisk disk("faulty-history");
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  sqlite3_vfs_register(sqlite3_vfs_find("faulty-history"), 1);
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::string before;
  {
    World world(path, install, saved_by_hand());
    begin(world);
    set(world.registry(), ann, world.registry().find_path("/orc"), 20);
    disk.operations_left = 0;
    CHECK_FALSE(world.try_save());
    set(world.registry(), ann, world.registry().find_path("/orc"), 30);
    bool failed = false;
    REQUIRE(world.begin_save([&](const auto& report) { failed = !report; }));
    CHECK_FALSE(world.try_save());
    CHECK(failed);
    disk.operations_left = -1;
    world.save();
    before = text_of(world.history());
  }
  sqlite3_vfs_register(usual, 1);
  CHECK(rows(path) == "2\n");
  World world(path, install, saved_by_hand());
  CHECK(text_of(world.history()) == before);
  CHECK(undo(world, ann).done == 1);
  CHECK(undo(world, ann).done == 1);
  CHECK(health(world, "/orc") == 10);
}

TEST_CASE("steps that are gone are removed from the file, and a world without news is not written") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  World world(path, install, saved_by_hand());
  begin(world);
  const Entity orc = world.registry().find_path("/orc");
  for (int i = 0; i < 5; ++i) set(world.registry(), ann, orc, static_cast<float>(20 + i));
  const std::uint64_t checkpoint = world.save().checkpoint;
  CHECK(rows(path) == "5\n");
  CHECK(world.save().checkpoint == checkpoint);
  for (int i = 0; i < 3; ++i) CHECK(undo(world, ann).done == 1);
  set(world.registry(), ann, orc, 99);  // what was undone cannot be redone
  world.save();
  CHECK(rows(path) == "3\n");
}

TEST_CASE("a history of zero bytes keeps nothing, and its ids are used again") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  WorldOptions options = recorded();
  options.hz = 1e6;
  options.history_bytes = 0;
  World world(path, install, options);
  begin(world);
  const Entity axe = create(world.registry(), ann, {}, "axe");
  destroy(world.registry(), ann, axe);
  REQUIRE(world.next_frame());
  CHECK(world.history().steps(ann, HistoryAct::undo) == 0);
  CHECK(world.history().bytes() == 0);
  CHECK_FALSE(world.registry().host().storage().in_state(axe, IdState::parked));
  CHECK(undo(world, ann).done == 0);
}

TEST_CASE("a history that is too long loses its oldest steps, also when it is done again") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  WorldOptions options = recorded();
  options.hz = 1e6;
  options.history_bytes = 20'000;
  std::string before;
  std::uint64_t hash = 0;
  {
    World world(path, install, options);
    begin(world);
    for (int i = 0; i < 500; ++i) {
      destroy(world.registry(), ann, create(world.registry(), ann, {}, "axe"));
      REQUIRE(world.next_frame());
      CHECK(world.history().bytes() <= options.history_bytes);
    }
    before = text_of(world.history());
    hash = world.registry().hash();
    CHECK(world.history().steps(ann, HistoryAct::undo) > 10);
    CHECK(world.history().steps(ann, HistoryAct::undo) < 500);
  }
  World world(path, install, options);
  CHECK(world.registry().hash() == hash);
  REQUIRE(world.next_frame());
  CHECK(text_of(world.history()) == before);
}

TEST_CASE("a history of which a byte or a step is another is refused; one that was removed is not missed") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install, saved_by_hand());
    begin(world);
    for (int i = 0; i < 3; ++i)
      set(world.registry(), ann, world.registry().find_path("/orc"), static_cast<float>(20 + i));
    world.save();
  }
  const auto [sql, what] = GENERATE(table<std::string, std::string>(
      {{"UPDATE history SET bytes = zeroblob(length(bytes)) WHERE number = (SELECT max(number) FROM history)",
        "damaged: in the history the checksum of the "},
       {"UPDATE history SET checksum = 'none'", "damaged: in the history the row of step "},
       {"UPDATE history SET number = number + 10", "damaged: in the history the checksum of the "},
       {"DELETE FROM history WHERE number = (SELECT min(number) FROM history)",
        "damaged: in the history 2 steps with digest "},
       {"DELETE FROM history", ""}}));
  CAPTURE(sql);
  run_sql(path, sql);
  if (what.empty()) {
    World world(path, install, saved_by_hand());
    CHECK(world.history().steps(ann, HistoryAct::undo) == 0);
    CHECK(health(world, "/orc") == 22);
    set(world.registry(), ann, world.registry().find_path("/orc"), 1);
    world.save();
    CHECK(rows(path) == "1\n");
    return;
  }
  const auto file = verify(path);
  REQUIRE_FALSE(file);
  CHECK(file.error().code() == WorldErrorCode::damaged);
  CHECK_THAT(file.error().detail(), Catch::StartsWith(what) && Catch::EndsWith("DELETE FROM history"));
  CHECK_THROWS_WITH(World(path, install), Catch::Contains(what));
}

TEST_CASE("a history with a step as it was at an earlier save is refused") {
  const Directory directory;
  const std::string path = directory / "w.muster", attach = "ATTACH '" + (directory / "old.db") + "' AS old; ";
  {
    World world(path, install, saved_by_hand());
    begin(world);
    set(world.registry(), ann, world.registry().find_path("/orc"), 20);
    world.save();
    run_sql(path, attach + "CREATE TABLE old.history AS SELECT * FROM history");
    CHECK(undo(world, ann).done == 1);
    world.save();
    CHECK(rows(path) == "1\n");
  }
  run_sql(path, attach + "DELETE FROM history; INSERT INTO main.history SELECT * FROM old.history");
  CHECK(rows(path) == "1\n");
  const auto file = verify(path);
  REQUIRE_FALSE(file);
  CHECK_THAT(file.error().detail(), Catch::StartsWith("damaged: in the history 1 steps with digest "));
  CHECK_THROWS_WITH(World(path, install), Catch::Contains("damaged: in the history 1 steps"));
}

TEST_CASE("a gesture that goes on after a save is one step in the file") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install, saved_by_hand());
    begin(world);
    for (int i = 1; i <= 3; ++i) {
      BatchBuilder edits, batch;
      edits.append_rows(world.registry().find_path("/orc"), Set{}, game::Health{.value = static_cast<float>(20 + i)});
      Step step{.batches = {}, .gesture = 5};
      for (const std::byte b : edits.bytes()) step.batches.push_back(static_cast<std::uint8_t>(b));
      batch.append_table(TypeTraits<Step>::id, {}, encode(step));
      push(world.registry(), ann, batch);
      world.save();
      CHECK(rows(path) == "1\n");
      CHECK(verify(path));
    }
  }
  World world(path, install, saved_by_hand());
  CHECK(world.history().steps(ann, HistoryAct::undo) == 1);
  CHECK(undo(world, ann).done == 1);
  CHECK(health(world, "/orc") == 10);
}

TEST_CASE("steps that are not understood are dropped with a warning, and the world opens") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    auto file = WorldFile::open(path);
    REQUIRE(file);
    EntityRegistry registry;
    const Handlers handlers = install(registry);
    (void)registry.create("orc", game::Health{.value = 10}).or_stop();
    const std::vector<EditHistory::Saved> steps{{.number = 1, .bytes = Bytes(3)}, {.number = 2, .bytes = Bytes(3)}};
    REQUIRE(
        file->save({.sequence = registry.sequence(), .steps = steps}, [&](StateSink& sink) { registry.save(sink); }));
  }
  WorldOptions options = saved_by_hand();
  std::vector<std::string> warnings;
  options.on_warning = [&](const std::string& line) { warnings.push_back(line); };
  CHECK(verify(path).value().remarks.size() == 1);
  World world(path, install, options);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::StartsWith("the history cannot be read, and is empty now: "));
  world.save();
  CHECK(rows(path) == "0\n");
  CHECK(verify(path).value().remarks.empty());
}

TEST_CASE("the file beside a displaced world has the whole history") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::string before;
  {
    World world(path, install, recorded());
    begin(world);
    set(world.registry(), ann, world.registry().find_path("/orc"), 20);
    world.save();
    set(world.registry(), bob, world.registry().find_path("/orc"), 30);
    before = text_of(world.history());
    std::filesystem::rename(path, path + "-elsewhere");
    CHECK_FALSE(world.try_save());
    REQUIRE(world.displaced());
  }
  World world(directory / "w-rescued.muster", install, recorded());
  CHECK(text_of(world.history()) == before);
  CHECK(undo(world, ann).passed_over + undo(world, bob).done >= 1);
}

}  // namespace history_test
