// Checks the first hundred bytes of an SQLite database before SQLite opens it.
//
//   0                   16          18       19      24     28      60             68
//   | "SQLite format 3\0" | page size | write | read | ... | pages | user_version | application_id | ... |  big-endian
#pragma once

#include <expected>
#include <string>

#include "server/world/world_error.h"

namespace muster {

/// Fails unless the file is a world in a known format: for an empty file, another kind of file,
/// another application's database, a newer format, or a truncated file. Call it with the world's
/// lock held and before SQLite opens the file: closing a second descriptor drops SQLite's locks.
[[nodiscard]] std::expected<void, WorldError> check_header(const std::string& path, const std::string& shown);

/// Returns the size of the file at `path`, or 0 if there is none.
std::uint64_t file_bytes(const std::string& path) noexcept;

}  // namespace muster
