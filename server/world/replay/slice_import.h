// Makes a world file of a slice, which is how a world moves as one file: `muster export` and
// `muster import`.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/store/world_error.h"

namespace muster {

struct ImportReport {
  std::string world;           ///< FileMeta::world, which is the same in all copies of a world
  std::uint64_t sequence = 0;  ///< of the last input
  std::uint64_t tick = 0;      ///< of the checkpoint
  std::uint64_t entities = 0;  ///< at the checkpoint
  std::uint64_t hash = 0;      ///< EntityRegistry::hash at the checkpoint
  std::uint64_t inputs = 0;    ///< after the checkpoint; the first start does them again
  std::uint64_t steps = 0;     ///< that can be undone or redone
};

/// Writes the state, the journal and the history of the slice `from` to a new world file at `to`.
/// Reads everything first, so that a slice that a server would refuse leaves nothing behind. The
/// name `to` appears once the file is complete and on disk. The file lacks what a slice lacks:
/// users, requests of sessions, edits of the last run, and past states. Refuses a slice that was
/// made during a run, because it lacks the level.
[[nodiscard]] std::expected<ImportReport, WorldError> import_slice(const std::string& from, const std::string& to);

}  // namespace muster
