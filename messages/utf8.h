// Functions for UTF-8. All text in a world is UTF-8, but bytes read from files and sockets may have
// any content.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Returns the length in bytes of the first character of `text`, which must not be empty. Returns 0
/// if `text` does not begin with a character. Overlong forms, surrogates, and code points above
/// U+10FFFF are not characters.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// Returns the length in bytes of the longest prefix that consists of whole characters. The result
/// equals text.size() if the whole text is valid UTF-8.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text) noexcept;

/// Returns true if the bytes of a file look like UTF-16: they begin with a UTF-16 byte order mark
/// or with an ASCII character encoded in UTF-16.
[[nodiscard]] bool is_utf16(std::string_view bytes) noexcept;

/// Returns the reason why `bytes` is not valid text, such as "has a zero byte at byte 3" or "is not
/// valid UTF-8 at byte 3". Returns an empty string if `bytes` is valid.
[[nodiscard]] std::string text_fault(std::string_view bytes);

/// Returns true if the text, which must be UTF-8, contains invisible characters that affect how it
/// is displayed: control characters (including those above U+007F), line and paragraph separators,
/// or marks that set the writing direction.
[[nodiscard]] bool has_invisible(std::string_view text) noexcept;
/// Returns `text` without its invisible characters.
[[nodiscard]] std::string without_invisible(std::string_view text);

/// Returns `bytes` with each byte that is not part of a character replaced by U+FFFD, and with each
/// control character replaced by a space.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace muster
