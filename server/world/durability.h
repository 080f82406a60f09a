// How a running world records its inputs, and what a crash takes.
#pragma once

#include <cstdint>

namespace muster {

/// After a power cut or kill -9 the world comes back with the state at World::durable_sequence().
/// Later inputs are lost: at most
enum class Durability : std::uint8_t {
  commit,      ///< some ms: a group is written when the one before is on the disk
  batched,     ///< a tenth of a second, plus the time to write to the disk
  checkpoint,  ///< everything since the last commit: there is no journal
};

/// Behaviour of a world whose disk is too slow: if the waiting records reach their limit, or if the
/// journal reaches its limit while a save is still being written.
enum class DiskLags : std::uint8_t {
  wait,  ///< the world, and so the simulation, waits for the disk
  /// The world goes on without recording: World::recording_error says so, edits are refused, and a
  /// crash takes all later inputs. A save begins when the disk has written the waiting records. If
  /// it succeeds, later inputs are recorded again.
  go_on,
};

}  // namespace muster
