// Defines the options that determine how a running world records its inputs, and therefore how much
// can be lost in a crash.
#pragma once

#include <cstdint>

namespace muster {

/// After a power failure or kill -9, the world recovers to its state at World::durable_sequence(),
/// and later inputs are lost. For each value, the comment states how much can be lost at most.
enum class Durability : std::uint8_t {
  each_flush,  ///< a few ms; each group is written once the previous one is on disk
  batched,     ///< a tenth of a second, plus the time needed to write to disk
  checkpoint,  ///< everything since the last save, because there is no journal
};

/// Determines how a world behaves if its disk is too slow. A disk is too slow if the pending
/// records reach their limit, or if the journal reaches its limit while a save is still being
/// written.
enum class DiskLags : std::uint8_t {
  wait,  ///< the world, and therefore the simulation, waits for the disk

  /// The world continues without recording. World::recording_error reports this condition, edits
  /// are refused, and a crash loses all later inputs. A save begins once the pending records are on
  /// disk. If the save succeeds, recording resumes.
  go_on,
};

}  // namespace muster
