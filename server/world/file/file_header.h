// Checks the first 100 bytes of an SQLite database before SQLite opens the file.
//
//   0                   16          18       19      24     28      60             68
//   | "SQLite format 3\0" | page size | write | read | ... | pages | user_version | application_id | ... |  big-endian
#pragma once

#include <expected>
#include <string>

#include "server/world/store/world_error.h"

namespace muster {

/// Fails unless the file is a world in a known format. Refuses empty and truncated files, files of
/// other types, other applications' databases, and newer formats. Must be called while the caller
/// holds the world's lock and before SQLite opens the file, because closing a second descriptor
/// releases SQLite's locks.
[[nodiscard]] std::expected<void, WorldError> check_header(const std::string& path, const std::string& shown);

/// Returns the size of the file at `path`, or 0 if it does not exist.
std::uint64_t file_bytes(const std::string& path) noexcept;

}  // namespace muster
