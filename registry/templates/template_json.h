// JSON as flatc takes it, with the line of everything: what template files are read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Strings are unescaped; numbers, true, false and bare words keep their characters as `text`.
struct Json {
  enum class Kind : std::uint8_t { null, word, number, string, array, object };
  struct Member;
  Kind kind = Kind::null;
  std::uint32_t line = 1;
  std::string text;
  std::vector<Json> items;
  std::vector<Member> members;  ///< in the order they were written; no name twice

  const Json* find(std::string_view name) const noexcept;
  /// "an object", "the text 'x'": for errors.
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

/// One value and nothing behind it. Besides JSON: `//` and `/* */` comments, names and words without quotes, a comma before
/// a closing bracket, single quotes. Nested at most 64 deep. A byte order mark is skipped; text must be UTF-8.
[[nodiscard]] std::expected<Json, JsonError> parse_json(std::string_view text);

}  // namespace muster
