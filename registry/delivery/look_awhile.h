// What a thread does before it sleeps until others have something for it.
#pragma once

#include <cstdint>
#include <thread>

#include "registry/observe/clock.h"

namespace muster {

/// Returns when `ready` says so, or after a while. To wake a thread takes 50 us until it works, and who wakes it 15, where processors are
/// virtual; so a thread looks for as long as that would take, and the processor is for whoever else wants it meanwhile. `ready` is asked
/// without a lock.
template <class Ready>
void look_awhile(Ready ready) noexcept {
  constexpr double while_ns = 50'000;
  for (const std::uint64_t begin = steady_ns(); !ready() && ns_since(begin) < while_ns;) std::this_thread::yield();
}

}  // namespace muster
