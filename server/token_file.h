// The file with a server's own token. muster-server reads it so that the token survives restarts.
#pragma once

#include <expected>
#include <string>

namespace muster {

/// Reads the token in the file at `path`, which must have a single line. The error is a sentence.
[[nodiscard]] std::expected<std::string, std::string> read_token_file(const std::string& path);

/// Creates the file with a new token, readable by its owner only, if nothing exists at `path`.
/// Returns true if it did. Never follows or replaces an existing entry. Other processes see either
/// no file or a complete one. The error is a sentence.
[[nodiscard]] std::expected<bool, std::string> make_token_file(const std::string& path);

}  // namespace muster
