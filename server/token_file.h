// The file with a server's own tokens. muster-server reads it so that its tokens survive restarts.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace muster {

struct Tokens {
  /// The token with every right. If empty, a token is generated.
  std::string all;
  /// {token, right}
  std::vector<std::pair<std::string, std::string>> more;
};

/// Reads the file at `path`. The first line is the token with every right; each further line that
/// is not empty is a right and a token. The error is a sentence.
[[nodiscard]] std::expected<Tokens, std::string> read_token_file(const std::string& path);

/// Creates the file with a new token, readable by its owner only, if nothing exists at `path`.
/// Returns true if it did. Never follows or replaces an existing entry. Other processes see either
/// no file or a complete one. The error is a sentence.
[[nodiscard]] std::expected<bool, std::string> make_token_file(const std::string& path);

}  // namespace muster
