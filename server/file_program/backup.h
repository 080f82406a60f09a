// Copies a world file while it is in use.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/file/world_error.h"

namespace muster {

struct BackupReport {
  std::uint64_t checkpoint = 0;  ///< number of the last checkpoint in the copy
  std::uint64_t group = 0;       ///< number of the last journal group in the copy, or 0 if there is
                                 ///< none
  std::uint64_t sequence = 0;    ///< sequence number of the last input in the copy
  std::uint64_t bytes = 0;       ///< size of the copy
};

/// Copies a consistent snapshot of the world at `from`, including its -wal, to a new file at `to`,
/// even while the world is being written to. The name `to` appears only once the copy is complete
/// and on disk, and the copy does not need a -wal. Does not change `from` or delay a server that
/// has `from` open. If `to` already exists, fails without copying anything. WORLD-users, which
/// contains hashes of tokens, is not copied.
[[nodiscard]] std::expected<BackupReport, WorldError> back_up(const std::string& from, const std::string& to);

}  // namespace muster
