#include "server/world/journal/cut_off_page.h"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "system/mutex.h"

namespace muster {
namespace {

// Signal handlers apply to the whole process, so the handler finds its data in global variables.
std::array<std::atomic<std::uintptr_t>, 64> guarded_pages;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
struct sigaction action_before;  // written while the handler is not installed
Mutex handler_mutex;
// Remains true even if another handler is later installed over this one.
bool installed MUSTER_GUARDED_BY(handler_mutex) = false;

bool any_guarded() noexcept {
  for (const auto& page : guarded_pages)
    if (page.load(std::memory_order_acquire) != 0) return true;
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const auto& each : guarded_pages) {
    const std::uintptr_t page = each.load(std::memory_order_acquire);
    if (page == 0 || info->si_code <= 0 || at < page || at - page >= guarded_page_bytes) continue;
    const int error = errno;
    const void* const zeros = ::mmap(reinterpret_cast<void*>(page), guarded_page_bytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = error;
    if (zeros != MAP_FAILED) return;
  }
  if ((action_before.sa_flags & SA_SIGINFO) != 0) return action_before.sa_sigaction(signal, info, context);
  if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN)
    return action_before.sa_handler(signal);
  // The raised signal is delivered when this handler returns.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void guard_page(void* page) noexcept {
  const MutexLock lock(handler_mutex);
  if (!installed) {
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    if (::sigaction(SIGBUS, &action, &action_before) != 0) return;
    installed = true;
  }
  for (auto& each : guarded_pages) {
    if (each.load(std::memory_order_relaxed) != 0) continue;
    each.store(reinterpret_cast<std::uintptr_t>(page), std::memory_order_release);
    return;
  }
}

void unguard_page(void* page) noexcept {
  const MutexLock lock(handler_mutex);
  for (auto& each : guarded_pages)
    if (each.load(std::memory_order_relaxed) == reinterpret_cast<std::uintptr_t>(page))
      each.store(0, std::memory_order_release);
  if (!installed || any_guarded()) return;
  struct sigaction now{};
  if (::sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error)
    installed = ::sigaction(SIGBUS, &action_before, nullptr) != 0;
}

}  // namespace muster
