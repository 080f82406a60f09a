// Lets a thread poll for a while before it sleeps, in case other threads have work for it.
#pragma once

#include <cstdint>
#include <thread>

#include "registry/observe/clock.h"

namespace muster {

/// Returns when `ready` returns true or a certain time has passed. On virtual processors, a thread
/// starts running only 50 us after it is woken, and waking it takes the other thread 15 us.
/// Therefore, the calling thread polls for about that long, and yields the processor while polling.
/// `ready` is called without a lock.
template <class Ready>
void look_awhile(Ready ready) noexcept {
  constexpr double while_ns = 50'000;
  for (const std::uint64_t begin = steady_ns(); !ready() && ns_since(begin) < while_ns;) std::this_thread::yield();
}

}  // namespace muster
