// Parses the format of template files: JSON as accepted by flatc. Keeps line numbers for errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Strings are unescaped; for numbers, true, false and bare words, `text` is the source text.
struct Json {
  enum class Kind : std::uint8_t { null, word, number, string, array, object };
  struct Member;
  Kind kind = Kind::null;
  std::uint32_t line = 1;
  std::string text;
  std::vector<Json> items;
  std::vector<Member> members;  ///< members in source order; names are unique

  const Json* find(std::string_view name) const noexcept;
  /// A description for errors: "an object", "the string 'x'".
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

/// Parses one value, after which nothing may follow. Beyond JSON, accepts `//` and `/* */`
/// comments, unquoted names and words, a comma before a closing bracket, and single quotes. Nesting
/// is limited to 64 levels. A byte order mark is skipped; text must be UTF-8.
[[nodiscard]] std::expected<Json, JsonError> parse_json(std::string_view text);

}  // namespace muster
