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
  const Key of{parent, text_of(bytes.substr(0, tilde))};
  FreeSuffixes* const known = suffixes_.find(of);
  if (!known) return;
  known->give_back(suffix);
  if (known->empty()) suffixes_.erase(of);
}

Text Names::free_name(Entity parent, Text name, TextTable& texts) {
  if (!find(parent, name)) return name;
  const std::string base(texts.find(name));
  FreeSuffixes* known = suffixes_.find({parent, name});
  if (!known) known = &suffixes_.put({parent, name}, {});
  for (;; known->take()) {
    ++tried_;
    const std::string candidate = base + '~' + std::to_string(known->smallest());
    if (!find(parent, text_of(candidate))) return texts.intern(candidate);
  }
}

}  // namespace muster
