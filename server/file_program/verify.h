// Checks whether a server would open a world file and recover its state. Reads every byte, and
// changes nothing.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/world/file/file_meta.h"
#include "server/world/file/world_error.h"

namespace muster {

struct VerifyReport {
  FileMeta meta = {};
  bool running = false;  ///< a process has the world open, so a copy was verified
  bool older = false;    ///< file format 1, which the next save will convert
  std::uint64_t entities = 0;
  std::uint64_t hash = 0;    ///< EntityRegistry::hash at the checkpoint
  std::uint64_t groups = 0;  ///< groups in the journal after the checkpoint
  std::uint64_t inputs = 0, ticks = 0;
  std::uint64_t durable = 0;  ///< sequence of the last input in the file

  /// One sentence for each deviation that does not prevent a server from opening the world: an
  /// impossible enum value, or a file next to it with later inputs of this world (newer_rescued).
  std::vector<std::string> remarks = {};
};

/// Returns the error with which a server would refuse the world, including for a journal that
/// cannot be replayed. Needs the same amount of memory as the running world. Does not run handlers,
/// because it does not have them.
[[nodiscard]] std::expected<VerifyReport, WorldError> verify(const std::string& path);

}  // namespace muster
