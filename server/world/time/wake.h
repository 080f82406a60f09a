// Wakes the thread that sleeps in World::next_frame, from other threads and signal handlers.
#pragma once

#include <chrono>
#include <optional>

namespace muster {

class Wake {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::system_error if the system has no more descriptors.
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  /// Ends the current wait, or the next one immediately. Any thread, and signal handlers.
  void signal() const noexcept;
  /// Sleeps until signal() is called or `until`, or forever without a value. Returns true after a
  /// signal; several signals count as one.
  bool wait(std::optional<Clock::time_point> until) const noexcept;

 private:
  int fd_;
};

}  // namespace muster
