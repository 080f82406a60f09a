// Looks at a registry from a thread of its own, and says so where one input is in work for long: a handler that does not return holds up
// everybody, and nobody else could tell which it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "registry/handlers/at_work.h"
#include "system/mutex.h"

namespace muster {

/// From construction to destruction.
class Watchdog {
 public:
  /// All called on the watchdog's thread.
  struct Host {
    std::function<std::optional<AtWork>()> at_work;              ///< EntityRegistry::at_work
    std::function<void(bool on)> hangs;                          ///< what is in work hangs; it does no longer
    std::function<void(const std::string& sentence)> told = {};  ///< when that begins, and when it is over; may be null
  };
  /// `limit`: for so long an input may be in work. Time in which the whole process stood still, as under a debugger, does not count. Where
  /// the system has no thread left, nobody watches.
  Watchdog(std::chrono::nanoseconds limit, Host host);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// What hangs, a sentence; empty: nothing does. Any thread.
  std::string text() const;

 private:
  void run();
  /// `passed`: time since the last look.
  void look(std::chrono::nanoseconds passed);
  void say(std::string text);

  const std::chrono::nanoseconds limit_, pause_;
  const Host host_;
  // The watchdog's thread alone.
  std::uint64_t sequence_ = 0;           // of the input that is in work
  std::chrono::nanoseconds in_work_{0};  // for so long
  bool busy_ = false, hangs_ = false;
  mutable Mutex mutex_;
  Condition ends_now_;
  std::string text_ MUSTER_GUARDED_BY(mutex_);
  bool ends_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// "input 1020 has been in work for 5 s: in handler "game.hit" of game.Damage, for #12:1"
std::string hang_text(const AtWork& work, std::chrono::nanoseconds time);

}  // namespace muster
