// Gives access to the listener's thread without depending on Asio.
#pragma once

#include <chrono>
#include <functional>

namespace muster {

/// Thread-safe. If a call is still pending when the listener stops, it is dropped.
class Loop {
 public:
  virtual ~Loop() = default;
  /// Calls `f` on the listener's thread as soon as possible.
  virtual void post(std::move_only_function<void()> f) = 0;
  /// Calls `f` on the listener's thread after `time` has passed.
  virtual void call_in(std::chrono::nanoseconds time, std::move_only_function<void()> f) = 0;
};

}  // namespace muster
