// Rewrites a world file without what a server does not need.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/store/world_error.h"

namespace muster {

struct CompactReport {
  std::uint64_t bytes_before = 0, bytes_after = 0;  ///< of the file and its -wal
  /// Past states to which `muster restore` could return.
  std::uint64_t saves_dropped = 0;
  /// EntityRegistry::hash at the checkpoint, which stays the same.
  std::uint64_t hash = 0;
};

/// Replaces the world at `path` by a file with the same state, history, level and journal, but
/// without free pages, past states, and rows and groups that are no longer needed. The new file is
/// made next to the old one, read from beginning to end, and then renamed, so that the path refers
/// to a complete world at any time. After an error, the file contains what it contained before.
/// Fails with `in_use` while a process has the world open.
[[nodiscard]] std::expected<CompactReport, WorldError> compact(const std::string& path);

}  // namespace muster
