// What a world does whose disk is slower than what is to be written.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/server/world/saved_registry.h"
#include "tests/support/faulty_disk.h"

namespace disk_lags_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

using Time = Saver::Clock::time_point;
const Time start = Time{} + 1h;

/// Syncs of other threads than this one do not return for as long as it is held.
struct HeldDisk {
  HeldDisk() {
    disk.before_sync = [this, owner = std::this_thread::get_id()] {
      while (held && std::this_thread::get_id() != owner) std::this_thread::sleep_for(100us);
    };
  }
  FaultyDisk disk{"held"};
  std::atomic<bool> held = false;
};

/// An input of 336 KiB and a bit.
void push_much(Saved& world) {
  for (int i = 0; i < 1000; ++i) world.registry.push(world.unit, game::Blob{});
}

}  // namespace

TEST_CASE(
    "a world that is to go on where the disk lags does, says that nothing is recorded, and saves itself when it can") {
  HeldDisk disk;
  constexpr std::size_t waiting_max = 2u << 20;
  Saved world(Durability::each_flush, 0ns, 0, 256u << 20, {.vfs = disk.disk.name()}, DiskLags::go_on, waiting_max);
  world.first_save();
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    world.push();
    world.write_due_idle(start);
    world.wait_durable();
    const std::uint64_t durable = world.saver.durable();
    disk.held = true;
    int times = 0;
    for (; !world.saver.error() && times < 100; ++times) {
      push_much(world);
      world.saver.write_due(start);
    }
    // What waits has its bound, and was handed over before the disk lagged.
    CHECK(times > 4);
    CHECK(times < 12);
    REQUIRE(world.saver.error());
    CHECK(world.saver.error()->ends_with(
        "w.muster: 2 MiB wait for the disk, which is slower than what is to be written"));
    push_much(world);
    world.saver.write_due(start);
    CHECK(world.saver.waits() == 0);
    CHECK(world.saver.durable() == durable);
    CHECK_FALSE(world.saver.is_saving());
    const std::uint64_t wakes = static_cast<std::uint64_t>(world.wakes);
    disk.held = false;
    // It is woken when the disk has what waited, and begins a save that nobody asked for.
    world.wait([&] {
      world.saver.write_due(start);
      return world.saver.error() == nullptr && !world.saver.is_saving();
    });
    CHECK(static_cast<std::uint64_t>(world.wakes) > wakes);
    CHECK(world.saver.saved() == world.registry.sequence());
  }
  world.push();
  world.write_due_idle(start);
  world.wait_durable();
  CHECK(run_sql(world.directory / "w.muster", "SELECT count(*) FROM journal") == "1\n");
}

TEST_CASE("what was handed over before the disk lagged is written") {
  HeldDisk disk;
  Saved world(Durability::each_flush, 0ns, 0, 256u << 20, {.vfs = disk.disk.name()}, DiskLags::go_on, 2u << 20);
  world.first_save();
  disk.held = true;
  std::uint64_t recorded = 0;
  while (!world.saver.error()) {
    recorded = world.registry.sequence();
    push_much(world);
    world.saver.write_due(start);
  }
  disk.held = false;
  // It is handed over by the MiB, four times as many inputs.
  world.wait([&] { return world.saver.durable() + 4000 >= recorded; });
  CHECK(world.saver.durable() <= recorded);
  CHECK(recorded > 4000);
  // Whoever asks for a save gets one, and all is well.
  world.first_save();
  CHECK(world.saver.error() == nullptr);
  CHECK(world.saver.durable() == world.registry.sequence());
}

TEST_CASE("a world whose journal is as long as it may be goes on likewise while a save is still being written") {
  HeldDisk disk;
  Saved world(Durability::each_flush, 0ns, 1u << 20, 256u << 20, {.vfs = disk.disk.name()}, DiskLags::go_on);
  world.first_save();
  disk.held = true;
  for (int times = 0; !world.saver.error() && times < 100; ++times) {
    push_much(world);
    world.saver.write_due(start);
  }
  REQUIRE(world.saver.error());
  CHECK(world.saver.error()->find("which is the limit, and it is still being written") != std::string::npos);
  CHECK(world.saver.is_saving());
  disk.held = false;
  world.wait([&] {
    world.saver.write_due(start);
    return world.saver.error() == nullptr && !world.saver.is_saving();
  });
  world.push();
  world.saver.write_due(start);
  world.wait([&] {
    world.saver.write_due(start);
    return world.saver.durable() == world.registry.sequence();
  });
}

}  // namespace disk_lags_test
