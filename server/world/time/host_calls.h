// Checks that World::next_frame and World::poll are called on one thread, one call at a time, and
// not from a handler. Also measures how long ago the host last called either of them.
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
  /// Marks a call to the function `what`. The call lasts as long as this object exists. Stops the
  /// program with a message if the call is made on a different thread than the first call, inside a
  /// handler, or inside another call.
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

  /// If the host has not made a call for longer than patience_ns, returns a message that states the
  /// elapsed time. Otherwise, returns an empty string. May be called on any thread.
  std::string absence(std::uint64_t now_ns = steady_ns()) const;
  static constexpr std::uint64_t patience_ns = 5'000'000'000;

 private:
  void begin(const char* what, const EntityRegistry& registry);

  std::atomic<std::thread::id> owner_{};                    // empty before the first call
  std::atomic<std::uint64_t> idle_since_ns_ = steady_ns();  // 0 during a call
};

}  // namespace muster
