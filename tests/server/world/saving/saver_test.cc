// When what was recorded goes to the disk, and when a world saves itself: by a clock that the test plays.
#include "server/world/saving/saver.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "schema/scene.h"
#include "tests/server/world/saved_registry.h"
#include "tests/support/faulty_disk.h"

namespace saver_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

using Time = Saver::Clock::time_point;
const Time start = Time{} + 1h;

}  // namespace

TEST_CASE("batched: what was recorded goes to the disk a tenth of a second after the last time, or when it is much") {
  Saved world(Durability::batched, 0ns);
  world.push();
  world.saver.write_due(start);
  CHECK(world.saver.durable() == world.registry.sequence());  // a new world is saved
  CHECK_FALSE(world.saver.due());
  world.first_save();
  CHECK(world.saver.durable() == world.registry.sequence());
  CHECK(world.saver.saved() == world.registry.sequence());
  CHECK_FALSE(world.saver.due());
  const std::uint64_t saved = world.saver.saved();
  world.push();
  world.saver.write_due(start);
  world.wait_durable();
  CHECK(world.saver.saved() == saved);
  const std::uint64_t durable = world.saver.durable();
  world.push();
  world.wait([&] { return world.saver.due().has_value(); });  // the queue is idle
  CHECK(*world.saver.due() == start + 100ms);
  world.saver.write_due(start + 100ms - 1ns);
  CHECK(*world.saver.due() == start + 100ms);
  std::this_thread::sleep_for(2ms);
  CHECK(world.saver.durable() == durable);
  world.saver.write_due(start + 100ms);
  world.wait_durable();
  CHECK(world.wakes > 0);
  // A megabyte does not wait for its time.
  for (int i = 0; i < 3000; ++i) world.registry.push(world.unit, game::Blob{});
  world.saver.write_due(start + 101ms);
  world.wait_durable();
  // Nothing new has no time.
  world.saver.write_due(start + 1h);
  CHECK_FALSE(world.saver.due());
}

TEST_CASE("each flush: what was recorded goes to the disk as soon as that is idle") {
  Saved world(Durability::each_flush, 0ns);
  world.first_save();
  for (int i = 0; i < 10; ++i) {
    world.push();
    world.write_due_idle(start);
    world.wait_durable();
  }
  CHECK(world.saver.saved() == world.registry.sequence() - 10);
}

TEST_CASE("each flush: what many small groups left in the -wal is merged while nobody waits, and not at 16 MiB alone") {
  Saved world(Durability::each_flush, 0ns);
  world.first_save();
  for (int i = 0; i < 400; ++i) {
    world.push();
    world.write_due_idle(start);
    world.wait_durable();
  }
  // And what came while it was.
  CHECK(std::filesystem::file_size(world.directory / "w.muster-wal") < 4u << 20);
  CHECK(world.saver.held_bytes() == 0);
}

TEST_CASE("checkpoint: nothing is durable but what was saved") {
  Saved world(Durability::checkpoint, 0ns);
  world.first_save();
  const std::uint64_t saved = world.registry.sequence();
  world.push();
  world.saver.write_due(start);
  CHECK_FALSE(world.saver.due());
  std::this_thread::sleep_for(2ms);
  CHECK(world.saver.durable() == saved);
  world.first_save();
  CHECK(world.saver.durable() == saved + 1);
}

TEST_CASE("a world saves itself so long after something new came, and not where nothing did") {
  for (const Durability durability : {Durability::checkpoint, Durability::batched}) {
    Saved world(durability, 2s);
    world.push();
    world.saver.write_due(start);
    CHECK_FALSE(world.saver.due());  // before the first save it does not
    CHECK_FALSE(world.saver.is_saving());
    world.first_save();
    world.saver.write_due(start);
    CHECK_FALSE(world.saver.due());
    // The real time, since a save that takes long is rested from.
    const Time now = Saver::Clock::now() + 1h;
    const auto round = [&](Time from) {
      const std::uint64_t saved = world.saver.saved();
      world.saver.write_due(from);
      world.wait([&] { return world.saver.due() == from + 2s; });
      world.saver.write_due(from + 2s - 1ns);
      CHECK_FALSE(world.saver.is_saving());
      CHECK(world.saver.saved() == saved);
      world.saver.write_due(from + 2s);
      CHECK(world.saver.is_saving());
      CHECK_FALSE(world.saver.begin([](const Saver::Report&) { FAIL("two are under way"); }));
      world.wait([&] { return !world.saver.is_saving(); });
      CHECK(world.saver.saved() == world.registry.sequence());
      CHECK(world.saver.durable() == world.registry.sequence());
      CHECK(world.saver.error() == nullptr);
      world.saver.write_due(from + 5s);
      CHECK_FALSE(world.saver.due());
    };
    world.push();
    round(now);
    world.push();
    round(now + 10s);
    // So is a schema that was added, though it is no input.
    const std::size_t schemas = world.registry.types().schemas().size();
    world.registry.add_type<scene::Transform>();
    REQUIRE(world.registry.types().schemas().size() == schemas + 1);
    round(now + 15s);
    // What is saved by somebody else is not saved again.
    world.push();
    world.saver.write_due(now + 20s);
    world.first_save();
    world.saver.write_due(now + 30s);
    CHECK_FALSE(world.saver.is_saving());
    CHECK_FALSE(world.saver.due());
  }
}

TEST_CASE("a save of a new world that is begun is done at once, and told in place") {
  Saved world(Durability::batched, 2s);
  int told = 0;
  CHECK(world.saver.begin([&](const Saver::Report& report) {
    ++told;
    REQUIRE(report);
    CHECK(report->sequence == world.registry.sequence());
    CHECK(report->checkpoint == 1);
  }));
  CHECK(told == 1);
  CHECK_FALSE(world.saver.is_saving());
  // The second is written beside what happens, and told when somebody looks.
  world.push();
  const std::uint64_t sequence = world.registry.sequence();
  CHECK(world.saver.begin([&](const Saver::Report& report) {
    ++told;
    REQUIRE(report);
    CHECK(report->sequence == sequence);
    CHECK(report->checkpoint == 2);
  }));
  world.push();
  CHECK(told == 1);
  world.wait([&] { return told == 2; });
  CHECK_FALSE(world.saver.is_saving());
  CHECK(world.saver.saved() == sequence);
}

TEST_CASE("while the -wal is merged into the file groups go to the disk, and a save is written") {
  // The thread that merges is kept where it is about to sync.
  struct Held {
    Held() : disk("held") {
      disk.before_sync = [this] {
        if (writer == std::thread::id()) writer = std::this_thread::get_id();
        if (std::this_thread::get_id() == writer || !holds) return;
        ++held;
        while (holds) std::this_thread::sleep_for(100us);
      };
    }
    FaultyDisk disk;
    std::thread::id writer;
    std::atomic<bool> holds = false;
    std::atomic<int> held = 0;
  } held;
  constexpr std::uint64_t merge_bytes = 256u << 10;
  Saved world(Durability::each_flush, 0ns, 0, 256u << 20, {.merge_bytes = merge_bytes, .vfs = held.disk.name()});
  world.first_save();
  held.writer = {};  // that was the world thread; the writing thread comes first now
  const auto edit = [&] {
    world.push();
    world.write_due_idle(start);
    world.wait_durable();
  };
  edit();
  held.holds = true;
  while (held.held == 0) edit();
  for (int i = 0; i < 20; ++i) edit();
  bool told = false;
  REQUIRE(world.saver.begin([&](const Saver::Report& report) { told = report.has_value(); }));
  world.wait([&] { return told; });
  CHECK(held.held == 1);
  held.holds = false;
  for (int i = 0; i < 400; ++i) edit();
  // However slowly it merges where others want the processor: a group waits at eight times of it.
  CHECK(std::filesystem::file_size(world.directory / "w.muster-wal") < 8 * merge_bytes + (64u << 10));
}

TEST_CASE("however much comes while a slow disk merges, the -wal is bounded, and all of it is there") {
  FaultyDisk disk("slow");
  std::atomic<bool> slow = false;
  disk.before_sync = [&] {
    if (slow) std::this_thread::sleep_for(500us);
  };
  constexpr std::uint64_t merge_bytes = 128u << 10;
  Saved world(Durability::each_flush, 0ns, 0, 256u << 20, {.merge_bytes = merge_bytes, .vfs = disk.name()});
  std::vector<Entity> many = world.registry.create_many(20'000, game::Health{.value = 1}, game::Armor{.factor = 1});
  world.first_save();
  slow = true;
  std::uint64_t longest = 0;
  int saves = 0;
  while (saves < 4) {
    for (const Entity e : many) world.registry.set(e, game::Health{.value = static_cast<float>(saves)});
    (void)world.saver.begin([&](const Saver::Report& report) { saves += report.has_value() ? 1 : 0; });
    world.saver.write_due(start);
    world.saver.look();
    longest = std::max<std::uint64_t>(longest, std::filesystem::file_size(world.directory / "w.muster-wal"));
  }
  CHECK(longest > merge_bytes);
  // Eight times, and what one group has.
  CHECK(longest < 8 * merge_bytes + (4u << 20));
  world.wait([&] {
    world.saver.write_due(start);
    return world.saver.durable() == world.registry.sequence();
  });
  world.first_save();
  CHECK(world.saver.error() == nullptr);
  CHECK(world.saver.held_bytes() == 0);
}

TEST_CASE("a schema that a save could not write is written by the next, though no input came since") {
  FaultyDisk disk("fails once");
  Saved world(Durability::checkpoint, 2s, 0, 256u << 20, {.vfs = disk.name()});
  world.first_save();
  const Time now = Saver::Clock::now() + 1h;
  world.registry.add_type<scene::Transform>();
  world.saver.write_due(now);
  REQUIRE(world.saver.due() == now + 2s);
  disk.free_bytes = 0;
  world.saver.write_due(now + 2s);
  REQUIRE(world.saver.is_saving());
  world.wait([&] { return !world.saver.is_saving(); });
  REQUIRE(disk.refusals > 0);
  disk.free_bytes = -1;
  world.saver.write_due(now + 3s);
  const auto due = world.saver.due();
  REQUIRE(due);
  world.saver.write_due(*due);
  REQUIRE(world.saver.is_saving());
  world.wait([&] { return !world.saver.is_saving(); });
  world.saver.write_due(*due + 1h);
  CHECK_FALSE(world.saver.due());
  CHECK(world.saver.error() == nullptr);
}

}  // namespace saver_test
