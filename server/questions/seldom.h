// Schedules work that can neither be divided into slices nor bounded by steps: a save, a hash of
// the whole state, or a plugin reload. Such work is spaced out, so that most of the world thread's
// time is left for the world, no matter how often the work is requested.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace muster {

/// Used only on the world thread.
class Seldom {
 public:
  using Clock = std::chrono::steady_clock;

  bool due(Clock::time_point now) const noexcept { return now >= next_; }
  /// Returns how long to wait until the next work is due.
  std::chrono::nanoseconds due_in(Clock::time_point now) const noexcept {
    return std::max<std::chrono::nanoseconds>(next_ - now, std::chrono::nanoseconds(0));
  }
  /// Runs `f`, which does the work. The next work becomes due after three times as long as `f`
  /// took, but after one second at most.
  template <class F>
  void run(F&& f) {
    const Clock::time_point begin = Clock::now();
    f();
    next_ = Clock::now();
    took(next_ - begin);
  }
  /// Adds time that the work has taken on other threads, which also delays the next work.
  void took(Clock::duration more) noexcept { next_ += std::min<Clock::duration>(3 * more, std::chrono::seconds(1)); }

 private:
  Clock::time_point next_{};
};

}  // namespace muster
