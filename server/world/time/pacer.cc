// The pace decides when a tick is made, but never what the tick does. `dt` and the step of the
// registry's clock remain 1/hz, so if each tick has the same inputs, the hash is the same at any
// pace. The pace is not an input, has no sequence number, and is not saved. A world that has just
// been opened always runs at speed 1, because its user may have forgotten that it was paused.
#include "server/world/time/pacer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {
namespace {

using std::chrono::nanoseconds;

/// Delay of the host above which some of the missed ticks are skipped.
constexpr nanoseconds behind_max{250'000'000};
/// One year, which is practically forever but keeps sums within the clock's range.
constexpr double year_ns = 31'536'000e9;

nanoseconds since(Pacer::Clock::time_point earlier, Pacer::Clock::time_point now) noexcept {
  return now > earlier ? now - earlier : nanoseconds(0);
}

std::unexpected<PaceFault> fault(const char* field, const char* reason, std::string text) {
  return std::unexpected(PaceFault{field, reason, std::move(text)});
}

}  // namespace

Pacer::Clock::duration Pacer::period() const noexcept {
  return nanoseconds(static_cast<std::int64_t>(1e9 / hz_ / pace_.speed));
}

std::expected<void, PaceFault> Pacer::set(const Pace& pace, Clock::time_point now) {
  if (!std::isfinite(pace.speed)) return fault("speed", "not_finite", "a clock's speed is a finite number");
  if (pace.speed < Pace::speed_min || pace.speed > Pace::speed_max)
    return fault("speed", "out_of_range", "a clock's speed is from 0.01 to 100");
  if (pace.steps > 0 && hz_ == 0 && !polled_)
    return fault("steps", "no_ticks", "this world has no ticks (0 Hz), so it cannot be stepped");
  if (pace.steps > 0 && !pace.paused)
    return fault("steps", "not_paused", "the clock runs: single ticks are made while it is paused");
  if (pace.steps > Pace::steps_max)
    return fault(
        "steps", "out_of_range",
        "at most " + std::to_string(Pace::steps_max) + " ticks wait to be made, not " + std::to_string(pace.steps));
  const Pace before = std::exchange(pace_, pace);
  if (!before.paused) owed_ns_ += static_cast<double>(since(followed_, now).count()) * before.speed;
  followed_ = now;
  if (hz_ == 0 || !next_tick_) return {};
  if (before.paused)
    next_tick_ = now + period();
  else
    next_tick_ = now + nanoseconds(static_cast<std::int64_t>(static_cast<double>(since(now, *next_tick_).count()) *
                                                             (before.speed / pace.speed)));
  return {};
}

std::optional<Pacer::Clock::time_point> Pacer::next_tick(Clock::time_point now) {
  if (!next_tick_) next_tick_ = now + period();
  if (!pace_.paused) return next_tick_;
  return pace_.steps > 0 ? std::optional(now) : std::nullopt;
}

std::uint64_t Pacer::begin_tick(Clock::time_point now) {
  if (pace_.paused) {
    if (pace_.steps > 0) --pace_.steps;
    return 0;
  }
  const Clock::time_point due = next_tick_.value_or(now);
  next_tick_ = due + period();
  if (now - *next_tick_ > behind_max) next_tick_ = now + period();
  return static_cast<std::uint64_t>(since(due, now).count());
}

std::uint64_t Pacer::frame_ns(std::chrono::duration<double, std::nano> elapsed) {
  if ((pace_.paused && pace_.steps == 0) || !(elapsed.count() > 0)) return 0;
  rest_ns_ += std::min(elapsed.count(), year_ns) * pace_.speed;
  // A rounding error just below a whole number must not shorten a frame by 1 ns.
  const double whole = std::floor(rest_ns_ + 1e-5);
  rest_ns_ -= whole;
  if (whole > 0 && pace_.paused) --pace_.steps;
  return static_cast<std::uint64_t>(whole);
}

void Pacer::begin_following(Clock::time_point now) noexcept {
  followed_ = now;
  owed_ns_ = 0;
  polled_ = false;
}

std::uint64_t Pacer::passed(Clock::time_point now, bool move) {
  if (!pace_.paused) owed_ns_ += static_cast<double>(since(followed_, now).count()) * pace_.speed;
  followed_ = now;
  const double whole = std::floor(owed_ns_);
  owed_ns_ = move ? owed_ns_ - whole : 0;
  return move ? static_cast<std::uint64_t>(whole) : 0;
}

std::optional<Pacer::Clock::time_point> Pacer::when(std::uint64_t ahead_ns) const {
  if (pace_.paused) return std::nullopt;
  const double wall_ns = std::clamp((static_cast<double>(ahead_ns) - owed_ns_) / pace_.speed, 0.0, year_ns);
  return followed_ + nanoseconds(static_cast<std::int64_t>(std::ceil(wall_ns)));
}

}  // namespace muster
