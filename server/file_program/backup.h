// Copies a world file while it is in use.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/file/world_error.h"

namespace muster {

struct BackupReport {
  std::uint64_t checkpoint = 0;  ///< the last checkpoint in the copy
  std::uint64_t group = 0;       ///< the journal's last group in the copy, or 0
  std::uint64_t sequence = 0;    ///< sequence of the last input in the copy
  std::uint64_t bytes = 0;       ///< size of the copy
};

/// Copies a consistent snapshot of the world at `from`, including its -wal, to a new file at `to`,
/// even while the world is being written to. The copy is complete and on disk when it gets its
/// name, and needs no -wal. Does not change `from`, and does not delay a server that has it open.
/// Does nothing if `to` exists. Does not copy WORLD-users, which has hashes of tokens.
[[nodiscard]] std::expected<BackupReport, WorldError> back_up(const std::string& from, const std::string& to);

}  // namespace muster
