// Texts of a world are UTF-8. Bytes from files and sockets may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Bytes of the character that `text`, which is not empty, begins with; 0 where it begins with none. Overlong forms,
/// surrogates and numbers beyond U+10FFFF are none.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// How many bytes from the beginning are whole characters: text.size() where all of it is UTF-8.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text) noexcept;

/// Returns true if the bytes of a file begin as UTF-16: with its byte order mark, or with a character of ASCII in it.
[[nodiscard]] bool is_utf16(std::string_view bytes) noexcept;

/// Returns why the bytes of a file are no UTF-8 text: "it is UTF-16, not UTF-8", "it has a zero byte at byte 3" or
/// "it is no UTF-8 at byte 7". Returns an empty text if they are one. A byte order mark of UTF-8 is allowed.
[[nodiscard]] std::string encoding_fault(std::string_view bytes);

/// Whether the text, which is UTF-8, has what is no letter and does something to those beside it where it is shown: control characters (also
/// those above U+007F), line and paragraph separators, marks that turn the direction of writing.
[[nodiscard]] bool has_invisible(std::string_view text) noexcept;
/// The text without those.
[[nodiscard]] std::string without_invisible(std::string_view text);

/// The text with every byte that is no part of a character replaced by U+FFFD, and control characters by spaces.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace muster
