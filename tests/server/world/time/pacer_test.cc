// When the next tick is due, by a clock that the test sets.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "server/world/time/pacer.h"

namespace pacer_test {

using namespace muster;
using namespace std::chrono_literals;

namespace {

using Time = Pacer::Clock::time_point;
constexpr Time start{1000s};

std::string reason(const std::expected<void, PaceFault>& set) {
  return set ? "" : set.error().field + ": " + set.error().reason;
}

}  // namespace

TEST_CASE("ticks are due hz times speed times a second") {
  for (const double speed : {1.0, 0.01, 0.5, 4.0, 100.0}) {
    Pacer pacer(50);
    REQUIRE(pacer.set({.speed = speed}, start));
    const auto period = std::chrono::nanoseconds(static_cast<std::int64_t>(20e6 / speed));
    Time now = start;
    for (int i = 1; i <= 5; ++i) {
      REQUIRE(pacer.next_tick(now) == start + i * period);
      now = start + i * period;
      CHECK(pacer.begin_tick(now) == 0);
    }
  }
}

TEST_CASE("when the speed changes, what is left of a tick's time passes at the new speed") {
  Pacer pacer(10);
  REQUIRE(pacer.next_tick(start) == start + 100ms);
  REQUIRE(pacer.set({.speed = 2}, start + 40ms));
  CHECK(pacer.next_tick(start + 40ms) == start + 70ms);
  REQUIRE(pacer.set({.speed = 0.1}, start + 60ms));
  CHECK(pacer.next_tick(start + 60ms) == start + 260ms);
  // A tick that is late is due at once, not once more later.
  REQUIRE(pacer.set({.speed = 1}, start + 900ms));
  CHECK(pacer.next_tick(start + 900ms) == start + 900ms);
}

TEST_CASE("while paused only steps are due, each at once; the first tick after a pause comes a whole tick later") {
  Pacer pacer(10);
  REQUIRE(pacer.next_tick(start) == start + 100ms);
  REQUIRE(pacer.set({.paused = true}, start + 90ms));
  CHECK_FALSE(pacer.next_tick(start + 90ms));
  CHECK_FALSE(pacer.next_tick(start + 3600s));
  REQUIRE(pacer.set({.paused = true, .steps = 2}, start + 3600s));
  for (int left = 1; left >= 0; --left) {
    REQUIRE(pacer.next_tick(start + 3601s) == start + 3601s);
    CHECK(pacer.begin_tick(start + 3602s) == 0);
    CHECK(pacer.pace().steps == static_cast<std::uint32_t>(left));
  }
  CHECK_FALSE(pacer.next_tick(start + 3603s));
  REQUIRE(pacer.set({}, start + 4000s));
  CHECK(pacer.next_tick(start + 4000s) == start + 4000s + 100ms);
  CHECK(pacer.begin_tick(start + 4000s + 103ms) == 3'000'000);
}

TEST_CASE("a clock that cannot run so is told why, and runs on as before") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  Pacer pacer(10), events(0);
  const Pace before{.speed = 3, .paused = true, .steps = 4};
  REQUIRE(pacer.set(before, start));
  CHECK(reason(pacer.set({.speed = nan}, start)) == "speed: not_finite");
  CHECK(reason(pacer.set({.speed = -infinite}, start)) == "speed: not_finite");
  CHECK(reason(pacer.set({.speed = 0}, start)) == "speed: out_of_range");
  CHECK(reason(pacer.set({.speed = -1}, start)) == "speed: out_of_range");
  CHECK(reason(pacer.set({.speed = std::nextafter(0.01, 0)}, start)) == "speed: out_of_range");
  CHECK(reason(pacer.set({.speed = std::nextafter(100.0, 200)}, start)) == "speed: out_of_range");
  CHECK(reason(pacer.set({.steps = 1}, start)) == "steps: not_paused");
  CHECK(reason(pacer.set({.paused = true, .steps = Pace::steps_max + 1}, start)) == "steps: out_of_range");
  CHECK(pacer.pace() == before);
  CHECK(pacer.set({.paused = true, .steps = Pace::steps_max}, start));
  CHECK(reason(events.set({.paused = true, .steps = 1}, start)) == "steps: no_ticks");
  CHECK(events.set({.speed = 100, .paused = true}, start));
}

TEST_CASE("without hz the world's clock goes by the wall clock times the speed, and stands while it is paused") {
  Pacer pacer(0);
  pacer.begin_following(start);
  CHECK(pacer.passed(start + 1s, true) == 1'000'000'000);
  // Each part of a time at the speed there was then.
  REQUIRE(pacer.set({.speed = 10}, start + 2s));
  REQUIRE(pacer.set({.speed = 0.5}, start + 3s));
  REQUIRE(pacer.set({.speed = 2, .paused = true}, start + 5s));
  CHECK_FALSE(pacer.when(1));
  REQUIRE(pacer.set({.speed = 2}, start + 100s));
  CHECK(pacer.passed(start + 101s, true) == 1'000'000'000ull + 10'000'000'000ull + 1'000'000'000ull + 2'000'000'000ull);
  // A timer that is 4 s of the world's clock ahead, after 1 s of them at another speed.
  CHECK(pacer.when(4'000'000'000) == start + 103s);
  REQUIRE(pacer.set({.speed = 1}, start + 101s + 500ms));
  CHECK(pacer.when(4'000'000'000) == start + 104s + 500ms);
  // Where no timer waits it stands, whatever the speed.
  CHECK(pacer.passed(start + 200s, false) == 0);
  CHECK(pacer.passed(start + 201s, true) == 1'000'000'000);
  CHECK(pacer.when(~std::uint64_t{0}) == start + 201s + std::chrono::hours(24 * 365));
}

TEST_CASE("a polled clock without hz makes frames as long as what passed times its speed, and loses nothing of it") {
  Pacer pacer(0);
  CHECK(reason(pacer.set({.paused = true, .steps = 1}, start)) == "steps: no_ticks");
  pacer.begin_polling();
  CHECK(pacer.frame_ns(16ms) == 16'000'000);
  std::uint64_t all = 0;
  REQUIRE(pacer.set({.speed = 0.01}, start));
  for (int i = 0; i < 1000; ++i) all += pacer.frame_ns(123ns);  // 1.23 ns each
  CHECK(all == 1230);
  // Each step is one frame; where nothing passed there is none.
  REQUIRE(pacer.set({.speed = 2, .paused = true, .steps = 2}, start));
  CHECK(pacer.frame_ns(0ns) == 0);
  CHECK(pacer.pace().steps == 2);
  CHECK(pacer.frame_ns(5ms) == 10'000'000);
  CHECK(pacer.frame_ns(1ms) == 2'000'000);
  CHECK(pacer.frame_ns(1ms) == 0);
  // Driven by events it has none.
  pacer.begin_following(start);
  CHECK(reason(pacer.set({.paused = true, .steps = 1}, start)) == "steps: no_ticks");
}

}  // namespace pacer_test
