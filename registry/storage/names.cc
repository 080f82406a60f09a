#include "registry/storage/names.h"

#include <charconv>

namespace muster {

std::string escape_name(std::string_view name) {
  std::string escaped;
  escaped.reserve(name.size());
  for (const char c : name) {
    if (c == '/' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

Entity Names::search(Entity parent, Text name) const noexcept {
  for (Entity child = hierarchy_.first_child(parent); child; child = hierarchy_.next_sibling(child))
    if (hierarchy_.name(child) == name) return child;
  return {};
}

void Names::take_in(Entity parent) {
  forget(parent);
  for (Entity child = hierarchy_.first_child(parent); child; child = hierarchy_.next_sibling(child))
    if (const Text name = hierarchy_.name(child)) by_name_.put({parent, name}, child);
}

void Names::remove_known(Entity parent, Text name, std::string_view bytes) noexcept {
  by_name_.erase({parent, name});
  const std::size_t tilde = bytes.rfind('~');
  if (tilde == std::string_view::npos) return;
  std::uint32_t suffix = 0;
  const char* const end = bytes.data() + bytes.size();
  const auto [stopped, error] = std::from_chars(bytes.data() + tilde + 1, end, suffix);
  if (error != std::errc{} || stopped != end) return;
  if (std::uint32_t* next = next_suffix_.find({parent, text_of(bytes.substr(0, tilde))}); next && suffix < *next)
    *next = suffix < 2 ? 2 : suffix;
}

Text Names::free_name(Entity parent, Text name, TextTable& texts) {
  if (!find(parent, name)) return name;
  const std::string base(texts.find(name));
  const std::uint32_t* known = next_suffix_.find({parent, name});
  for (std::uint32_t suffix = known ? *known : 2;; ++suffix) {
    const std::string candidate = base + '~' + std::to_string(suffix);
    if (find(parent, text_of(candidate))) continue;
    next_suffix_.put({parent, name}, suffix);
    return texts.intern(candidate);
  }
}

}  // namespace muster
