// Formats names and values from users so that they can be part of an error message.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Returns the string with control characters escaped, as in \x1b, so that a name cannot send
/// control codes to a terminal.
std::string printable(std::string_view text);

/// Returns printable(text) between two `mark` characters.
std::string quoted(std::string_view text, char mark = '\'');

}  // namespace muster
