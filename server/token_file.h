// Reads, creates and replaces the file that contains a server's own token. muster-server uses this
// file so that the token stays the same across restarts.
#pragma once

#include <expected>
#include <string>

namespace muster {

/// Reads the token from the file at `path`, which must contain a single line. On failure, the error
/// is a human-readable message.
[[nodiscard]] std::expected<std::string, std::string> read_token_file(const std::string& path);

/// If nothing exists at `path`, creates the file with a new token, readable only by its owner, and
/// returns true. Otherwise, returns false. Never follows or replaces an existing entry. Other
/// processes see either no file or a complete one. On failure, the error is a human-readable
/// message.
[[nodiscard]] std::expected<bool, std::string> make_token_file(const std::string& path);

/// Replaces the file at `path`, or the file to which a symbolic link there leads, by one that has
/// this token and is readable only by its owner. The new file is on the disk when the call returns.
/// On failure, the old file is unchanged, and the error is a human-readable message.
[[nodiscard]] std::expected<void, std::string> write_token_file(const std::string& path, const std::string& token);

}  // namespace muster
