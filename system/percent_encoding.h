// Encodes text as part of a URL.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Returns `text` encoded as part of a URL. Letters, digits, and "-._~" are unchanged, and all
/// other bytes become %XX.
[[nodiscard]] inline std::string escaped(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    if (is_plain)
      made += c;
    else
      made.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return made;
}

}  // namespace muster
