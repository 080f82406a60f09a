// A slice may begin at a save before the present one, and a world that is made of a slice is the
// same world.
#include "server/world/replay/slice_import.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/world/file/world_file.h"
#include "server/world/replay/slice_copy.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

namespace slice_import_test {

using namespace muster;
using Catch::Contains;

namespace {

Handlers install(EntityRegistry& r) {
  return {r.subscribe("hurt", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
          r.subscribe("grow", [](const Update&, game::Count& count) { ++count.hits; })};
}
WorldOptions options() {
  return {
      .hz = 20'000, .code = "game 1", .durability = Durability::each_flush, .autosave = {}, .past_bytes = 64u << 20};
}
constexpr Sender editor{.session = 11, .user = 3};

/// Waits until all inputs are on disk. Makes no tick.
void settle(World& world) {
  REQUIRE(world.set_pace({.paused = true}));
  for (int i = 0; i < 20'000 && world.durable_sequence() < world.registry().sequence(); ++i) {
    (void)world.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(world.durable_sequence() == world.registry().sequence());
  REQUIRE(world.set_pace({.paused = false}));
}
void play_ticks(World& world, int ticks) {
  for (int i = 0; i < ticks; ++i) {
    REQUIRE(world.next_frame());
    world.registry().push(Update{.dt = 0.1f});
    world.registry().push(world.registry().find_path("/orc1"), game::Damage{.amount = 1});
  }
  settle(world);
}
void fill(World& world) {
  for (int i = 0; i < 5; ++i)
    world.registry().create("orc" + std::to_string(i), game::Health{.value = 10}, game::Count{}).or_stop();
  world.save();
}
/// Returns a slice that begins before the input, if there is a save from which the journal leads to
/// the present.
Slice slice_before(const std::string& path, std::uint64_t sequence) {
  auto slice = slice_of_copy(path, {.before = sequence});
  INFO((slice ? "" : slice.error().what()));
  REQUIRE(slice);
  return *slice;
}
std::uint64_t hash_of(const Slice& slice) {
  const auto report = replay("w", slice, install, {.code = "game 1", .check = true});
  INFO((report ? "" : report.error().what()));
  REQUIRE(report);
  CHECK(report->differences.empty());
  return report->hash;
}

}  // namespace

TEST_CASE("a slice begins before an input that earlier saves contain, and replays to the present") {
  const test::Folder folder(test::memory_disk());
  World world(folder / "w.muster", install, options());
  fill(world);
  const std::uint64_t first = world.registry().sequence();
  play_ticks(world, 10);
  world.save();
  play_ticks(world, 10);
  world.save();
  const std::uint64_t last = world.registry().sequence();
  play_ticks(world, 10);
  for (const std::uint64_t before : {std::uint64_t{1}, first + 1, first + 5, last, last + 3}) {
    const Slice slice = slice_before(folder / "w.muster", before);
    CHECK(slice.sequence < std::max(before, first + 1));
    CHECK(hash_of(slice) == world.registry().hash());
  }
  CHECK(slice_before(folder / "w.muster", 0).sequence == last);
  // With a limit, the beginning is one that fits.
  const std::uint64_t least = encode(slice_before(folder / "w.muster", 0)).size();
  const auto bounded = slice_of_copy(folder / "w.muster", {.before = 1, .bytes_max = least});
  REQUIRE(bounded);
  CHECK(hash_of(*bounded) == world.registry().hash());
  CHECK_THAT(slice_of_copy(folder / "w.muster", {.bytes_max = 100}).error().what(), Contains("exceeds the limit"));
}

TEST_CASE("a slice does not lead over the end of a run or the return to a past state") {
  const test::Folder folder(test::memory_disk());
  World world(folder / "w.muster", install, options());
  fill(world);
  play_ticks(world, 10);
  world.save();
  REQUIRE(world.play());
  play_ticks(world, 10);
  CHECK(hash_of(slice_before(folder / "w.muster", 1)) == world.registry().hash());
  REQUIRE(world.stop_playing());
  play_ticks(world, 10);
  world.save();
  CHECK(hash_of(slice_before(folder / "w.muster", 1)) == world.registry().hash());
  const std::uint64_t tick = world.tick();
  play_ticks(world, 10);
  REQUIRE(world.restore({.tick = tick + 5}));
  world.save();
  CHECK(hash_of(slice_before(folder / "w.muster", 1)) == world.registry().hash());
  play_ticks(world, 10);
  CHECK(hash_of(slice_before(folder / "w.muster", 1)) == world.registry().hash());
}

TEST_CASE("a world that is made of a slice has the same ids, hash and history") {
  const test::Folder folder(test::memory_disk());
  std::uint64_t hash = 0, sequence = 0;
  Entity orc, late;
  {
    World world(folder / "w.muster", install, options());
    fill(world);
    orc = world.registry().find_path("/orc3");
    BatchBuilder edit;
    edit.append(orc, Destroy{});
    world.registry().host().push_batch(edit.bytes(), editor);
    world.save();
    play_ticks(world, 3);
    late = world.registry().create("late", game::Armor{}).or_stop();  // learns a type
    play_ticks(world, 3);
    hash = world.registry().hash();
    sequence = world.registry().sequence();
  }
  const auto slice = slice_of_copy(folder / "w.muster");
  REQUIRE(slice);
  REQUIRE(write_slice(folder / "w.slice", *slice));
  const auto report = import_slice(folder / "w.slice", folder / "again.muster");
  INFO((report ? "" : report.error().what()));
  REQUIRE(report);
  CHECK(report->sequence == sequence);
  CHECK(report->steps == 1);
  {
    World again(folder / "again.muster", install, options());
    CHECK(again.recovery_report().exact());
    CHECK(again.registry().hash() == hash);
    CHECK(again.registry().sequence() == sequence);
    CHECK(again.tick() == 6);
    CHECK(again.registry().find_path("/late") == late);
    CHECK(again.history().apply(HistoryAct::undo, editor, Conflicts::overwrite, false).done == 1);
    CHECK(again.registry().find_path("/orc3") == orc);
  }
  // The copy continues as a world does, and becomes a slice again.
  const auto once_more = slice_of_copy(folder / "again.muster");
  REQUIRE(once_more);
  CHECK(once_more->world == slice->world);
  CHECK_THAT(import_slice(folder / "w.slice", folder / "again.muster").error().what(), Contains("exists"));
}

TEST_CASE("a slice that cannot become a world leaves nothing behind") {
  const test::Folder folder(test::memory_disk());
  {
    World world(folder / "w.muster", install, options());
    fill(world);
    for (int i = 0; i < 3; ++i) play_ticks(world, 2);  // at least a group each
  }
  const auto slice = slice_of_copy(folder / "w.muster");
  REQUIRE(slice);
  const auto refused = [&](const Slice& changed) {
    std::filesystem::remove(folder / "c.slice");
    REQUIRE(write_slice(folder / "c.slice", changed));
    const auto before = folder.names();
    const auto made = import_slice(folder / "c.slice", folder / "c.muster");
    REQUIRE_FALSE(made);
    CHECK(folder.names() == before);
    return std::string(made.error().what());
  };
  Slice in_run = *slice;
  in_run.in_run = true;
  CHECK_THAT(refused(in_run), Contains("c.slice") && Contains("during a run"));
  Slice short_group = *slice;
  short_group.groups.back().records.resize(short_group.groups.back().records.size() / 2);
  CHECK_THAT(refused(short_group), Contains("journal group"));
  Slice gap = *slice;
  REQUIRE(gap.groups.size() > 2);
  gap.groups.erase(gap.groups.begin() + 1);
  CHECK_THAT(refused(gap), Contains("does not follow"));
  Slice rows = *slice;
  rows.rows.erase(rows.rows.begin() + 1, rows.rows.begin() + 4);
  CHECK_THAT(refused(rows), Contains("c.slice"));
  Slice steps = *slice;
  steps.steps.push_back({.number = 1, .bytes = std::vector<std::byte>(3)});
  CHECK_THAT(refused(steps), Contains("c.slice"));
  CHECK_THAT(import_slice(folder / "none", folder / "c.muster").error().what(), Contains("none"));

  REQUIRE(write_slice(folder / "good.slice", *slice));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto ignored = ::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t little : {0, 4096, 20'000, 70'000}) {
    const rlimit now{.rlim_cur = little, .rlim_max = before.rlim_max};
    const auto names = folder.names();
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
    const auto made = import_slice(folder / "good.slice", folder / "full.muster");
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK_FALSE(made);
    CHECK(folder.names() == names);
  }
  ::signal(SIGXFSZ, ignored);
  CHECK(import_slice(folder / "good.slice", folder / "full.muster"));
}

}  // namespace slice_import_test
