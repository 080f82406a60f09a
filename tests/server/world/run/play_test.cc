// A run never changes the level, and the level comes back exactly.
#include "tests/server/world/run/played_world.h"

#include <random>

#include "schema/hash.h"
#include "tests/server/world/run_sql.h"

namespace muster::play_test {

using test::run_sql;

TEST_CASE("after any number of plays and stops, the level is what it was") {
  // In place, and from the file.
  const std::uint64_t level_bytes_max = GENERATE(256u << 20, 0u);
  CAPTURE(level_bytes_max);
  const Directory directory;
  const std::string path = directory / "w.muster";
  WorldOptions with = options();
  with.level_bytes_max = level_bytes_max;
  Played played(path, with);
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const auto level = rows_of(played.world.registry());
    const auto history = played.history();
    const std::uint64_t tick = played.world.tick(), epoch = played.world.epoch();
    const std::uint64_t sequence = played.world.registry().sequence();
    REQUIRE(played.world.play());
    CHECK(played.world.run()->sequence == sequence);
    CHECK(played.world.epoch() != epoch);
    CHECK(played.world.history().all().empty());
    for (int i = 0; i < 30; ++i) {
      played.tick();
      if (i % 10 == 3) (void)played.world.begin_save([](const auto& saved) { CHECK(saved); });
      if (i % 10 == 7) played.world.save();
    }
    CHECK(rows_of(played.world.registry()) != level);
    REQUIRE(played.world.stop_playing());
    CHECK(!played.world.run());
    CHECK(rows_of(played.world.registry()) == level);
    CHECK(played.history() == history);
    CHECK(played.world.tick() == tick);
    CHECK(played.world.registry().sequence() > sequence);
    for (int i = 0; i < round % 3; ++i) played.tick();  // the level is edited, too
  }
  // Nothing of the runs stays in the file but their steps.
  played.world.save();
  CHECK(
      run_sql(path, "SELECT count(*) FROM (SELECT 1 FROM state GROUP BY section, key, column_ HAVING count(*) > 1)") ==
      "0\n");
}

TEST_CASE("a run continues after a restart, and ends at its level") {
  for (const bool killed : {false, true}) {
    CAPTURE(killed);
    const Directory directory;
    const std::string path = directory / "w.muster";
    std::map<StateKey, std::string> level, run;
    std::vector<std::string> history, run_history;
    {
      auto played = std::make_unique<Played>(path);
      level = rows_of(played->world.registry());
      history = played->history();
      REQUIRE(played->world.play());
      for (int i = 0; i < 20; ++i) played->tick();
      played->world.save();
      for (int i = 0; i < 20; ++i) played->tick();
      run = rows_of(played->world.registry());
      run_history = played->history();
    }
    {
      Played played(path);
      REQUIRE(played.world.run());
      CHECK(rows_of(played.world.registry()) == run);
      CHECK(played.history() == run_history);
      for (int i = 0; i < 10; ++i) played.tick();
      if (killed) played.world.save();
      REQUIRE(played.world.stop_playing());
      CHECK(rows_of(played.world.registry()) == level);
      CHECK(played.history() == history);
    }
    Played played(path);
    CHECK(!played.world.run());
    CHECK(rows_of(played.world.registry()) == level);
    CHECK(played.history() == history);
  }
}

TEST_CASE("a world that is opened as a level ends its run and is paused") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::map<StateKey, std::string> level;
  {
    Played played(path);
    level = rows_of(played.world.registry());
    REQUIRE(played.world.play());
    for (int i = 0; i < 20; ++i) played.tick();
  }
  WorldOptions as_level = options();
  as_level.level = true;
  Played played(path, as_level);
  CHECK(!played.world.run());
  CHECK(played.world.pace().paused);
  CHECK(rows_of(played.world.registry()) == level);
  REQUIRE(played.world.play());
  CHECK(!played.world.pace().paused);
  played.tick();
  REQUIRE(played.world.stop_playing());
  CHECK(played.world.pace().paused);
}

TEST_CASE("a run has the speed of the level, and the level gets its own back") {
  const Directory directory;
  Played played(directory / "w.muster");
  REQUIRE(played.world.set_pace({.speed = 2, .paused = true}));
  REQUIRE(played.world.play());
  CHECK(played.world.pace().speed == 2);
  CHECK(!played.world.pace().paused);
  REQUIRE(played.world.set_pace({.speed = 4}));
  REQUIRE(played.world.stop_playing());
  CHECK(played.world.pace().speed == 2);
  CHECK(played.world.pace().paused);
}

TEST_CASE("ids that were granted in a run are not returned to the level") {
  for (const bool as_level : {true, false}) {
    CAPTURE(as_level);
    const Directory directory;
    const std::string path = directory / "w.muster";
    std::map<StateKey, std::string> level;
    {
      Played played(path);
      level = rows_of(played.world.registry());
      REQUIRE(played.world.play());
      (void)played.world.registry().host().grant(5, 11);
      played.tick();
    }
    WorldOptions with = options();
    with.level = as_level;
    Played played(path, with);
    if (!as_level) REQUIRE(played.world.stop_playing());
    (void)played.world.poll();
    CHECK(rows_of(played.world.registry()) == level);
  }
}

TEST_CASE("the level survives another program that writes to the file during the run") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Played played(path);
  const auto level = rows_of(played.world.registry());
  REQUIRE(played.world.play());
  for (int i = 0; i < 30; ++i) {
    played.tick();
    if (i % 5 == 0) run_sql(path, "UPDATE section_names SET name = name");
    if (i % 7 == 0) played.world.save();
    if (i % 11 == 0) (void)played.world.begin_save([](const auto& saved) { CHECK(saved); });
  }
  const auto run = rows_of(played.world.registry());
  played.world.save();
  REQUIRE(run_sql(path, "SELECT value FROM meta WHERE name = 'level'") != "");
  REQUIRE(played.world.stop_playing());
  REQUIRE(played.world.try_save());
  CHECK(rows_of(played.world.registry()) == level);
  CHECK(run_sql(path, "SELECT value FROM meta WHERE name = 'level'") == "");
}

TEST_CASE("if the level cannot be saved when the run ends, the file keeps the run until it can") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::map<StateKey, std::string> level, run;
  {
    FailingDisk failing;
    Played played(path);
    level = rows_of(played.world.registry());
    REQUIRE(played.world.play());
    for (int i = 0; i < 10; ++i) played.tick();
    played.world.save();
    run = rows_of(played.world.registry());
    failing.disk.operations_left = 0;
    REQUIRE(played.world.stop_playing());
    CHECK(!played.world.try_save());
    CHECK(!played.world.run());
    CHECK(rows_of(played.world.registry()) == level);
    CHECK(played.world.recording_error() != nullptr);
    failing.disk.operations_left = 0;  // as if it were killed
  }
  {
    Played again(path);
    REQUIRE(again.world.run());
    CHECK(rows_of(again.world.registry()) == run);
    REQUIRE(again.world.stop_playing());
    CHECK(rows_of(again.world.registry()) == level);
  }
  FailingDisk failing;
  Played played(path);
  REQUIRE(played.world.play());
  played.tick();
  failing.disk.operations_left = 0;
  REQUIRE(played.world.stop_playing());
  played.edit();
  CHECK(!played.world.try_save());
  CHECK(played.world.recording_error() != nullptr);
  failing.disk.operations_left = -1;
  REQUIRE(played.world.try_save());
  CHECK(played.world.recording_error() == nullptr);
  played.edit();
  CHECK(run_sql(path, "SELECT value FROM meta WHERE name = 'level'") == "");
}

TEST_CASE("a run that cannot be begun because the disk fails leaves the level as it is") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  FailingDisk failing;
  Played played(path);
  const auto level = rows_of(played.world.registry());
  failing.disk.operations_left = 0;
  REQUIRE(!played.world.play());
  CHECK(!played.world.run());
  CHECK(rows_of(played.world.registry()) == level);
  failing.disk.operations_left = -1;
  REQUIRE(played.world.play());
  REQUIRE(played.world.stop_playing());
  CHECK(rows_of(played.world.registry()) == level);
}

TEST_CASE("a run that cannot begin leaves the end of the run before it to the next save") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::map<StateKey, std::string> level;
  {
    FailingDisk failing;
    Played played(path);
    REQUIRE(played.world.play());
    for (int i = 0; i < 10; ++i) played.tick();
    failing.disk.operations_left = 0;
    REQUIRE(played.world.stop_playing());
    REQUIRE(!played.world.play());
    failing.disk.operations_left = -1;
    for (int i = 0; i < 5; ++i) played.edit();
    REQUIRE(played.world.try_save());
    for (int i = 0; i < 5; ++i) played.edit();
    level = rows_of(played.world.registry());
  }
  CHECK(run_sql(path, "SELECT value FROM meta WHERE name = 'level'") == "");
  Played again(path);
  CHECK(!again.world.run());
  CHECK(rows_of(again.world.registry()) == level);
}

TEST_CASE("a run cannot begin twice or end twice") {
  const Directory directory;
  Played played(directory / "w.muster");
  CHECK(played.world.stop_playing().error().detail() == "no run is on");
  REQUIRE(played.world.play());
  CHECK(played.world.play().error().detail() == "a run is on already");
}

namespace {

/// Users who make the same edits with and without a run.
struct Editing {
  explicit Editing(const std::string& path) : world(path, install, options()) {
    EntityRegistry& r = world.registry();
    if (!world.is_new()) return;
    for (const char* name : {"a", "b"}) r.create(name, game::Health{.value = 10}, game::Armor{.factor = 1}).or_stop();
    r.create_under(r.find_path("/a"), "child", game::Health{.value = 3}).or_stop();
    world.save();
  }
  Entity at(const std::string& path) { return world.registry().find_path(path); }
  Sender by(std::uint64_t user) { return {.session = 10 + user, .user = user, .request = ++requests}; }
  void push(BatchBuilder& batch, std::uint64_t user = 1) {
    const Receipt receipt = world.registry().host().push_batch(batch.bytes(), by(user));
    REQUIRE(receipt.refused == 0);
    REQUIRE(receipt.dead == 0);
  }
  void health(Entity e, float value, std::uint64_t user = 1) {
    BatchBuilder batch;
    batch.append_rows(e, Set{}, game::Health{.value = value});
    push(batch, user);
  }
  void place(Entity e, const game::Vec3& at) {
    SetField set{.component = TypeTraits<game::Position>::id, .field = hash32("at"), .bytes = sizeof at};
    std::memcpy(set.value.data(), &at, sizeof at);
    BatchBuilder batch;
    batch.append(e, set);
    push(batch);
  }
  void field(Entity e, float value) {
    SetField set{.component = TypeTraits<game::Health>::id, .field = hash32("value"), .bytes = 4};
    std::memcpy(set.value.data(), &value, 4);
    BatchBuilder batch;
    batch.append(e, set);
    push(batch);
  }
  void intern(const std::string& text) {
    BatchBuilder batch;
    batch.append_table(TypeTraits<InternText>::id, {}, encode(InternText{.text = text}));
    push(batch);
  }
  Entity create(Entity parent, const std::string& name) {
    intern(name);
    const Entity e = world.registry().host().grant(1, 11);
    BatchBuilder batch;
    batch.append_rows(e, Create{.parent = parent, .name = text_of(name)}, game::Health{.value = 1});
    push(batch);
    return e;
  }
  float value(const std::string& path) { return world.registry().get<game::Health>(at(path)).value; }
  World world;
  std::uint64_t requests = 0;
};

}  // namespace

TEST_CASE("a kept edit has the value that the edit wrote, and is one step that undo takes back") {
  for (const bool before_stop : {true, false}) {
    CAPTURE(before_stop);
    const Directory directory;
    Editing e(directory / "w.muster");
    const auto level = rows_of(e.world.registry());
    REQUIRE(e.world.play());
    e.health(e.at("/a"), 20);
    e.health(e.at("/b"), 30, 2);
    e.field(e.at("/a"), 25);
    e.world.registry().push(e.at("/a"), game::Damage{.amount = 5});  // the run goes on
    CHECK(e.value("/a") == 20);
    const KeepSelection keep{.places = {{.entity = e.at("/a"), .component = TypeTraits<game::Health>::id}}};
    if (before_stop) {
      const auto marked = e.world.keep(keep, e.by(1));
      REQUIRE(marked);
      CHECK(marked->marked);
    }
    REQUIRE(e.world.stop_playing());
    if (!before_stop) {
      CHECK(e.value("/a") == 10);
      const auto kept = e.world.keep(keep, e.by(1));
      REQUIRE(kept);
      CHECK(kept->messages == 2);
    } else {
      REQUIRE(e.world.kept().size() == 1);
      CHECK(e.world.kept().front().messages == 2);
    }
    CHECK(e.value("/a") == 25);
    CHECK(e.value("/b") == 10);
    CHECK(e.world.history().apply(HistoryAct::undo, e.by(1), Conflicts::skip, false).done == 1);
    CHECK(e.value("/a") == 10);
    CHECK(e.world.history().apply(HistoryAct::redo, e.by(1), Conflicts::skip, false).done == 1);
    CHECK(e.value("/a") == 25);
  }
}

TEST_CASE("a member of a field can be kept of an edit that wrote the whole field") {
  const Directory directory;
  Editing e(directory / "w.muster");
  e.world.registry().set(e.at("/a"), game::Position{.at = {.x = 1, .y = 2, .z = 3}});
  REQUIRE(e.world.play());
  e.place(e.at("/a"), {.x = 10, .y = 20, .z = 30});
  const KeepPlace y{
      .entity = e.at("/a"), .component = TypeTraits<game::Position>::id, .field = hash32("at.y"), .name = {}};
  REQUIRE(e.world.keep({.places = {y}}, e.by(1)));
  CHECK(e.world.run_edits(0, 1).front().marked);
  REQUIRE(e.world.stop_playing());
  const game::Vec3 at = e.world.registry().get<game::Position>(e.at("/a")).at;
  CHECK(at.x == 1);
  CHECK(at.y == 20);
  CHECK(at.z == 3);
}

TEST_CASE("entities made in a run get ids of the level when they are kept, and references follow") {
  const Directory directory;
  Editing e(directory / "w.muster");
  REQUIRE(e.world.play());
  const Entity tower = e.create(e.at("/a"), "tower");
  const Entity guard = e.create(tower, "guard");
  const Entity other = e.create({}, "other");
  BatchBuilder batch;
  batch.append(guard, Reparent{.parent = e.at("/b")});
  e.push(batch);
  e.health(guard, 7);
  REQUIRE(e.world.stop_playing());
  CHECK(!e.at("/a/tower"));
  CHECK(e.world.run_edits(0, 100).size() == 5);

  // Keeping what lies below keeps the ancestor that the run made, but not what happened to it.
  const auto kept = e.world.keep({.places = {{.entity = guard}}}, e.by(1));
  REQUIRE(kept);
  CHECK(kept->created == 2);
  CHECK(e.at("/a/tower"));
  CHECK(e.at("/b/guard"));
  CHECK(e.value("/b/guard") == 7);
  CHECK(!e.at("/other"));
  CHECK(e.world.history().apply(HistoryAct::undo, e.by(1), Conflicts::skip, false).done > 0);
  CHECK(!e.at("/a/tower"));
  CHECK(!e.at("/b/guard"));
  (void)other;

  const auto all = e.world.keep({.all = true}, e.by(1));
  REQUIRE(all);
  CHECK(all->created == 3);
  CHECK(e.at("/other"));
}

TEST_CASE("keeping everything equals the same edits made without a run") {
  const Directory directory;
  const auto edit = [](Editing& e) {
    const Entity tower = e.create({}, "tower");
    e.health(e.at("/a"), 20);
    BatchBuilder batch;
    batch.append(e.at("/a/child"), Reparent{.parent = tower});
    batch.append(e.at("/b"), Remove{.component = TypeTraits<game::Armor>::id});
    e.push(batch);
    BatchBuilder last;
    last.append(e.at("/a"), Destroy{});
    e.push(last, 2);
  };
  Editing without(directory / "without.muster"), with(directory / "with.muster");
  edit(without);
  REQUIRE(with.world.play());
  edit(with);
  REQUIRE(with.world.keep({.all = true}, with.by(1)));
  REQUIRE(with.world.stop_playing());
  const auto names = [](EntityRegistry& r) {
    std::string text;
    for (const char* path : {"/a", "/b", "/tower", "/tower/child"}) {
      const Entity e = r.find_path(path);
      text += std::string(path) + (e ? " " + std::to_string(r.get<game::Health>(e).value) : " none") +
              (e && r.has<game::Armor>(e) ? " armor" : "") + "\n";
    }
    return text;
  };
  CHECK(names(with.world.registry()) == names(without.world.registry()));
}

TEST_CASE("the edits of the last run can be kept after a restart, and marks survive a crash") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    Editing e(path);
    REQUIRE(e.world.play());
    e.health(e.at("/a"), 20);
    e.health(e.at("/b"), 30);
    e.world.save();
    REQUIRE(e.world.keep({.places = {{.entity = e.at("/a")}}}, e.by(1)));
  }
  {
    Editing e(path);
    REQUIRE(e.world.run());
    REQUIRE(e.world.run_edits(0, 10).size() == 2);
    CHECK(e.world.run_edits(0, 10)[0].marked == false);
    CHECK(e.world.run_edits(0, 10)[1].marked == true);
    REQUIRE(e.world.stop_playing());
    CHECK(e.value("/a") == 20);
    CHECK(e.value("/b") == 10);
  }
  Editing e(path);
  CHECK(!e.world.run());
  CHECK(e.value("/a") == 20);
  const auto edits = e.world.run_edits(0, 10);
  REQUIRE(edits.size() == 2);
  REQUIRE(e.world.keep({.steps = {edits[0].step}}, e.by(1)));
  CHECK(e.value("/b") == 30);
  CHECK(!e.world.keep({.steps = {12345}}, e.by(1)));
  REQUIRE(e.world.play());
  CHECK(e.world.run_edits(0, 10).empty());
}

TEST_CASE("an edit of an entity that the level never had is not kept by another entity with its id") {
  const Directory directory;
  Editing e(directory / "w.muster");
  REQUIRE(e.world.play());
  // The host makes an entity, as a handler would, and a session edits it.
  const Entity ghost = e.world.registry().create("ghost", game::Health{.value = 1}).or_stop();
  e.health(ghost, 12);
  REQUIRE(e.world.stop_playing());
  const Entity house = e.world.registry().create("house", game::Health{.value = 99}).or_stop();
  REQUIRE(house == ghost);
  const auto kept = e.world.keep({.all = true}, e.by(1));
  CHECK(!kept);
  CHECK(e.value("/house") == 99);
}

TEST_CASE("entities that were kept are not made again, also after a restart") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    Editing e(path);
    REQUIRE(e.world.play());
    const Entity tower = e.create({}, "");
    e.health(tower, 7);
    REQUIRE(e.world.stop_playing());
    const auto edits = e.world.run_edits(0, 10);
    REQUIRE(edits.size() == 2);
    REQUIRE(e.world.keep({.steps = {edits[1].step}}, e.by(1)));  // the creation
    e.world.save();
  }
  Editing e(path);
  const auto count = e.world.registry().entity_count();
  const auto edits = e.world.run_edits(0, 10);
  REQUIRE(edits.size() == 2);
  CHECK(!e.world.keep({.steps = {edits[1].step}}, e.by(1)));
  CHECK(e.world.registry().entity_count() == count);
  const auto kept = e.world.keep({.steps = {edits[0].step}}, e.by(1));
  REQUIRE(kept);
  CHECK(kept->messages == 1);
}

TEST_CASE("if the level refuses a kept edit, nothing is kept, and no id stays granted") {
  const Directory directory;
  Editing e(directory / "w.muster");
  REQUIRE(e.world.play());
  e.health(e.at("/a"), 20);
  e.create({}, "tower");
  REQUIRE(e.world.stop_playing());
  e.world.registry().create("tower", game::Health{.value = 99}).or_stop();
  const auto kept = e.world.keep({.all = true}, e.by(1));
  REQUIRE(!kept);
  CHECK_THAT(kept.error(), Catch::Contains("the level refuses one of the edits now"));
  CHECK(e.value("/a") == 10);
  CHECK(e.world.registry().host().left_grants().empty());
}

TEST_CASE("a move below an entity that is not kept is not kept either") {
  const Directory directory;
  Editing e(directory / "w.muster");
  REQUIRE(e.world.play());
  const Entity tower = e.create({}, "tower");
  BatchBuilder batch;
  batch.append(e.at("/a/child"), Reparent{.parent = tower});
  e.push(batch);
  const Entity child = e.at("/tower/child");
  REQUIRE(e.world.stop_playing());
  const auto kept = e.world.keep({.places = {{.entity = child}}}, e.by(1));
  CHECK(!kept);
  CHECK(e.at("/a/child"));
}

}  // namespace muster::play_test
