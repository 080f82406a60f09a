// Access to the listener's thread without Asio.
#pragma once

#include <chrono>
#include <functional>

namespace muster {

/// Any thread. Calls that remain when the listener has stopped are never made.
class Loop {
 public:
  virtual ~Loop() = default;
  /// Calls `f` on the listener's thread, soon.
  virtual void post(std::move_only_function<void()> f) = 0;
  /// Calls `f` on the listener's thread after `time`.
  virtual void call_in(std::chrono::nanoseconds time, std::move_only_function<void()> f) = 0;
};

}  // namespace muster
