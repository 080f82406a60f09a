#include "client/import/utf8.h"

#include <cstddef>
#include <cstdint>

namespace muster {
namespace {

/// Bytes of the character that `text` begins with; 0 where it begins with none. Overlong forms, surrogates and numbers
/// beyond U+10FFFF are none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const std::uint8_t second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    const auto first = static_cast<std::uint8_t>(bytes[0]);
    if (length == 0)
      result += "\xef\xbf\xbd";
    else if (first < 0x20 || first == 0x7f)
      result += ' ';
    else
      result += bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace muster
