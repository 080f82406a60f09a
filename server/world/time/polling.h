// Determines which calls to World::poll return a frame, and measures the elapsed time if the host
// does not supply it.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace muster {

/// Must be used on the world thread. Like Pacer, this class does not read any clock.
class Polling {
 public:
  using Clock = std::chrono::steady_clock;
  /// Limit on the duration of a run of frames and on a measured time.
  static constexpr std::chrono::milliseconds run_max{250};

  /// Returns the time since the previous call, at most run_max. Returns 0 for the first call.
  Clock::duration since_last(Clock::time_point now) noexcept {
    const Clock::time_point before = std::max(last_.value_or(now), now - run_max);
    last_ = now;
    return std::max(now - before, Clock::duration::zero());
  }

  /// Returns true if the tick that is due at `due` (no value if none is due) should be made now. A
  /// run of overdue ticks ends after run_max, even if further ticks are due. Otherwise, a host that
  /// makes all due ticks before it renders a frame might never render one.
  bool gives(std::optional<Clock::time_point> due, Clock::time_point now) noexcept {
    if (!due || now < *due || (run_begun_ && now - *run_begun_ >= run_max)) {
      run_begun_.reset();
      return false;
    }
    if (!run_begun_) run_begun_ = now;
    return true;
  }

 private:
  std::optional<Clock::time_point> last_, run_begun_;
};

}  // namespace muster
