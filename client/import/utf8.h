// Names in files are bytes of any encoding; texts of a world are UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The text with every byte that is no part of a UTF-8 character replaced by U+FFFD, and control characters by spaces.
std::string valid_utf8(std::string_view bytes);

}  // namespace muster
