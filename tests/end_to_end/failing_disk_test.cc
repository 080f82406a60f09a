// One seed drives sessions and the real writer over a disk that fails, and does the same each time: this program has no threads (see
// pthread_create), so the writer works where the world hands over what it recorded.
#include <pthread.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/end_to_end/disk_lives.h"

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): in the place of the system's
extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) noexcept { return EAGAIN; }

using namespace muster;

TEST_CASE("whatever a disk does while sessions edit, what was durable is there, and what is there was told") {
  test::live_seeds(test::Seeds("MUSTER_DISK_SEEDS", "MUSTER_DISK_SEED", 200, 20'000), false);
}

TEST_CASE("what was once lost or came back is not and does not again") {
  // Seeds that found a fault in the soak, behind those of each run.
  for (const std::uint64_t seed : {587, 6390}) {
    CAPTURE(seed);
    test::DiskLives lives(seed);
    test::live_seed(lives);
  }
}

TEST_CASE(
    "a life whose disk fails for good at any one of its operations leaves a world that is what it was told to be") {
  std::uint64_t operations = 0;
  {
    test::DiskLives whole(7);
    whole.live(4);
    const std::uint64_t before = whole.operations();
    whole.live(12, std::int64_t{1} << 40);
    operations = whole.operations() - before;
    whole.check();
  }
  REQUIRE(operations > 50);
  for (std::uint64_t cut = 0; cut < operations; ++cut) {
    CAPTURE(cut);
    test::DiskLives lives(7);
    lives.live(4);
    lives.live(12, static_cast<std::int64_t>(cut));
    lives.check();
  }
}
