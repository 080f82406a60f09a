// The first hundred bytes of an SQLite database, judged before SQLite sees the file.
//
//   0                   16          18       19      24     28      60             68
//   | "SQLite format 3\0" | page size | write | read | ... | pages | user_version | application_id | ... |  big-endian
#pragma once

#include <expected>
#include <string>

#include "server/world/world_error.h"

namespace muster {

/// Refuses what is no world of a format that this library reads: an empty file, something else, another application's
/// database, a newer format, a file that was cut off. Call it with the world's lock held: closing a second descriptor
/// of a file drops the locks that SQLite has on it in this process.
[[nodiscard]] std::expected<void, WorldError> check_header(const std::string& path, const std::string& shown);

/// Bytes of the file at `path`, 0 if there is none.
std::uint64_t file_bytes(const std::string& path) noexcept;

}  // namespace muster
