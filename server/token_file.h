// The file with a server's own tokens, which muster-server reads so that they stay the same from
// start to start.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace muster {

struct Tokens {
  /// Has every right. Empty: one is to be drawn.
  std::string all;
  /// {token, right}
  std::vector<std::pair<std::string, std::string>> more;
};

/// Reads the file at `path`. The first line is the token with every right; each further line that
/// is not empty is a right and a token. The error is a sentence.
[[nodiscard]] std::expected<Tokens, std::string> read_token_file(const std::string& path);

/// Makes the file with a new token, readable by its owner only, if nothing lies at `path`. Returns
/// whether it did. Never follows or replaces what lies there, and other processes see either no
/// file or a whole one. The error is a sentence.
[[nodiscard]] std::expected<bool, std::string> make_token_file(const std::string& path);

}  // namespace muster
