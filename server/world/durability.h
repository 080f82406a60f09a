// What a world that runs keeps of its inputs, and what a crash takes.
#pragma once

#include <cstdint>

namespace muster {

/// After a power cut or kill -9 the world comes back as of World::durable_sequence(). What lies behind it is lost: at most
enum class Durability : std::uint8_t {
  commit,   ///< what came since the last group, which is written as soon as the disk has taken the one before: some ms
  batched,  ///< a tenth of a second, and what the disk then takes
  checkpoint,  ///< everything since the last commit of the state: there is no journal
};

}  // namespace muster
