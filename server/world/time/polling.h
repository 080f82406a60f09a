// Which polls give a frame (World::poll), and what an elapsed time is that the world measures
// itself.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace muster {

/// Reads no clock itself, as Pacer. Owner's thread.
class Polling {
 public:
  using Clock = std::chrono::steady_clock;
  /// Limit on a run of frames, and on a time that was measured.
  static constexpr std::chrono::milliseconds run_max{250};

  /// Returns how long ago the call before was: 0 for the first one, at most run_max.
  Clock::duration since_last(Clock::time_point now) noexcept {
    const Clock::time_point before = std::max(last_.value_or(now), now - run_max);
    last_ = now;
    return std::max(now - before, Clock::duration::zero());
  }

  /// Whether the tick that is due at `due` (no value: none is) is given now. A run of ticks that
  /// are due one after another ends when it has lasted for run_max, even if more are due: a host
  /// that makes all of them before it draws a picture comes to its picture.
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
