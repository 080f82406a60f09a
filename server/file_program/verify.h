// Checks whether a server would open a world file and recover its state. Reads every byte and does
// not change anything.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/world/store/file_meta.h"
#include "server/world/store/world_error.h"

namespace muster {

struct VerifyReport {
  FileMeta meta = {};
  bool running = false;      ///< true if a process has the world open, so that a copy was verified
  std::uint32_t format = 0;  ///< of the file
  bool older = false;        ///< true if the next save will convert the file
  std::uint64_t entities = 0;
  std::uint64_t hash = 0;    ///< EntityRegistry::hash at the checkpoint
  std::uint64_t groups = 0;  ///< number of journal groups after the checkpoint
  std::uint64_t inputs = 0, ticks = 0;
  std::uint64_t durable = 0;  ///< sequence number of the last input in the file

  /// One sentence for each problem that does not prevent a server from opening the world. Examples
  /// are an enum value that is out of range, and a file next to the world that contains later
  /// inputs (newer_rescued).
  std::vector<std::string> remarks = {};
};

/// Verifies the world at `path`. If a server would refuse the world, for example because its
/// journal cannot be replayed, returns the same error as the server. The memory needed equals that
/// of the running world. Does not run handlers, because this program does not contain them.
[[nodiscard]] std::expected<VerifyReport, WorldError> verify(const std::string& path);

}  // namespace muster
