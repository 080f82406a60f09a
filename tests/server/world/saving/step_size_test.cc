// How large the steps of a save are, by a clock that the test plays.
#include "server/world/saving/step_size.h"

#include <catch2/catch.hpp>

using namespace muster;
using namespace std::chrono_literals;

namespace {

/// A disk that takes 800 us for a sync and 1 ms for each 128 KiB.
struct Disk {
  void write(std::uint64_t bytes) { now += 800us + std::chrono::nanoseconds(bytes * 1'000'000 / (128u << 10)); }
  void group(std::size_t bytes) {
    const StepSize::Time begun = now;
    write(bytes);
    size.wrote_group(bytes, begun, now);
  }
  std::uint64_t step() {
    const std::uint64_t bytes = size.bytes(now);
    const StepSize::Time begun = now;
    write(bytes);
    size.made_step(begun, now);
    return bytes;
  }
  StepSize size;
  StepSize::Time now = StepSize::Time{} + 1h;
};

}  // namespace

TEST_CASE("where nobody waits a step of a save is as large as it may be") {
  Disk disk;
  for (int i = 0; i < 10; ++i) CHECK(disk.step() == StepSize::most);
  // Groups that came a while ago are no sign of others.
  disk.group(100);
  disk.now += 1s;
  for (int i = 0; i < 10; ++i) CHECK(disk.step() == StepSize::most);
}

TEST_CASE("where groups come a step takes about twice what a small one takes, and is never less than the least") {
  Disk disk;
  disk.group(100);
  disk.group(8u << 20);  // a large one says nothing
  std::uint64_t steps = 0, least = ~std::uint64_t{0}, greatest = 0;
  for (int i = 0; i < 100; ++i) {
    if (i % 5 == 0) disk.group(100);
    const std::uint64_t bytes = disk.step();
    if (i < 10) continue;
    ++steps;
    least = std::min(least, bytes);
    greatest = std::max(greatest, bytes);
  }
  CHECK(steps == 90);
  CHECK(least >= StepSize::least);
  CHECK(greatest <= 160u << 10);  // 100 KiB take as long
  CHECK(greatest >= 80u << 10);

  // A disk to which all bytes are dear.
  for (int i = 0; i < 20; ++i) {
    const StepSize::Time begun = disk.now;
    disk.now += 50ms;
    disk.size.made_step(begun, disk.now);
    disk.group(100);
  }
  CHECK(disk.size.bytes(disk.now) == StepSize::least);
  // And when nobody waits any more.
  disk.now += 1s;
  CHECK(disk.size.bytes(disk.now) == StepSize::most);
}
