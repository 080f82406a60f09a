// Which polls give a frame, by a clock that the test sets.
#include "server/world/time/polling.h"

#include <catch2/catch.hpp>

using namespace muster;
using namespace std::chrono_literals;

namespace {
constexpr Polling::Clock::time_point start{1000s};
}

TEST_CASE("a tick is given when it is due, and not before") {
  Polling polling;
  CHECK_FALSE(polling.gives(std::nullopt, start));
  CHECK_FALSE(polling.gives(start + 1ns, start));
  CHECK(polling.gives(start, start));
  CHECK(polling.gives(start - 1s, start));
}

TEST_CASE("a run of ticks that are always due ends after a quarter of a second, and another begins") {
  Polling polling;
  for (int run = 0; run < 3; ++run) {
    const auto begun = start + run * 1s;
    for (auto now = begun; now < begun + 250ms; now += 10ms) CHECK(polling.gives(now, now));
    CHECK_FALSE(polling.gives(begun, begun + 250ms));
  }
  // One that is not due ends a run, too.
  CHECK(polling.gives(start + 4s, start + 4s));
  CHECK_FALSE(polling.gives(start + 5s, start + 4s + 200ms));
  CHECK(polling.gives(start + 4s, start + 4s + 260ms));
}

TEST_CASE("the time since the last poll is at most a quarter of a second, and nothing for the first one") {
  Polling polling;
  CHECK(polling.since_last(start) == 0ns);
  CHECK(polling.since_last(start + 7ms) == 7ms);
  CHECK(polling.since_last(start + 7ms) == 0ns);
  CHECK(polling.since_last(start + 257ms) == 250ms);
  CHECK(polling.since_last(start + 100s) == 250ms);
}
