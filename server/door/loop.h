// Gives access to the listener's thread without depending on Asio.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace muster {

/// Thread-safe, except for run_beside(). If a call is still pending when the listener stops, it is
/// dropped.
class Loop {
 public:
  virtual ~Loop() = default;
  /// Calls `f` on the listener's thread as soon as possible.
  virtual void post(std::move_only_function<void()> f) = 0;
  /// Calls `f` on the listener's thread after `time` has passed.
  virtual void call_in(std::chrono::nanoseconds time, std::move_only_function<void()> f) = 0;

  enum class Beside : std::uint8_t {
    users,  ///< changes of the list of users
    files,  ///< files that are served over HTTP
  };
  /// Calls `work` on another thread, where it may wait for the disk, and then `then` on the
  /// listener's thread. The calls with the same `which` are made one after another. If the listener
  /// stops first, `then` is not called. `work` must own what it uses, because it may still run when
  /// the listener no longer exists. Must be called on the listener's thread.
  virtual void run_beside(Beside which, std::move_only_function<void()> work, std::move_only_function<void()> then) {
    static_cast<void>(which);
    work();
    post(std::move(then));
  }
};

}  // namespace muster
