// Describes the run of a world (World::play).
#pragma once

#include <cstdint>

namespace muster {

/// Describes the level to which a run will return.
struct Run {
  std::uint64_t sequence = 0;  ///< sequence number of the last input in the level
  std::uint64_t tick = 0;      ///< the level's tick
};

}  // namespace muster
