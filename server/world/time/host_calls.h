// Checks that calls of World::next_frame and World::poll come from one thread, one at a time, and
// not from a handler. Also measures how long the host has called neither.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "registry/observe/clock.h"

namespace muster {

class EntityRegistry;

class HostCalls {
 public:
  /// Begins a call of the function `what`, which lasts as long as this object. Stops the program
  /// with a message if called on a different thread than the first call, inside a handler, or
  /// inside another call.
  class Call {
   public:
    Call(HostCalls& calls, const char* what, const EntityRegistry& registry) : calls_(calls) {
      calls_.begin(what, registry);
    }
    ~Call() { calls_.idle_since_ns_.store(steady_ns(), std::memory_order_relaxed); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    HostCalls& calls_;
  };

  /// Returns a sentence about how long the host has made no call, if that is longer than
  /// patience_ns; otherwise an empty string. Any thread.
  std::string absence(std::uint64_t now_ns = steady_ns()) const;
  static constexpr std::uint64_t patience_ns = 5'000'000'000;

 private:
  void begin(const char* what, const EntityRegistry& registry);

  std::atomic<std::thread::id> owner_{};                    // none before the first call
  std::atomic<std::uint64_t> idle_since_ns_ = steady_ns();  // 0 during a call
};

}  // namespace muster
