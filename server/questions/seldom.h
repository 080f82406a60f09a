// Schedules work that can neither be divided into slices nor bounded by steps, such as a save, a
// hash of the whole state, or a plugin reload. This kind of work is spaced out so that, no matter
// how often it is requested, most of the world thread's time is left for the world.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace muster {

/// Must be used only on the world thread.
class Seldom {
 public:
  using Clock = std::chrono::steady_clock;

  /// `for_admin` is true if a session with the right `admin` waits for the work. Such work does not
  /// wait because of the work of other users.
  bool due(Clock::time_point now, bool for_admin = false) const noexcept {
    return now >= (for_admin ? next_for_admin_ : next_);
  }
  /// Returns how long to wait until the next piece of work is due.
  std::chrono::nanoseconds due_in(Clock::time_point now) const noexcept {
    const Clock::time_point next = next_for_admin_ > now ? std::min(next_, next_for_admin_) : next_;
    return std::max<std::chrono::nanoseconds>(next - now, std::chrono::nanoseconds(0));
  }
  /// Runs `f`, which does a piece of work. The next piece becomes due after three times the
  /// duration of `f`, but after one second at most.
  template <class F>
  void run(F&& f, bool for_admin = true) {
    const Clock::time_point begin = Clock::now();
    f();
    next_ = Clock::now();
    if (for_admin) next_for_admin_ = next_;
    took(next_ - begin, for_admin);
  }
  /// Adds time that the work took on other threads. This time also delays the next piece of work.
  void took(Clock::duration more, bool for_admin = true) noexcept {
    const Clock::duration wait = std::min<Clock::duration>(3 * more, std::chrono::seconds(1));
    next_ += wait;
    if (for_admin) next_for_admin_ += wait;
  }

 private:
  Clock::time_point next_{}, next_for_admin_{};
};

}  // namespace muster
