// Enables other threads and signal handlers to wake the thread that sleeps in World::next_frame.
#pragma once

#include <chrono>
#include <optional>

namespace muster {

class Wake {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::system_error if the system cannot provide another file descriptor.
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  /// Ends the current wait, or makes the next one return immediately. May be called on any thread
  /// and in signal handlers.
  void signal() const noexcept;
  /// Sleeps until signal() is called or `until` is reached. If `until` has no value, there is no
  /// time limit. Returns true if signal() was called. Several calls count as one.
  bool wait(std::optional<Clock::time_point> until) const noexcept;

 private:
  int fd_;
};

}  // namespace muster
