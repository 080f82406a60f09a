// Copies a world file while it is used.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/world_error.h"

namespace muster {

struct BackupReport {
  std::uint64_t checkpoint = 0;  ///< the last one in the copy
  std::uint64_t group = 0;       ///< the journal's last group in it, or 0
  std::uint64_t sequence = 0;    ///< of the last input in the copy
  std::uint64_t bytes = 0;       ///< of the copy
};

/// Copies one moment of the world at `from`, including its -wal, to a new file at `to`, even while
/// it is being written. The copy is whole and on the disk when it gets its name, and needs no -wal.
/// Does not change `from`, and does not delay a server that has it open. Does nothing if `to`
/// exists. Does not copy WORLD-users, which has hashes of tokens.
[[nodiscard]] std::expected<BackupReport, WorldError> back_up(const std::string& from, const std::string& to);

}  // namespace muster
