#include "registry/state/field_change.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "schema/hash.h"
#include "schema/muster.h"

namespace muster {
namespace {

/// Returns the current field that receives the values of this field, as determined by LayoutChange.
const FieldDescriptor* field_now(const FieldDescriptor& then, const TypeDescriptor& then_type,
                                 const TypeDescriptor& now) {
  if (const FieldDescriptor* const same = field_named(now, then.name)) return same;
  const auto renamed = std::ranges::find_if(now.fields, [&](const FieldDescriptor& field) {
    return field.was == then.name && field_named(then_type, field.name) == nullptr;
  });
  return renamed == now.fields.end() ? nullptr : &*renamed;
}

using Value = std::array<std::uint8_t, 64>;

/// Converts one or two `values` of the field that `set` names.
std::expected<void, SchemaError> convert_field(SetField& set, std::span<Value* const> values, SavedTypes& types) {
  if (!types.is_saved(set.component)) return {};
  const auto reading = types.reading(set.component);
  if (!reading) return std::unexpected(reading.error());
  const TypeDescriptor &then = *reading->then, &now = *reading->now;
  if (reading->change == nullptr && now.id == then.id) return {};
  const FieldPlace* const place = types.then().place(then, set.field);
  if (!place || place->size != set.bytes) return {};
  const std::string path = path_now(
      place->path, then, [&](TypeId type) { return types.then().find(type); }, now,
      [&](TypeId type) { return types.now().find(type); });
  const auto place_now = types.now().place(now, path);
  if (path.empty() || !place_now) return {};
  if (place_now->size > sizeof(Value))
    return std::unexpected(SchemaError{
        now.name, path, "now has " + std::to_string(place_now->size) + " bytes, which a waiting SetField cannot hold"});
  for (Value* const value : values) {
    std::vector<std::byte> whole_then = then.default_bytes, whole_now(now.size);
    std::memcpy(whole_then.data() + place->offset, value->data(), place->size);
    if (reading->change)
      reading->change->apply(whole_then, whole_now);
    else
      whole_now = whole_then;
    value->fill(0);
    std::memcpy(value->data(), whole_now.data() + place_now->offset, place_now->size);
  }
  set.component = now.id;
  set.field = hash32(path);
  set.bytes = place_now->size;
  return {};
}

template <class M, class F>
auto with(std::span<std::byte> payload, F&& f) {
  M message;
  std::memcpy(&message, payload.data(), sizeof message);
  auto done = f(message);
  std::memcpy(payload.data(), &message, sizeof message);
  return done;
}

}  // namespace

std::string path_now(const std::string& path, const TypeDescriptor& then, const LayoutChange::Find& find_then,
                     const TypeDescriptor& now, const LayoutChange::Find& find_now) {
  const TypeDescriptor *old_type = &then, *new_type = &now;
  std::string made;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, end - at);
    const std::size_t bracket = std::min(part.find('['), part.size());
    if (old_type == nullptr || new_type == nullptr) return {};
    const FieldDescriptor* const old = field_named(*old_type, part.substr(0, bracket));
    const FieldDescriptor* const field = old ? field_now(*old, *old_type, *new_type) : nullptr;
    if (!field) return {};
    made += (made.empty() ? "" : ".") + field->name + part.substr(bracket);
    old_type = old->kind == FieldKind::structure ? find_then(old->type) : nullptr;
    new_type = field->kind == FieldKind::structure ? find_now(field->type) : nullptr;
    at = end + 1;
  }
  return made;
}

std::expected<void, SchemaError> convert_names(TypeId message, std::span<std::byte> payload, SavedTypes& types) {
  const auto renamed = [&](TypeId& component) -> std::expected<void, SchemaError> {
    if (!types.is_saved(component)) return {};
    const auto reading = types.reading(component);
    if (!reading) return std::unexpected(reading.error());
    component = reading->now->id;
    return {};
  };
  if (message == TypeTraits<SetField>::id)
    return with<SetField>(payload, [&](SetField& set) {
      const std::array values{&set.value};
      return convert_field(set, values, types);
    });
  if (message == TypeTraits<SetFieldIf>::id)
    return with<SetFieldIf>(payload, [&](SetFieldIf& set) {
      const std::array values{&set.set.value, &set.expected};
      return convert_field(set.set, values, types);
    });
  if (message == TypeTraits<Remove>::id)
    return with<Remove>(payload, [&](Remove& remove) { return renamed(remove.component); });
  if (message == TypeTraits<ComponentChanged>::id)
    return with<ComponentChanged>(payload, [&](ComponentChanged& changed) { return renamed(changed.component); });
  return {};
}

}  // namespace muster
