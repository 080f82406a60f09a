// Observes a registry on a separate thread, and reports an input that takes too long. A handler
// that does not return blocks the world, so only this separate thread can report which handler is
// running.
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

/// The watchdog runs from construction to destruction.
class Watchdog {
 public:
  /// The functions are called on the watchdog's thread.
  struct Host {
    std::function<std::optional<AtWork>()> at_work;  ///< returns RegistryReader::at_work

    /// Called with true when an input hangs, and with false when the input continues.
    std::function<void(bool on)> hangs;
    /// Called when a hang begins and when it ends. May be null.
    std::function<void(const std::string& sentence)> told = {};
  };
  /// `limit` is the time that an input may take. Time during which the whole process is stopped,
  /// for instance by a debugger, does not count. If the system cannot start another thread, the
  /// watchdog has no effect.
  Watchdog(std::chrono::nanoseconds limit, Host host);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Returns a message about the hanging input, or an empty string if no input is hanging. May be
  /// called on any thread.
  std::string text() const;

 private:
  void run();
  /// Checks the registry. `passed` is the time since the previous check.
  void look(std::chrono::nanoseconds passed);
  void say(std::string text);

  const std::chrono::nanoseconds limit_, pause_;
  const Host host_;
  // Used only by the watchdog's thread.
  std::uint64_t sequence_ = 0;           // sequence number of the current input
  std::chrono::nanoseconds in_work_{0};  // time spent on the current input so far
  bool busy_ = false, hangs_ = false;
  mutable Mutex mutex_;
  Condition ends_now_;
  std::string text_ MUSTER_GUARDED_BY(mutex_);
  bool ends_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// Returns a message such as "input 1020 has been in work for 5 s: in handler "game.hit" of
/// game.Damage, for #12:1".
std::string hang_text(const AtWork& work, std::chrono::nanoseconds time);

}  // namespace muster
