// Hashes that were written while a world ran name the tick and the component in which a replay
// differs.
#include "server/world/replay/tick_hashes.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "include/muster/world.h"
#include "registry/host.h"
#include "schema/hex.h"
#include "server/world/replay/replay.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

namespace tick_hashes_test {

using namespace muster;
using Catch::Contains;

namespace {

/// A game of which a handler knows whether the world is live, in tick 7 and later.
World::Install install(bool live) {
  return [live](EntityRegistry& r) -> Handlers {
    return {r.subscribe("hurt", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
            r.subscribe("move", [](const Update& now, game::Position& at) { at.at.x += now.dt; }),
            r.subscribe("wind", [live](const Update&, game::Velocity& v) {
              v.by.y += 1;
              if (live && v.by.y > 6) v.by.z = 1;
            })};
  };
}
void record(const test::Folder& folder, bool live) {
  World world(folder / "w.muster", install(live),
              {.hz = 20'000, .code = "game 1", .durability = Durability::each_flush, .autosave = {}});
  EntityRegistry& r = world.registry();
  const std::vector<Entity> all = r.create_many(300, game::Health{}, game::Position{}, game::Velocity{});
  const std::vector<Entity> others = r.create_many(30, game::Health{}, game::Position{});
  world.save();
  TickHashLog log(r, folder / "hashes");
  for (int i = 0; i < 12; ++i) {
    const Frame frame = world.next_frame();
    REQUIRE(frame);
    log.made_tick(frame.tick);
    r.push(Update{.dt = 0.5f});
    if (i % 3 == 0) r.push(others[static_cast<std::size_t>(i)], game::Damage{.amount = 1});
    if (i == 4) r.destroy(all[3]);
  }
}

}  // namespace

TEST_CASE("a replay has the hashes of the world that was live, whether or not it is checked") {
  const test::Folder folder(test::memory_disk());
  record(folder, false);
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  const auto hashes = read_tick_hashes(folder / "hashes");
  REQUIRE(hashes);
  REQUIRE(hashes->size() == 12);
  CHECK(hashes->at(2).columns.contains("game.Position"));
  CHECK(hashes->at(1).columns.contains("game.Health"));
  CHECK_FALSE(hashes->at(2).columns.contains("game.Health"));
  for (const bool check : {false, true})
    for (const std::uint32_t workers : {1u, 2u}) {
      const auto report = replay("w", *slice, install(false),
                                 {.code = "game 1", .check = check, .workers = workers, .hashes = *hashes});
      REQUIRE(report);
      for (const ReplayDifference& each : report->differences) UNSCOPED_INFO(each.text());
      CHECK(report->differences.empty());
      CHECK(report->hashes == 11);
    }
}

TEST_CASE("a replay that differs from the live world names the first tick, the component and its handlers") {
  const test::Folder folder(test::memory_disk());
  record(folder, true);
  const auto slice = read_slice_or_world(folder / "w.muster");
  const auto hashes = read_tick_hashes(folder / "hashes");
  REQUIRE((slice && hashes));
  const auto report = replay("w", *slice, install(false), {.code = "game 1", .hashes = *hashes});
  REQUIRE(report);
  REQUIRE(report->differences.size() == 1);
  const ReplayDifference& found = report->differences.front();
  CHECK(found.tick == 8);  // its line has what the handlers of tick 7 changed
  CHECK(found.found.component == "game.Velocity");
  CHECK(found.found.suspects == std::vector<std::string>{"\"wind\""});
  CHECK(found.with == ComparedWith::recorded_hashes);
  CHECK(found.found.first == hex(hashes->at(7).columns.at("game.Velocity")));
  CHECK(found.found.second != found.found.first);
  CHECK_THAT(found.text(), Contains("tick 8") && Contains("game.Velocity") && Contains("\"wind\"") &&
                               Contains("recorded run") && !Contains("gave two results") && !Contains("come again"));
}

TEST_CASE("lines that are none are refused by number, and a line that was cut is left out") {
  const test::Folder folder;
  test::write_file(folder / "good", "1 2 game.Count=a1\n2 5\n3 8 game.Co");
  const auto good = read_tick_hashes(folder / "good");
  REQUIRE(good);
  REQUIRE(good->size() == 2);
  CHECK(good->at(0).columns.at("game.Count") == 0xa1);
  for (const char* wrong : {"x", "1", "1 2 a", "1 2 a=", "1 2 a=g", "1 2 =1", "1 2 a=1 a=1", "", "-1 2"}) {
    INFO(wrong);
    test::write_file(folder / "bad", std::string("1 2 game.Count=a1\n") + wrong + "\n");
    const auto bad = read_tick_hashes(folder / "bad");
    REQUIRE_FALSE(bad);
    CHECK_THAT(bad.error().what(), Contains("bad: line 2"));
  }
  CHECK_THAT(read_tick_hashes(folder / "none").error().what(), Contains("none: cannot be read"));
  EntityRegistry r;
  CHECK_THROWS_WITH(TickHashLog(r, folder / "no/hashes"), Contains("cannot be written"));
}

}  // namespace tick_hashes_test
