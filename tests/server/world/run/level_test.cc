// A world that is opened as a level is the level, whatever has happened to its run.
#include "tests/server/world/run/played_world.h"
#include "tests/server/world/run_sql.h"

namespace muster::play_test {

using test::run_sql;
namespace {

/// Makes a file with a run whose journal has several groups. Returns the level.
std::map<StateKey, std::string> leave_run(const std::string& path) {
  FailingDisk failing;
  Played played(path);
  const auto level = rows_of(played.world.registry());
  REQUIRE(played.world.play());
  for (int i = 0; i < 5; ++i) played.tick();
  played.world.save();
  for (int i = 0; i < 40; ++i) {
    played.tick();
    if (i % 10 == 0) REQUIRE(played.world.past());  // writes what waits
  }
  REQUIRE(played.world.past());
  failing.disk.operations_left = 0;  // as if the process was killed
  return level;
}

}  // namespace

TEST_CASE("a level opens although the journal of its run is damaged") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto level = leave_run(path);
  REQUIRE(run_sql(path, "SELECT count(*) > 1 FROM journal") == "1\n");
  const auto damage = GENERATE("UPDATE journal SET records = zeroblob(64) WHERE id = (SELECT max(id) FROM journal)",
                               "UPDATE journal SET checksum = 7 WHERE id = (SELECT min(id) + 1 FROM journal)",
                               "DELETE FROM journal WHERE id = (SELECT min(id) + 1 FROM journal)");
  CAPTURE(damage);
  run_sql(path, damage);
  CHECK_THROWS_WITH(Played(path), Catch::Contains("journal"));
  std::string warnings;
  {
    WorldOptions with = options();
    with.level = true;
    with.on_warning = [&](const std::string& text) { warnings += text + '\n'; };
    Played played(path, with);
    CHECK(!played.world.run());
    CHECK(rows_of(played.world.registry()) == level);
    CHECK(warnings.contains("what was done in the run after its last save is lost"));
    CHECK(played.world.set_pace({.paused = false}));
    for (int i = 0; i < 5; ++i) played.tick();
    played.world.save();
    for (int i = 0; i < 5; ++i) played.tick();
  }
  const Played again(path);
  CHECK(again.world.tick() == 60);
}

TEST_CASE("if the disk is full when a level is opened, the error says so") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto level = leave_run(path);
  run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
  for (const std::int64_t free : {0, 8, 40, 2000, 5000, 20'000}) {
    CAPTURE(free);
    const std::string copy = directory / ("copy" + std::to_string(free) + ".muster");
    std::filesystem::copy_file(path, copy);
    REQUIRE(run_sql(copy, "SELECT value FROM meta WHERE name = 'level'") != "");
    WorldOptions with = options();
    with.level = true;
    {
      FailingDisk failing;
      failing.disk.free_bytes = free;
      std::string what;
      try {
        const Played played(copy, with);
      } catch (const WorldError& error) {
        what = error.what();
      }
      CHECK(!what.contains("cut off"));
      if (!what.empty()) CHECK(what.contains("disk is full"));
    }
    const Played played(copy, with);
    CHECK(rows_of(played.world.registry()) == level);
  }
}

}  // namespace muster::play_test
