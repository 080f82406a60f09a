#include "server/host/world_name.h"

#include <locale.h>
#include <wchar.h>
#include <wctype.h>

#include "messages/utf8.h"
#include "server/access/users.h"

namespace muster::hosting {

std::string why_not_a_world_name(std::string_view name) {
  if (name.empty()) return "a world needs a name";
  if (name.size() > world_name_bytes_max)
    return "a world's name may have at most " + std::to_string(world_name_bytes_max) + " bytes, and this one has " +
           std::to_string(name.size());
  if (const std::string fault = text_fault(name); !fault.empty())
    return "the name " + shown_name(name) + " cannot be a world's: it " + fault;
  const auto cannot = [&](const char* why) { return "a world cannot be named " + shown_name(name) + ": " + why; };
  if (has_invisible(name) || has_blank_letters(name)) return cannot("it has a character that cannot be seen");
  if (name.find_first_of("/\\") != std::string_view::npos) return cannot("a name has no slashes and no backslashes");
  if (name.front() == '.') return cannot("a name does not begin with a dot");
  if (name.front() == '-') return cannot("a name does not begin with a hyphen, like an option of a command");
  if (name.front() == ' ' || name.back() == ' ') return cannot("a name does not begin or end with a space");
  return {};
}

std::string in_lower_case(std::string_view name) {
  // The locale of the process may be another one, and is the same on all threads.
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string lower;
  for (std::size_t at = 0; at < name.size();) {
    const auto first = static_cast<unsigned char>(name[at]);
    const std::size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (at + bytes > name.size()) break;
    char32_t code = bytes == 1 ? first : first & (0xffu >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (static_cast<unsigned char>(name[at + i]) & 0x3f);
    at += bytes;
    if (code < 0x80)
      code = code >= 'A' && code <= 'Z' ? code - 'A' + 'a' : code;
    else if (utf8 != nullptr)
      code = static_cast<char32_t>(::towlower_l(static_cast<wint_t>(code), utf8));
    if (code < 0x80) {
      lower += static_cast<char>(code);
    } else if (code < 0x800) {
      lower += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    } else if (code < 0x10000) {
      lower += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
                static_cast<char>(0x80 | (code & 0x3f))};
    } else {
      lower += {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3f)),
                static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
    }
  }
  return lower;
}

std::string shown_name(std::string_view name) {
  std::string text = without_invisible(valid_utf8(name.substr(0, world_name_bytes_max)));
  if (name.size() > world_name_bytes_max) text += "...";
  return "\"" + text + "\"";
}

}  // namespace muster::hosting
