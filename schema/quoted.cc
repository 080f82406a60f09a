#include "schema/quoted.h"

namespace muster {

std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
      continue;
    }
    out += "\\x";
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string quoted(std::string_view text, char mark) { return mark + printable(text) + mark; }

}  // namespace muster
