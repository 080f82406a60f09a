// Texts of a world are UTF-8. Bytes from files and sockets may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Returns the length in bytes of the first character of `text`, which must not be empty, or 0 if
/// it does not begin with a character. Overlong forms, surrogates and numbers beyond U+10FFFF are
/// not characters.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// Returns the number of bytes at the beginning that are whole characters: text.size() if all of it
/// is UTF-8.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text) noexcept;

/// Returns true if the bytes of a file begin as UTF-16: with a byte order mark, or with an ASCII
/// character in it.
[[nodiscard]] bool is_utf16(std::string_view bytes) noexcept;

/// Returns why the bytes of a file are not a UTF-8 text: "it is UTF-16, not UTF-8", "it has a zero
/// byte at byte 3" or "it is no UTF-8 at byte 7". Returns an empty text if they are one. A byte
/// order mark of UTF-8 is allowed.
[[nodiscard]] std::string encoding_fault(std::string_view bytes);

/// Returns true if the text, which must be UTF-8, has invisible characters that affect how it is
/// shown: control characters (also above U+007F), line and paragraph separators, marks for the
/// direction of writing.
[[nodiscard]] bool has_invisible(std::string_view text) noexcept;
/// Returns the text without invisible characters.
[[nodiscard]] std::string without_invisible(std::string_view text);

/// Returns the text with U+FFFD for each byte that is not part of a character, and a space for each
/// control character.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace muster
