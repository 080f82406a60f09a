// Counts the states of saved ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "registry/state/state_format.h"

namespace muster {

struct IdStates {
  /// The number of states equal to 0, equal to `alive`, and greater than `parked`.
  std::uint32_t unused = 0, alive = 0, large = 0;
};

inline IdStates count_id_states(std::span<const std::byte> states) noexcept {
  IdStates all;
  while (!states.empty()) {  // in blocks of 240 states, for which byte counters are large enough
    const auto some = states.first(std::min<std::size_t>(states.size(), 240));
    std::uint8_t unused = 0, alive = 0, large = 0;
    for (const std::byte state : some) {
      unused = static_cast<std::uint8_t>(unused + (state == std::byte{0}));
      alive = static_cast<std::uint8_t>(alive + (state == std::byte{state_alive}));
      large = static_cast<std::uint8_t>(large + (state > std::byte{3}));
    }
    all = {all.unused + unused, all.alive + alive, all.large + large};
    states = states.subspan(some.size());
  }
  return all;
}

}  // namespace muster
