// The file that contains a server's own token. muster-server reads it so that the token survives
// restarts.
#pragma once

#include <expected>
#include <string>

namespace muster {

/// Reads the token from the file at `path`, which must contain a single line. The error is a
/// sentence.
[[nodiscard]] std::expected<std::string, std::string> read_token_file(const std::string& path);

/// If nothing exists at `path`, creates the file with a new token, readable only by its owner, and
/// returns true. Otherwise, returns false. Never follows or replaces an existing entry. Other
/// processes see either no file or a complete one. The error is a sentence.
[[nodiscard]] std::expected<bool, std::string> make_token_file(const std::string& path);

}  // namespace muster
