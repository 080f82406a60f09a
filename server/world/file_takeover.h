// A file of format 1 becomes one of format 2 at its first checkpoint; the original stays beside it.
#pragma once

#include <expected>
#include <string>

#include "server/world/database.h"

namespace muster {

/// Copies the world at `path` to `path`-format1 (where that is taken, to `path`-format1-2, -3 ...), and gives the copy's path. It
/// is on the disk when this returns; after an error there is none.
[[nodiscard]] std::expected<std::string, WorldError> keep_original(Database& database, const std::string& path,
                                                                   const std::string& vfs, const std::string& shown);

/// Makes the tables those of format 2, without rows of state, inside the caller's write transaction.
[[nodiscard]] std::expected<void, WorldError> make_format_2(Database& database);

/// Syncs the directory, so that names in it are on the disk.
[[nodiscard]] std::expected<void, WorldError> sync_directory(const std::string& directory, const std::string& shown);

}  // namespace muster
