#include "messages/text/edit_text.h"

#include <cstring>
#include <span>
#include <vector>

#include "schema/hash.h"
#include "schema/muster.h"

namespace muster {
namespace {

/// Returns the component field whose path hashes to this value. The field is either a leaf or a
/// part that contains several leaves.
std::optional<FieldName> field_of(const TypeTable& types, const TypeDescriptor& component, std::uint32_t hash) {
  for (const Leaf& leaf : leaves(types, component))
    for (std::size_t end = 1; end <= leaf.path.size(); ++end) {
      if (end < leaf.path.size() && leaf.path[end] != '.' && leaf.path[end] != '[') continue;
      const std::string path = leaf.path.substr(0, end);
      if (hash32(path) != hash) continue;
      if (auto found = find_field(types, component.name + '.' + path)) return std::move(*found);
    }
  return std::nullopt;
}

}  // namespace

std::string place_text(const TypeTable& types, const FieldName& field, std::span<const std::byte> value,
                       ValueReferences& references) {
  std::vector<std::byte> whole = field.component->default_bytes;
  std::memcpy(whole.data() + field.place.offset, value.data(), field.place.size);
  std::string text;
  for (const Leaf& leaf : leaves(types, field.place, field.path))
    text += (text.empty() ? "" : ", ") + leaf_text(leaf, whole.data(), references);
  return text;
}

std::optional<std::string> edit_text(const TypeTable& types, TypeId message, const std::byte* value,
                                     ValueReferences& references) {
  if (message == TypeTraits<Remove>::id) {
    Remove remove;
    std::memcpy(&remove, value, sizeof remove);
    const TypeDescriptor* const component = types.find(remove.component);
    return component ? std::optional("component=" + component->name) : std::nullopt;
  }
  SetFieldIf edit;
  const bool is_conditional = message == TypeTraits<SetFieldIf>::id;
  if (is_conditional)
    std::memcpy(&edit, value, sizeof edit);
  else if (message == TypeTraits<SetField>::id)
    std::memcpy(&edit.set, value, sizeof edit.set);
  else
    return std::nullopt;
  const TypeDescriptor* const component = types.find(edit.set.component);
  if (!component || component->is_table) return std::nullopt;
  const auto field = field_of(types, *component, edit.set.field);
  if (!field || field->component != component || field->place.size != edit.set.bytes ||
      field->place.size > sizeof edit.set.value)
    return std::nullopt;
  std::string text = component->name + '.' + field->path + " = " +
                     place_text(types, *field, std::as_bytes(std::span(&edit.set.value, 1)), references);
  if (is_conditional)
    text += " if it is " + place_text(types, *field, std::as_bytes(std::span(&edit.expected, 1)), references);
  return text;
}

}  // namespace muster
