// Copies a world file while it is in use.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/file/world_error.h"

namespace muster {

struct BackupReport {
  std::uint64_t checkpoint = 0;  ///< the last checkpoint in the copy
  std::uint64_t group = 0;       ///< the last journal group in the copy, or 0
  std::uint64_t sequence = 0;    ///< sequence of the last input in the copy
  std::uint64_t bytes = 0;       ///< size of the copy
};

/// Copies a consistent snapshot of the world at `from`, including its -wal, to a new file at `to`,
/// even while the world is being written to. When the copy gets its name, it is complete and on
/// disk, and it needs no -wal. Does not change `from` or delay a server that has `from` open. If
/// `to` exists, nothing is copied. WORLD-users, which contains hashes of tokens, is not copied.
[[nodiscard]] std::expected<BackupReport, WorldError> back_up(const std::string& from, const std::string& to);

}  // namespace muster
