// Copies a world file while it is in use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/world/store/world_error.h"

namespace muster {

struct BackupReport {
  std::uint64_t checkpoint = 0;  ///< number of the last checkpoint in the copy
  std::uint64_t group = 0;       ///< number of the last journal group in the copy, or 0 if there is
                                 ///< none
  std::uint64_t sequence = 0;    ///< sequence number of the last input in the copy
  std::uint64_t bytes = 0;       ///< size of the copy
  bool has_users = false;        ///< true if the list of users was copied as well
};

/// Copies a consistent snapshot of the world at `from`, including its -wal, to a new file at `to`,
/// even while the world is being written to. The name `to` appears only once the copy is complete
/// and on disk, and the copy does not need a -wal. Does not change `from` or delay a server that
/// has `from` open. If `to` already exists, fails without copying anything. If there is a list of
/// users, WORLD-users, it is copied to `to`-users, which only its owner can read. The list contains
/// every user whom the copied world mentions.
[[nodiscard]] std::expected<BackupReport, WorldError> back_up(const std::string& from, const std::string& to);

/// Returns the path of a copy in `folder` whose name contains the time, such as
/// "town-20260301T033000Z.muster".
std::string dated_copy(const std::string& from, const std::string& folder, std::chrono::system_clock::time_point now);
/// Removes the oldest dated copies of the world `from` in `folder`, with their lists of users,
/// until at most `count` remain. Returns the paths of the removed copies. On failure, the error
/// names the file that could not be removed.
[[nodiscard]] std::expected<std::vector<std::string>, WorldError> remove_old_copies(const std::string& from,
                                                                                    const std::string& folder,
                                                                                    std::size_t count);

}  // namespace muster
