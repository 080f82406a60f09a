#include "server/world/time/stop_signals.h"

#include <signal.h>

#include <cerrno>
#include <thread>

#include "server/world/time/wake.h"
#include "system/mutex.h"

namespace muster {
namespace {

/// A signal that stops worlds. The signal handler reads `before` only while `ours` is true.
struct CaughtSignal {
  int number;
  struct sigaction before = {};
  std::atomic<bool> ours = false;
};

// These variables are global because signal handlers belong to the process. The handler reads the
// list without locking the mutex. `handlers_running` tells a destructor that a handler may still be
// using the object.
CaughtSignal caught_signals[] = {{.number = SIGINT}, {.number = SIGTERM}};
std::atomic<StopSignals*> first_stopped = nullptr;
std::atomic<int> handlers_running = 0;
Mutex list_changes;

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<StopSignals*>::is_always_lock_free);

}  // namespace

void StopSignals::on_signal(int signal) noexcept {
  const int error = errno;
  ++handlers_running;
  for (StopSignals* each = first_stopped; each; each = each->next_) {
    each->stopped_.store(true, std::memory_order_release);
    each->wake_.signal();
  }
  for (CaughtSignal& each : caught_signals)
    if (each.number == signal && each.ours.exchange(false)) ::sigaction(signal, &each.before, nullptr);
  --handlers_running;
  errno = error;
}

StopSignals::StopSignals(std::atomic<bool>& stopped, const Wake& wake) noexcept : stopped_(stopped), wake_(wake) {
  const MutexLock lock(list_changes);
  next_ = first_stopped.load();
  first_stopped = this;
  for (CaughtSignal& each : caught_signals) {
    if (each.ours) continue;
    ::sigaction(each.number, nullptr, &each.before);
    each.ours = true;
    struct sigaction action = {};
    action.sa_handler = &StopSignals::on_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    for (const CaughtSignal& other : caught_signals) ::sigaddset(&action.sa_mask, other.number);
    ::sigaction(each.number, &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  const MutexLock lock(list_changes);
  std::atomic<StopSignals*>* at = &first_stopped;
  while (*at != this) at = &at->load()->next_;
  *at = next_.load();
  while (handlers_running > 0) std::this_thread::yield();
  if (first_stopped) return;
  for (CaughtSignal& each : caught_signals) {
    if (!each.ours.exchange(false)) continue;
    struct sigaction now = {};
    ::sigaction(each.number, nullptr, &now);
    if (now.sa_handler == &StopSignals::on_signal) ::sigaction(each.number, &each.before, nullptr);
  }
}

}  // namespace muster
