// Lets a thread poll before it sleeps until other threads have work for it.
#pragma once

#include <cstdint>
#include <thread>

#include "registry/observe/clock.h"

namespace muster {

/// Returns once `ready` returns true, or after some time. On virtual processors, a woken thread
/// starts after 50 us, and waking it takes the other thread 15 us. Therefore, a thread polls for
/// about the same time, and yields the processor while polling. `ready` is called without a lock.
template <class Ready>
void look_awhile(Ready ready) noexcept {
  constexpr double while_ns = 50'000;
  for (const std::uint64_t begin = steady_ns(); !ready() && ns_since(begin) < while_ns;) std::this_thread::yield();
}

}  // namespace muster
