#include "messages/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace muster {

std::size_t utf8_length(std::string_view text) noexcept {
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

std::size_t utf8_prefix(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight;  // fast path, because most text is ASCII
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string valid_utf8(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
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

namespace {

bool is_invisible(std::string_view letter) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(letter[i]); };
  if (letter.size() == 1) return at(0) < 0x20 || at(0) == 0x7f;
  const auto tail = [&](std::size_t i) { return at(i) & 0x3fu; };
  const std::uint32_t code = letter.size() == 2   ? (at(0) & 0x1fu) << 6 | tail(1)
                             : letter.size() == 3 ? (at(0) & 0xfu) << 12 | tail(1) << 6 | tail(2)
                                                  : 0x10000;
  return (code >= 0x80 && code < 0xa0) || code == 0x61c || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/// Calls f(letter) for each character until f returns false.
template <class F>
void for_each_letter(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    if (!f(text.substr(0, length))) return;
    text.remove_prefix(std::min(length, text.size()));
  }
}

}  // namespace

bool is_utf16(std::string_view bytes) noexcept {
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) return true;
  return bytes.size() > 1 && (bytes[0] == '\0') != (bytes[1] == '\0');
}

std::string text_fault(std::string_view bytes) {
  if (const std::size_t zero = bytes.find('\0'); zero != bytes.npos) [[unlikely]]
    return "has a zero byte at byte " + std::to_string(zero);
  if (const std::size_t good = utf8_prefix(bytes); good != bytes.size()) [[unlikely]]
    return "is not valid UTF-8 at byte " + std::to_string(good);
  return {};
}

bool has_invisible(std::string_view text) noexcept {
  bool found = false;
  for_each_letter(text, [&](std::string_view letter) { return !(found = is_invisible(letter)); });
  return found;
}

std::string without_invisible(std::string_view text) {
  std::string shown;
  for_each_letter(text, [&](std::string_view letter) {
    if (!is_invisible(letter)) shown += letter;
    return true;
  });
  return shown;
}

}  // namespace muster
