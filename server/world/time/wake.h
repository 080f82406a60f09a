// How the thread that sleeps in World::next_frame is woken: from other threads and from signal handlers.
#pragma once

#include <chrono>
#include <optional>

namespace muster {

class Wake {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::system_error where the system has no descriptor left.
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  /// Any thread, and signal handlers. A signal that comes before the wait ends it at once.
  void signal() const noexcept;
  /// Sleeps until signal() or `until` (no value: for ever). True if it was signalled; several signals count as one.
  bool wait(std::optional<Clock::time_point> until) const noexcept;

 private:
  int fd_;
};

}  // namespace muster
