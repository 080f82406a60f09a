// The clock used for measurements. The measured times are not part of the state.
#pragma once

#include <chrono>
#include <cstdint>

namespace muster {

/// Returns the time of a clock that never goes backward. Only differences between times are
/// meaningful. May be called from any thread.
inline std::uint64_t steady_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}
inline double ns_since(std::uint64_t begin_ns) noexcept { return static_cast<double>(steady_ns() - begin_ns); }

}  // namespace muster
