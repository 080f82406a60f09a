// A packet of a game with rollback.
#pragma once

#include <cstdint>
#include <vector>

/// All inputs that the other player has not acknowledged, so a lost packet needs no repetition.
struct Packet {
  std::uint64_t first = 0;            ///< the tick of the first input
  std::vector<std::uint8_t> buttons;  ///< one input for each tick
  std::uint64_t acknowledged = 0;     ///< the last tick whose input the sender has
  std::uint64_t checked = 0;          ///< a confirmed tick, or 0
  std::uint64_t checksum = 0;         ///< of that tick
};
