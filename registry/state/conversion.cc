#include "registry/state/conversion.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "messages/number_kinds.h"

namespace muster {

OldValue::Place OldValue::place(std::string_view path) const {
  const TypeDescriptor* type = &type_;
  std::size_t offset = 0;
  for (;;) {
    const std::string_view part = path.substr(0, path.find('.'));
    const std::string_view name = part.substr(0, part.find('['));
    if (type == nullptr) return {};
    const auto field =
        std::ranges::find(type->fields, name, [](const FieldDescriptor& f) { return std::string_view(f.name); });
    if (field == type->fields.end()) return {};
    std::uint32_t element = 0;
    if (name.size() != part.size()) {
      const auto [end, error] = std::from_chars(part.data() + name.size() + 1, part.data() + part.size(), element);
      if (error != std::errc() || element >= field->count) return {};
    }
    offset += field->offset + std::size_t{element} * field->size;
    if (offset + field->size > bytes_.size()) return {};
    if (part.size() == path.size()) return {&*field, bytes_.data() + offset};
    type = field->kind == FieldKind::structure ? find_(field->type) : nullptr;
    path.remove_prefix(part.size() + 1);
  }
}

bool OldValue::has(std::string_view path) const { return place(path).field != nullptr; }

double OldValue::number(std::string_view path) const {
  const Place found = place(path);
  double number = 0;
  if (found.field)
    with_number(
        found.field->kind, found.at,
        [&] { number = found.field->kind == FieldKind::boolean && *found.at != std::byte{0} ? 1 : 0; },
        [&](auto value) { number = static_cast<double>(value); });
  return number;
}

std::int64_t OldValue::integer(std::string_view path) const {
  const Place found = place(path);
  std::int64_t number = 0;
  if (!found.field) return number;
  if (found.field->kind == FieldKind::text) return read_number<std::int64_t>(found.at);
  with_number(
      found.field->kind, found.at,
      [&] { number = found.field->kind == FieldKind::boolean && *found.at != std::byte{0}; },
      [&](auto value) {
        if constexpr (std::is_integral_v<decltype(value)>) number += value;  // `number` was 0
      });
  return number;
}

Entity OldValue::entity(std::string_view path) const {
  const Place found = place(path);
  Entity entity;
  if (found.field && found.field->kind == FieldKind::entity) std::memcpy(&entity, found.at, sizeof entity);
  return entity;
}

std::string_view OldValue::name(std::string_view path) const {
  const Place found = place(path);
  if (!found.field || !found.field->enumeration) return {};
  const auto& values = found.field->enumeration->values;
  const auto value = std::ranges::find(values, integer(path), &EnumValue::value);
  return value == values.end() ? std::string_view() : std::string_view(value->name);
}

}  // namespace muster
