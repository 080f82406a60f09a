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

/// What a world does whose disk is slower than what it is to write: where so much waits for it that more would need memory without end, or
/// where the journal is as long as it may be and a save is still being written.
enum class DiskLags : std::uint8_t {
  wait,  ///< it waits for the disk, and with it the simulation
  /// It goes on, and nothing more is recorded: World::recording_error says so, edits are refused, and a crash takes what comes. A save is begun as
  /// soon as the disk is done with what waited; where that succeeds, what comes after it is recorded again.
  go_on,
};

}  // namespace muster
