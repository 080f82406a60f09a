// A replay says what it compared, and never that nothing differs if it compared nothing.
#include "server/world/replay/replay.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/world/replay/slice_copy.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

namespace replay_test {

using namespace muster;
using Catch::Contains;

namespace {

constexpr Sender editor{.session = 11, .user = 3};

/// A game with a handler that knows whether the world is live.
World::Install install(bool live = false) {
  return [live](EntityRegistry& r) -> Handlers {
    return {r.subscribe("grow", [](const Update&, game::Count& count) { ++count.hits; }),
            r.subscribe("wind", [live](const Update&, game::Velocity& v) { v.by.y += live ? 2 : 1; })};
  };
}
WorldOptions options(std::uint64_t past_bytes = 0) {
  return {
      .hz = 20'000, .code = "game 1", .durability = Durability::each_flush, .autosave = {}, .past_bytes = past_bytes};
}
void fill(World& world) {
  for (int i = 0; i < 5; ++i)
    world.registry().create("orc" + std::to_string(i), game::Velocity{}, game::Count{}).or_stop();
  world.save();
}
/// Makes ticks. If `edits` is true, a session edits in every third one.
void play_ticks(World& world, int ticks, bool edits = false) {
  const Entity one = world.registry().find_path("/orc1"), other = world.registry().find_path("/orc2");
  for (int i = 0; i < ticks; ++i) {
    REQUIRE(world.next_frame());
    world.registry().push(Update{.dt = 0.1f});
    if (!edits || i % 3 != 0) continue;
    BatchBuilder edit;
    edit.append(one, Reparent{.parent = i % 2 == 0 ? other : Entity{}});
    world.registry().host().push_batch(edit.bytes(), editor);
  }
}
Slice read(const std::string& path) {
  auto slice = read_slice_or_world(path);
  INFO((slice ? "" : slice.error().what()));
  REQUIRE(slice);
  return std::move(*slice);
}
ReplayReport replayed(const Slice& slice, const World::Install& game, const ReplayOptions& how) {
  auto report = replay("w", slice, game, how);
  INFO((report ? "" : report.error().what()));
  REQUIRE(report);
  return std::move(*report);
}

}  // namespace

TEST_CASE("a replay counts the ticks that were done twice, and names why others were not") {
  const test::Folder folder(test::memory_disk());
  {
    World world(folder / "w.muster", install(), options());
    fill(world);
    play_ticks(world, 12, true);
  }
  const Slice slice = read(folder / "w.muster");
  const ReplayReport report = replayed(slice, install(), {.code = "game 1", .check = true});
  CHECK(report.differences.empty());
  CHECK(report.ticks == 12);
  CHECK(report.second.ticks == 12);
  CHECK(report.second.inputs == report.inputs);
  CHECK(report.twice.ticks == 8);
  CHECK(report.not_twice.ticks == 4);
  CHECK(report.twice.inputs + report.not_twice.inputs == report.inputs);
  REQUIRE(report.not_compared.size() == 1);
  CHECK_THAT(report.not_compared.front(), Contains("edits"));
  CHECK(report.compared_anything());
  CHECK_FALSE(report.compared_with_recorded());

  const ReplayReport unchecked = replayed(slice, install(), {.code = "game 1"});
  CHECK(unchecked.inputs == report.inputs);
  CHECK_FALSE(unchecked.compared_anything());
}

TEST_CASE("inputs that were recorded with handlers are not replayed without any") {
  const test::Folder folder(test::memory_disk());
  {
    World world(folder / "w.muster", install(), options());
    fill(world);
    play_ticks(world, 3);
  }
  const Slice slice = read(folder / "w.muster");
  for (const bool check : {false, true}) {
    const auto none = replay("w", slice, {}, {.code = "game 2", .check = check, .any_code = true});
    REQUIRE_FALSE(none);
    CHECK_THAT(none.error().what(),
               Contains("no handlers here") && Contains("2 handlers") && Contains("game 1") && Contains("--plugin"));
  }
  // A world without handlers is replayed without handlers.
  const World::Install nothing = [](EntityRegistry&) -> Handlers { return {}; };
  {
    World world(folder / "bare.muster", nothing, options());
    fill(world);
    play_ticks(world, 3);
  }
  const Slice bare = read(folder / "bare.muster");
  CHECK(replayed(bare, nothing, {.code = "game 2", .check = true, .any_code = true}).twice.ticks == 3);
}

TEST_CASE("a replay of another build names both builds") {
  const test::Folder folder(test::memory_disk());
  {
    World world(folder / "w.muster", install(), options());
    fill(world);
    play_ticks(world, 3);
  }
  const Slice slice = read(folder / "w.muster");
  const ReplayReport same = replayed(slice, install(), {.code = "game 1", .any_code = true});
  CHECK(same.recorded_by.empty());
  const ReplayReport other = replayed(slice, install(), {.code = "game 2", .any_code = true});
  CHECK_THAT(other.recorded_by, Contains("game 1"));
  CHECK_THAT(other.replayed_by, Contains("game 2"));
}

TEST_CASE("a replay without inputs compares nothing") {
  const test::Folder folder(test::memory_disk());
  {
    World world(folder / "w.muster", install(), options());
    fill(world);
  }
  const ReplayReport report = replayed(read(folder / "w.muster"), install(), {.code = "game 1", .check = true});
  CHECK(report.inputs == 0);
  CHECK_FALSE(report.compared_anything());
  CHECK(report.not_compared.empty());
}

TEST_CASE("a slice that leads over a save is compared with the state that the world saved") {
  const test::Folder folder(test::memory_disk());
  for (const bool live : {false, true}) {
    const std::string path = folder / (live ? "live.muster" : "same.muster");
    std::uint64_t first = 0, saved = 0, tick = 0;
    {
      World world(path, install(live), options(64u << 20));
      fill(world);
      first = world.registry().sequence();
      play_ticks(world, 10, true);
      world.registry().create("late", game::Armor{}).or_stop();  // learns a type
      play_ticks(world, 2);
      world.save();
      saved = world.registry().sequence();
      tick = world.tick();
      play_ticks(world, 5);
    }
    const auto slice = slice_of_copy(path, {.before = first + 1});
    REQUIRE(slice);
    REQUIRE(slice->states.size() == 1);
    CHECK(slice->states[0].sequence == saved);
    CHECK(slice->states[0].tick == tick);
    const auto decoded = decode_slice(encode(*slice));
    REQUIRE(decoded);
    for (const bool check : {false, true})
      for (const std::uint32_t workers : {1u, 2u}) {
        const ReplayReport report =
            replayed(*decoded, install(), {.code = "game 1", .check = check, .workers = workers});
        CHECK(report.states == 1);
        CHECK(report.recorded_states == 1);
        CHECK(report.compared_with_recorded());
        REQUIRE(report.differences.size() == (live ? 1 : 0));
        if (!live) continue;
        const ReplayDifference& found = report.differences.front();
        CHECK(found.with == ComparedWith::recorded_state);
        CHECK(found.tick == tick);
        CHECK(found.found.component == "game.Velocity");
        CHECK(found.found.suspects == std::vector<std::string>{"\"wind\""});
        CHECK_THAT(found.text(), Contains("the state after input " + std::to_string(saved)) &&
                                     Contains("recorded run") && Contains("game.Velocity") && Contains("\"wind\""));
      }
    // A replay that ends before the save does not reach it.
    const ReplayReport part = replayed(*decoded, install(), {.code = "game 1", .to_tick = tick - 3});
    CHECK(part.states == 0);
    CHECK(part.recorded_states == 0);
  }
}

}  // namespace replay_test
