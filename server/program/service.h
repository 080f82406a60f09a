// Carries out what signals ask for while a world is served, and reports to the service manager, on
// a thread of its own. Neither the world thread nor the listener's thread waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/world/flush_visitor.h"

namespace muster {

class World;

class Service {
 public:
  /// Functions that are called on the service's thread. They must not throw.
  using Act = std::function<void()>;

  Service();
  /// Ends the thread once the act that it is carrying out has returned.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Must be called before start().

  /// Adds what happens at SIGHUP. All are called, in the order in which they were added. An act
  /// that fails must log that and leave everything as it was.
  void at_reload(Act act) { reload_.push_back(std::move(act)); }
  /// Adds what happens at SIGUSR1, before anything else that happens at SIGHUP.
  void at_reopen(Act act) { reopen_.push_back(std::move(act)); }
  /// Adds what happens at SIGUSR2.
  void at_drain(Act act) { drain_.push_back(std::move(act)); }
  /// Starts the thread. From now on, SIGUSR1, SIGUSR2 and, if `reloads`, SIGHUP are handled here.
  /// Those that have come since hold_signals() are handled at once.
  void start(bool reloads);

  /// Prevents the signals that a service handles from ending the process. Called early, because
  /// opening a world may take long.
  static void hold_signals(bool reloads);

  /// Must be called on the world thread, when the world begins to be served and before it is
  /// destroyed. In between, the service manager's watchdog receives a sign of life only if the
  /// world thread makes progress. `status` returns a line for the service manager, on the service's
  /// thread.
  void attach(World& world, std::function<std::string()> status);
  void detach();
  /// Tells the service manager that the server is ready.
  void tell_ready();

 private:
  class Progress final : public FlushVisitor {
   public:
    void before_flush() override { flushes.fetch_add(1, std::memory_order_relaxed); }
    void after_flush(EntityRegistry&) override {}
    std::atomic<std::uint64_t> flushes = 0;
  };

  void run();
  void handle(unsigned asked);
  void report();

  std::vector<Act> reload_, reopen_, drain_;
  Progress progress_;
  std::mutex mutex_;
  World* world_ = nullptr;               // guarded by mutex_
  std::function<std::string()> status_;  // guarded by mutex_
  std::uint64_t flushes_seen_ = 0;
  bool ready_ = false;  // guarded by mutex_
  std::string status_told_;
  const std::chrono::microseconds watchdog_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace muster
