// Work that cannot be cut into slices and is not bounded by steps: a save, a hash of the whole
// state, or a plugin's reload. Such work is spaced out, so that most of the world thread's time is
// left for the world, no matter how often the work is requested.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace muster {

/// World thread only.
class Seldom {
 public:
  using Clock = std::chrono::steady_clock;

  bool due(Clock::time_point now) const noexcept { return now >= next_; }
  /// Returns the time until the next work is due.
  std::chrono::nanoseconds due_in(Clock::time_point now) const noexcept {
    return std::max<std::chrono::nanoseconds>(next_ - now, std::chrono::nanoseconds(0));
  }
  /// Runs `f`, which does the work. The next work waits for three times as long as this took, but
  /// at most a second.
  template <class F>
  void run(F&& f) {
    const Clock::time_point begin = Clock::now();
    f();
    next_ = Clock::now();
    took(next_ - begin);
  }
  /// Adds time that the work took on other threads; the next work waits for that too.
  void took(Clock::duration more) noexcept { next_ += std::min<Clock::duration>(3 * more, std::chrono::seconds(1)); }

 private:
  Clock::time_point next_{};
};

}  // namespace muster
