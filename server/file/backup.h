// Copies a world file while it is used.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/world_error.h"

namespace muster {

struct BackupReport {
  std::uint64_t checkpoint = 0;  ///< the last one that is in the copy
  std::uint64_t group = 0;       ///< the journal's last group in it; 0: none behind the checkpoint
  std::uint64_t sequence = 0;    ///< of the last input that the copy contains
  std::uint64_t bytes = 0;       ///< of the copy
};

/// Copies the world at `from`, with what its -wal holds, to a new file at `to`: one moment of it, whoever writes meanwhile. The copy is
/// whole and on the disk when it has its name; it needs no -wal. `from` is left as it is, and a server that has it open is not
/// held up. Where there is something at `to`, nothing is done. WORLD-users, which has hashes of tokens, is not copied.
[[nodiscard]] std::expected<BackupReport, WorldError> back_up(const std::string& from, const std::string& to);

}  // namespace muster
