#include "messages/type_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "messages/type_index.h"

namespace muster {
namespace {

bool is_signed(FieldKind kind) {
  return kind == FieldKind::int8 || kind == FieldKind::int16 || kind == FieldKind::int32 || kind == FieldKind::int64;
}

ValueRule enum_rule(const FieldDescriptor& field) {
  const EnumDescriptor& values = *field.enumeration;
  ValueRule rule{.kind = values.bit_flags ? ValueRule::Kind::flags : ValueRule::Kind::enumerated,
                 .size = static_cast<std::uint8_t>(field.size),
                 .is_signed = is_signed(field.kind),
                 .enumeration = &values,
                 .path = {}};
  bool first = true;
  for (const EnumValue& value : values.values) {
    rule.mask |= static_cast<std::uint64_t>(value.value);
    rule.min = first ? value.value : std::min(rule.min, value.value);
    rule.max = first ? value.value : std::max(rule.max, value.value);
    first = false;
  }
  const std::uint64_t span = static_cast<std::uint64_t>(rule.max) - static_cast<std::uint64_t>(rule.min);
  rule.gaps = values.values.empty() || span + 1 != values.values.size();
  return rule;
}

/// The rules and limits of one type, and a map from the hashes of paths to the places in the type.
/// Computed on first use.
struct Places {
  std::vector<ValueRule> rules;
  std::vector<ValueLimit> limits;
  std::once_flag made;
  std::unordered_map<FieldId, FieldPlace> by_id;
};

/// Returns the names of a type's fields, separated by commas.
std::string list_fields(const TypeDescriptor& type) {
  std::string list;
  for (const FieldDescriptor& field : type.fields) list += (list.empty() ? "" : ", ") + field.name;
  return list;
}

FieldPlace whole(const FieldDescriptor& field, std::uint32_t base) {
  return {&field, base + field.offset, field.size * field.count, field.count, {}};
}
FieldPlace element(const FieldDescriptor& field, std::uint32_t base, std::uint32_t index) {
  return {&field, base + field.offset + index * field.size, field.size, 1, {}};
}

}  // namespace

struct TypeTable::Impl {
  std::deque<Schema> loaded;
  std::vector<std::vector<std::byte>> schemas;
  std::vector<const TypeDescriptor*> types;
  std::unordered_map<std::string_view, const TypeDescriptor*> by_name;
  std::unordered_map<TypeId, Places> places;                      // references to its values stay
                                                                  // valid when it grows
  std::unordered_map<TypeId, const TypeDescriptor*> by_presence;  // enableable types, keyed by
                                                                  // presence_id
  TypeIndex by_id;
  // 0 if not computed yet; several readers may compute it concurrently
  std::atomic<std::uint64_t> fingerprint = 0;

  /// Returns an error if the id or presence_id of a newly added type is already taken.
  std::optional<SchemaError> meeting_presence_id(const std::vector<const TypeDescriptor*>& fresh) const;
  void collect_rules(const TypeDescriptor& type, std::uint32_t base, const std::string& prefix,
                     std::vector<ValueRule>& out) const;
  void collect_limits(const TypeDescriptor& type, std::uint32_t base, std::vector<ValueLimit>& out) const;
  void collect(const TypeDescriptor& type, std::uint32_t base, const std::string& prefix, Places& out) const {
    const auto add = [&](const std::string& path, const FieldPlace& place) {
      // If two paths have the same hash, neither path can be addressed by its hash. A client must
      // then set the whole struct that contains them.
      auto [at, fresh] = out.by_id.try_emplace(hash32(path), place);
      if (fresh)
        at->second.path = path;
      else
        at->second.field = nullptr;
    };
    for (const FieldDescriptor& field : type.fields) {
      const std::string path = prefix + field.name;
      const TypeDescriptor* inner = field.kind == FieldKind::structure ? by_id.find(field.type) : nullptr;
      add(path, whole(field, base));
      if (!field.is_array) {
        if (inner != nullptr) collect(*inner, base + field.offset, path + ".", out);
        continue;
      }
      for (std::uint32_t i = 0; i < field.count; ++i) {
        const std::string indexed = path + "[" + std::to_string(i) + "]";
        const FieldPlace place = element(field, base, i);
        add(indexed, place);
        if (inner != nullptr) collect(*inner, place.offset, indexed + ".", out);
      }
    }
  }
};

/// `fresh` comes from a successfully loaded schema, so its own types have distinct ids.
std::optional<SchemaError> TypeTable::Impl::meeting_presence_id(const std::vector<const TypeDescriptor*>& fresh) const {
  for (const TypeDescriptor* type : fresh) {
    const auto kept = by_presence.find(type->id);
    const TypeDescriptor* other = kept == by_presence.end() ? nullptr : kept->second;
    if (!other && type->enableable) {
      const TypeId id = presence_id(*type);
      const auto same = by_presence.find(id);
      other = same == by_presence.end() ? by_id.find(id) : same->second;
    }
    if (other)
      return SchemaError{type->name,
                         {},
                         "collides with " + other->name +
                             " in the id that records which entities have an enableable component: rename one of them"};
  }
  return std::nullopt;
}

/// Appends the rules for one value of `type` at offset `base`.
void TypeTable::Impl::collect_rules(const TypeDescriptor& type, std::uint32_t base, const std::string& prefix,
                                    std::vector<ValueRule>& out) const {
  const auto padding = [&](std::uint32_t from, std::uint32_t to, std::string path) {
    if (from < to) out.push_back({.offset = base + from, .count = to - from, .path = std::move(path)});
  };
  std::uint32_t end = 0;
  std::string last;
  for (const FieldDescriptor& field : type.fields) {
    padding(end, field.offset, last);
    last = prefix + field.name;
    end = field.offset + field.size * field.count;
    if (field.kind == FieldKind::structure) {
      const TypeDescriptor* inner = by_id.find(field.type);
      for (std::uint32_t i = 0; inner != nullptr && i < field.count; ++i)
        collect_rules(*inner, base + field.offset + i * field.size,
                      field.is_array ? last + "[" + std::to_string(i) + "]." : last + ".", out);
    } else if (field.kind == FieldKind::boolean || field.enumeration != nullptr) {
      ValueRule rule =
          field.enumeration != nullptr ? enum_rule(field) : ValueRule{.kind = ValueRule::Kind::boolean, .path = {}};
      rule.offset = base + field.offset;
      rule.count = field.count;
      rule.path = last;
      out.push_back(std::move(rule));
    }
  }
  padding(end, type.size, last);
}

/// Appends the limits for one value of `type` at offset `base`.
void TypeTable::Impl::collect_limits(const TypeDescriptor& type, std::uint32_t base,
                                     std::vector<ValueLimit>& out) const {
  for (const FieldDescriptor& field : type.fields) {
    const std::uint32_t offset = base + field.offset;
    if (field.kind == FieldKind::structure) {
      const TypeDescriptor* inner = by_id.find(field.type);
      for (std::uint32_t i = 0; inner != nullptr && i < field.count; ++i)
        collect_limits(*inner, offset + i * field.size, out);
      continue;
    }
    const bool is_float = field.kind == FieldKind::float32 || field.kind == FieldKind::float64;
    const bool reserved = field.name == "reserved" && type.name.starts_with("muster.");
    if (!is_float && !reserved && !field.has_range) continue;
    const bool joins = is_float && !reserved && !field.has_range && !out.empty() && out.back().kind == field.kind &&
                       !out.back().reserved && !out.back().field->has_range &&
                       out.back().offset + out.back().count * field.size == offset;
    if (joins)
      out.back().count += field.count;
    else
      out.push_back(
          {.kind = field.kind, .reserved = reserved, .offset = offset, .count = field.count, .field = &field});
  }
}

TypeTable::TypeTable() : impl_(std::make_unique<Impl>()) {}
TypeTable::~TypeTable() = default;

SchemaError layout_difference(const TypeDescriptor& known, const TypeDescriptor& other, const std::string& where) {
  const auto error = [&](std::string field, std::string what) {
    return SchemaError{known.name, std::move(field), std::move(what)};
  };
  if (known.is_table != other.is_table)
    return error({},
                 known.is_table ? "is a table here and a struct " + where : "is a struct here and a table " + where);
  if (known.enableable != other.enableable)
    return error({}, (known.enableable ? "is enableable here, but not " : "is not enableable here, but is ") + where);
  for (std::size_t i = 0; i < std::max(known.fields.size(), other.fields.size()); ++i) {
    if (i >= other.fields.size()) return error(known.fields[i].name, "is missing " + where);
    if (i >= known.fields.size()) return error(other.fields[i].name, "is new " + where);
    const FieldDescriptor &a = known.fields[i], &b = other.fields[i];
    if (a.name != b.name) return error(a.name, "is called " + b.name + " " + where);
    if (a.kind != b.kind || a.element != b.element || a.type != b.type)
      return error(a.name, "has a different type " + where);
    if (a.offset != b.offset || a.slot != b.slot)
      return error(a.name, "is at " + std::to_string(a.is_array || a.slot == 0 ? a.offset : a.slot) + ", but at " +
                               std::to_string(b.is_array || b.slot == 0 ? b.offset : b.slot) + " " + where);
    if (a.count != b.count || a.size != b.size)
      return error(a.name, "has " + std::to_string(a.count) + " elements of " + std::to_string(a.size) +
                               " bytes, but " + std::to_string(b.count) + " of " + std::to_string(b.size) + " " +
                               where);
  }
  return error({}, "has a different layout (" + std::to_string(known.size) + " bytes; " + std::to_string(other.size) +
                       " " + where + ")");
}

std::expected<void, SchemaError> TypeTable::add_schema(std::span<const std::byte> bfbs) {
  std::expected<Schema, SchemaError> schema = load_schema(bfbs);
  if (!schema) return std::unexpected(std::move(schema.error()));

  std::vector<const TypeDescriptor*> fresh;
  for (const TypeDescriptor& type : schema->types) {  // a successfully loaded schema has no
                                                      // duplicate ids
    const TypeDescriptor* known = find(type.id);
    if (known == nullptr) {
      fresh.push_back(&type);
      continue;
    }
    if (known->name != type.name)
      return std::unexpected(
          SchemaError{type.name, {}, "has the same type id as " + known->name + ": rename one of them"});
    if (known->fingerprint != type.fingerprint)
      return std::unexpected(layout_difference(*known, type, "in the added schema"));
  }
  if (fresh.empty()) return {};
  if (auto met = impl_->meeting_presence_id(fresh)) return std::unexpected(std::move(*met));

  impl_->loaded.push_back(std::move(*schema));
  impl_->schemas.emplace_back(bfbs.begin(), bfbs.end());
  for (const TypeDescriptor* type : fresh) {
    impl_->types.push_back(type);
    impl_->by_name.emplace(type->name, type);
    impl_->places.try_emplace(type->id);
    if (type->enableable) impl_->by_presence.emplace(presence_id(*type), type);
  }
  impl_->by_id.add(impl_->types, fresh.size());
  impl_->fingerprint.store(0, std::memory_order_relaxed);
  for (const TypeDescriptor* type : fresh)
    if (!type->is_table) {
      impl_->collect_rules(*type, 0, "", impl_->places[type->id].rules);
      impl_->collect_limits(*type, 0, impl_->places[type->id].limits);
    }
  return {};
}

void TypeTable::take_back(const Mark& mark) {
  std::vector<const TypeDescriptor*>& types = impl_->types;
  if (types.size() == mark.types) return;
  for (const TypeDescriptor* type : std::span(types).subspan(mark.types)) {
    impl_->by_name.erase(type->name);
    impl_->places.erase(type->id);
    if (type->enableable) impl_->by_presence.erase(presence_id(*type));
  }
  types.resize(mark.types);
  impl_->by_id = {};
  impl_->by_id.add(types, types.size());
  impl_->schemas.resize(mark.schemas);
  while (impl_->loaded.size() > mark.schemas) impl_->loaded.pop_back();
  impl_->fingerprint.store(0, std::memory_order_relaxed);
}

const TypeDescriptor* TypeTable::find(TypeId id) const noexcept { return impl_->by_id.find(id); }

const TypeDescriptor* TypeTable::find(std::string_view full_name) const noexcept {
  const auto at = impl_->by_name.find(full_name);
  return at == impl_->by_name.end() ? nullptr : at->second;
}

const TypeDescriptor* TypeTable::resolve(std::string_view name, std::vector<const TypeDescriptor*>* candidates) const {
  if (const TypeDescriptor* exact = find(name)) return exact;
  std::vector<const TypeDescriptor*> fitting;
  for (const TypeDescriptor* type : impl_->types) {
    const std::string_view full = type->name;
    if (!name.empty() && full.size() > name.size() && full.ends_with(name) &&
        full[full.size() - name.size() - 1] == '.')
      fitting.push_back(type);
  }
  if (fitting.size() == 1) return fitting.front();
  if (candidates != nullptr) *candidates = std::move(fitting);
  return nullptr;
}

std::expected<FieldPlace, std::string> TypeTable::place(const TypeDescriptor& type, std::string_view path) const {
  const auto fail = [](std::string what) { return std::unexpected(std::move(what)); };
  if (type.is_table) return fail(type.name + " is a table: its fields have no fixed offsets");
  const TypeDescriptor* inside = &type;
  std::uint32_t base = 0;
  std::string_view rest = path;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    const std::size_t bracket = part.find('[');
    const std::string field_name = part.substr(0, bracket);
    const auto field = std::ranges::find(inside->fields, field_name, &FieldDescriptor::name);
    if (field == inside->fields.end())
      return fail(inside->name + " has no field '" + field_name + "'; it has " + list_fields(*inside));

    FieldPlace found = whole(*field, base);
    bool one = !field->is_array;
    if (bracket != std::string::npos) {
      if (!field->is_array) return fail("'" + field_name + "' of " + inside->name + " is not an array");
      std::uint32_t index = 0;
      const char *first = part.data() + bracket + 1, *last = part.data() + part.size();
      const auto [end, problem] = std::from_chars(first, last, index);
      if (problem != std::errc() || end + 1 != last || *end != ']')
        return fail("'" + part + "' is not an element: expected " + field_name + "[0] to " + field_name + "[" +
                    std::to_string(field->count - 1) + "]");
      if (index >= field->count)
        return fail("'" + part + "' is outside the array: " + field_name + " of " + inside->name +
                    " has elements 0 to " + std::to_string(field->count - 1));
      found = element(*field, base, index);
      one = true;
    }
    if (dot == std::string_view::npos) return found;
    const TypeDescriptor* nested = field->kind == FieldKind::structure ? find(field->type) : nullptr;
    if (nested == nullptr)
      return fail("'" + field_name + "' of " + inside->name + " is not a struct: it has no field '" +
                  std::string(rest.substr(dot + 1)) + "'");
    if (!one)
      return fail("'" + field_name + "' of " + inside->name + " is an array: name an element, " + field_name +
                  "[0] to " + field_name + "[" + std::to_string(field->count - 1) + "]");
    inside = nested;
    base = found.offset;
    rest.remove_prefix(dot + 1);
  }
}

const FieldPlace* TypeTable::place(const TypeDescriptor& type, FieldId field) const noexcept {
  const auto at = impl_->places.find(type.id);
  if (at == impl_->places.end() || type.is_table) return nullptr;
  Places& places = at->second;
  std::call_once(places.made, [&] { impl_->collect(type, 0, "", places); });
  const auto found = places.by_id.find(field);
  return found == places.by_id.end() || found->second.field == nullptr ? nullptr : &found->second;
}

std::span<const ValueRule> TypeTable::rules(const TypeDescriptor& type) const noexcept {
  const auto at = impl_->places.find(type.id);
  return at == impl_->places.end() ? std::span<const ValueRule>() : at->second.rules;
}

std::span<const ValueLimit> TypeTable::limits(const TypeDescriptor& type) const noexcept {
  const auto at = impl_->places.find(type.id);
  return at == impl_->places.end() ? std::span<const ValueLimit>() : at->second.limits;
}

std::span<const TypeDescriptor* const> TypeTable::types() const noexcept { return impl_->types; }

std::span<const std::vector<std::byte>> TypeTable::schemas() const noexcept { return impl_->schemas; }

std::uint64_t TypeTable::fingerprint() const noexcept {
  if (const std::uint64_t known = impl_->fingerprint.load(std::memory_order_relaxed)) return known;
  std::vector<const TypeDescriptor*> sorted = impl_->types;
  std::ranges::sort(sorted, {}, &TypeDescriptor::name);
  std::uint64_t hash = hash64("");
  for (const TypeDescriptor* type : sorted) {
    hash = hash64(type->name, hash);
    std::array<char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(type->fingerprint >> (8 * i));
    hash = hash64({bytes.data(), bytes.size()}, hash);
  }
  impl_->fingerprint.store(hash, std::memory_order_relaxed);
  return hash;
}

}  // namespace muster
