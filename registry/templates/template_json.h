// Parses the format of template files, which is JSON as accepted by flatc. Keeps line numbers for
// error messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Strings are unescaped. For numbers, true, false, and bare words, `text` is the source text.
struct Json {
  enum class Kind : std::uint8_t { null, word, number, string, array, object };
  struct Member;
  Kind kind = Kind::null;
  std::uint32_t line = 1;
  std::string text;
  std::vector<Json> items;
  std::vector<Member> members;  ///< in source order, with unique names

  const Json* find(std::string_view name) const noexcept;
  /// Returns a description for errors, such as "an object" or "the string 'x'".
  std::string shown() const;
};
struct Json::Member {
  std::string name;
  std::uint32_t line = 1;
  Json value;
};

struct JsonError {
  std::uint32_t line = 1;
  std::string what;
};

/// Parses a single value, which must not be followed by anything else. In addition to JSON, accepts
/// `//` and `/* */` comments, unquoted names and words, a comma before a closing bracket, and
/// single quotes. Nesting is limited to 64 levels. The text must be UTF-8; a byte order mark is
/// skipped.
[[nodiscard]] std::expected<Json, JsonError> parse_json(std::string_view text);

}  // namespace muster
