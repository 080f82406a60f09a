// Creates random numbers that identify server starts, sessions, and worlds.
#pragma once

#include <cstdint>
#include <random>

namespace muster {

/// Returns 64 random bits from the operating system. The result is never 0. May be called from any
/// thread.
[[nodiscard]] inline std::uint64_t random_id() {
  std::random_device device;
  std::uint64_t id = 0;
  while (id == 0) id = (std::uint64_t{device()} << 32) | device();
  return id;
}

}  // namespace muster
