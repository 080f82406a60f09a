#include "registry/state/layout_change.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

#include "messages/number_kinds.h"

namespace muster {

const FieldDescriptor* field_named(const TypeDescriptor& type, const std::string& name) {
  const auto found = std::ranges::find(type.fields, name, &FieldDescriptor::name);
  return found == type.fields.end() ? nullptr : &*found;
}
namespace {

bool is_integer(FieldKind kind) noexcept { return kind >= FieldKind::boolean && kind <= FieldKind::uint64; }
bool is_float(FieldKind kind) noexcept { return kind == FieldKind::float32 || kind == FieldKind::float64; }
bool is_signed(FieldKind kind) noexcept {
  return kind == FieldKind::int8 || kind == FieldKind::int16 || kind == FieldKind::int32 || kind == FieldKind::int64;
}
unsigned value_bits(FieldKind kind) noexcept {
  switch (kind) {
    case FieldKind::boolean: return 1;
    case FieldKind::int8: return 7;
    case FieldKind::uint8: return 8;
    case FieldKind::int16: return 15;
    case FieldKind::uint16: return 16;
    case FieldKind::int32: return 31;
    case FieldKind::uint32: return 32;
    case FieldKind::int64: return 63;
    case FieldKind::uint64: return 64;
    case FieldKind::float32: return 24;
    case FieldKind::float64: return 53;
    default: return 0;
  }
}

/// True if `now` can represent every value of `then` exactly.
bool widens(FieldKind then, FieldKind now) noexcept {
  if (then == now) return true;
  if (is_float(then)) return is_float(now) && value_bits(then) <= value_bits(now);
  if (!is_integer(then) || now == FieldKind::boolean || !(is_integer(now) || is_float(now))) return false;
  return value_bits(then) <= value_bits(now) && (!is_signed(then) || is_signed(now) || is_float(now));
}

/// Returns the name that is used for a kind in schemas.
const char* word(FieldKind kind) noexcept {
  static constexpr const char* words[] = {"bool",   "byte",     "ubyte",  "short",  "ushort", "int",
                                          "uint",   "long",     "ulong",  "float",  "double", "muster.Entity",
                                          "a text", "a struct", "string", "vector", "a table"};
  return words[static_cast<std::size_t>(kind)];
}

std::string shown(const FieldDescriptor& field) {
  std::string text = field.enumeration != nullptr ? field.enumeration->name : word(field.kind);
  if (field.is_array) text += "[" + std::to_string(field.count) + "]";
  return text;
}

/// Converts the value of an enum by name, because the values may have new numbers.
std::uint64_t same_name(std::uint64_t value, const EnumDescriptor& then, const EnumDescriptor& now) {
  const auto number_now = [&](const EnumValue& known) -> std::uint64_t {
    const auto found = std::ranges::find(now.values, known.name, &EnumValue::name);
    return static_cast<std::uint64_t>(found == now.values.end() ? known.value : found->value);
  };
  if (!then.bit_flags) {
    const auto known = std::ranges::find(then.values, static_cast<std::int64_t>(value), &EnumValue::value);
    return known == then.values.end() ? value : number_now(*known);
  }
  std::uint64_t made = value;
  for (const EnumValue& flag : then.values) made &= ~static_cast<std::uint64_t>(flag.value);
  for (const EnumValue& flag : then.values)
    if ((value & static_cast<std::uint64_t>(flag.value)) != 0) made |= number_now(flag);
  return made;
}

}  // namespace

bool names_decide(const EnumDescriptor* then, const EnumDescriptor* now) {
  if (then == nullptr || now == nullptr || then->bit_flags != now->bit_flags) return false;
  return std::ranges::any_of(then->values, [&](const EnumValue& value) {
    const auto found = std::ranges::find(now->values, value.name, &EnumValue::name);
    return found != now->values.end() && found->value != value.value;
  });
}

class LayoutChange::Comparison {
 public:
  Comparison(LayoutChange& made, const Find& find_then, const Find& find_now)
      : made_(made), find_then_(find_then), find_now_(find_now) {}

  /// Compares two structs at these offsets. In an array, differences are reported only for the
  /// first element.
  bool compare(const TypeDescriptor& then, std::uint32_t then_at, const TypeDescriptor& now, std::uint32_t now_at,
               const std::string& prefix, bool tell) {
    std::vector<const FieldDescriptor*> used;
    for (const FieldDescriptor& field : now.fields) {
      const FieldDescriptor* old = field_named(then, field.name);
      if (old == nullptr && !field.was.empty()) old = field_named(then, field.was);
      if (old == nullptr) {
        if (tell) note(prefix + field.name + " is new");
        continue;
      }
      used.push_back(old);
      if (tell && old->name != field.name) note(prefix + old->name + " is called " + field.name);
      if (!compare(*old, then_at, field, now_at, prefix, tell)) return false;
    }
    for (const FieldDescriptor& old : then.fields)
      if (tell && std::ranges::find(used, &old) == used.end()) note(prefix + old.name + " is gone");
    return true;
  }
  SchemaError error;

 private:
  bool compare(const FieldDescriptor& then, std::uint32_t then_at, const FieldDescriptor& now, std::uint32_t now_at,
               const std::string& prefix, bool tell) {
    const bool nested = now.kind == FieldKind::structure;
    if (nested != (then.kind == FieldKind::structure) || (!nested && !widens(then.kind, now.kind))) {
      if (made_.conversion_) {
        if (tell) note(prefix + now.name + " was " + shown(then) + " and is " + shown(now));
        return true;
      }
      error = {
          {}, prefix + now.name, "was " + shown(then) + " and is now " + shown(now) + ", which cannot be converted"};
      return false;
    }
    const std::string what = prefix + now.name;
    if (tell && (then.kind != now.kind || then.count != now.count || then.is_array != now.is_array))
      note(what + " was " + shown(then) + " and is " + shown(now));
    const bool names = names_decide(then.enumeration, now.enumeration);
    if (tell && names) note("values of " + what + " have other numbers");
    for (std::uint32_t i = 0; i < std::min(then.count, now.count); ++i) {
      const std::uint32_t from = then_at + then.offset + i * then.size, to = now_at + now.offset + i * now.size;
      if (nested) {
        const TypeDescriptor *inner = find_then_(then.type), *outer = find_now_(now.type);
        if (inner == nullptr || outer == nullptr) {
          error = {{}, what, "holds a struct that is not in any schema"};
          return false;
        }
        if (!compare(*inner, from, *outer, to, what + ".", tell && i == 0)) return false;
      } else {
        made_.moves_.push_back({then.kind, now.kind, from, to, then.size, now.size, names ? then.enumeration : nullptr,
                                names ? now.enumeration : nullptr});
      }
    }
    return true;
  }
  void note(const std::string& what) { made_.text_ += (made_.text_.empty() ? "" : ", ") + what; }

  LayoutChange& made_;
  const Find &find_then_, &find_now_;
};

std::expected<LayoutChange, SchemaError> LayoutChange::between(const TypeDescriptor& then, const Find& find_then,
                                                               const TypeDescriptor& now, const Find& find_now,
                                                               Conversion conversion) {
  if (then.is_table || now.is_table)
    return std::unexpected(SchemaError{
        now.name, {}, now.is_table ? "was a struct and is now a table" : "was a table and is now a struct"});
  LayoutChange made;
  made.then_ = &then;
  made.now_ = &now;
  made.conversion_ = conversion;
  if (conversion) made.find_then_ = find_then;
  Comparison comparison(made, find_then, find_now);
  // The only field of a tag has no meaning.
  if (!then.tag && !now.tag && !comparison.compare(then, 0, now, 0, "", true)) {
    comparison.error.type = now.name;
    return std::unexpected(std::move(comparison.error));
  }
  if (then.tag != now.tag)
    made.text_ = now.tag ? "is a tag now: its values are gone" : "was a tag: its values are the defaults";
  if (then.enableable != now.enableable)
    made.text_ += std::string(made.text_.empty() ? "" : ", ") +
                  (now.enableable ? "is now enableable" : "is no longer enableable");
  if (then.name != now.name) made.text_ = "was called " + then.name + (made.text_.empty() ? "" : ", ") + made.text_;
  if (made.text_.empty()) made.text_ = "its fields have moved";
  return made;
}

void LayoutChange::move(const Move& move, const std::byte* then, std::byte* now) {
  const std::byte* const from = then + move.then;
  std::byte* const to = now + move.now;
  if (move.then_kind == move.now_kind && move.then_enum == nullptr) {
    std::memcpy(to, from, move.now_bytes);
    return;
  }
  const auto put = [&](auto value) {
    if (move.now_kind == FieldKind::float32) {
      const auto number = static_cast<float>(value);
      std::memcpy(to, &number, sizeof number);
    } else if (move.now_kind == FieldKind::float64) {
      const auto number = static_cast<double>(value);
      std::memcpy(to, &number, sizeof number);
    } else if constexpr (std::is_integral_v<decltype(value)>) {
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): an 8-bit number keeps its sign, as longer ones
      // do
      auto bits = static_cast<std::uint64_t>(value);
      if (move.then_enum != nullptr) bits = same_name(bits, *move.then_enum, *move.now_enum);
      std::memcpy(to, &bits, move.now_bytes);  // little-endian, like the file
    }
  };
  // Handled separately, because a bool is not a number.
  with_number(move.then_kind, from, [&] { put(read_number<std::uint8_t>(from)); }, put);
}

void LayoutChange::apply_rules(std::span<const std::byte> then, std::span<std::byte> now) const {
  std::memcpy(now.data(), now_->default_bytes.data(), std::min(now.size(), now_->default_bytes.size()));
  for (const Move& one : moves_) move(one, then.data(), now.data());
}

void LayoutChange::apply(std::span<const std::byte> then, std::span<std::byte> now) const {
  apply_rules(then, now);
  if (conversion_)
    conversion_(OldValue(*then_, then.first(std::min<std::size_t>(then.size(), then_->size)), find_then_), now.data());
}

std::optional<std::uint32_t> LayoutChange::place(std::uint32_t then_offset) const {
  for (const Move& one : moves_)
    if (then_offset >= one.then && then_offset < one.then + one.then_bytes) return one.now;
  return {};
}

namespace {

/// Compares tables and the types that they contain. Each pair of types is compared only once.
class TableComparison {
 public:
  TableComparison(const LayoutChange::Find& find_then, const LayoutChange::Find& find_now)
      : find_then_(find_then), find_now_(find_now) {}

  std::optional<SchemaError> compare(const TypeDescriptor& then, const TypeDescriptor& now) {
    const auto differs = [&](const FieldDescriptor& field, std::string what) {
      return SchemaError{now.name, field.name, std::move(what)};
    };
    if (!then.is_table || !now.is_table)
      return SchemaError{
          now.name, {}, now.is_table ? "was a struct and is now a table" : "was a table and is now a struct"};
    if (!compared_.emplace(&then, &now).second) return {};
    for (const FieldDescriptor& field : now.fields) {
      const FieldDescriptor* old = field_named(then, field.name);
      const auto taken = std::ranges::find(then.fields, field.slot, &FieldDescriptor::slot);
      if (old != nullptr && (old->slot != field.slot || old->kind != field.kind || old->element != field.element))
        return differs(field, "has moved within the table: give the table's fields ids");
      if (old == nullptr && taken != then.fields.end()) {
        if (field.was != taken->name || taken->kind != field.kind || taken->element != field.element)
          return differs(field, "is where " + taken->name + " was: keep a removed field in place as deprecated");
        old = &*taken;
      }
      if (old == nullptr) {
        if (field.required) return differs(field, "is new and required");
        continue;
      }
      if (names_decide(old->enumeration, field.enumeration))
        return differs(field, "has an enum whose values have different numbers, which cannot be converted in a table");
      if (auto inner = compare_held(*old, field)) {
        if (inner->type.empty()) return differs(field, std::move(inner->what));
        return inner;
      }
    }
    return {};
  }

 private:
  std::optional<SchemaError> compare_held(const FieldDescriptor& then, const FieldDescriptor& now) {
    const FieldKind held = now.kind == FieldKind::vector ? now.element : now.kind;
    if (held != FieldKind::structure && held != FieldKind::table) return {};
    const TypeDescriptor *inner = find_then_(then.type), *outer = find_now_(now.type);
    if (inner == nullptr || outer == nullptr) return SchemaError{{}, {}, "holds a type that is not in any schema"};
    if (held == FieldKind::table) return compare(*inner, *outer);
    const auto change = LayoutChange::between(*inner, find_then_, *outer, find_now_);
    if (!change) return change.error();
    if (inner->fingerprint == outer->fingerprint && !change->renumbers()) return {};
    return SchemaError{
        {},
        {},
        "holds a " + outer->name + " that changed (" + change->text() + "), which cannot be converted in a table"};
  }

  const LayoutChange::Find &find_then_, &find_now_;
  std::set<std::pair<const TypeDescriptor*, const TypeDescriptor*>> compared_;
};

}  // namespace

std::optional<SchemaError> table_change(const TypeDescriptor& then, const LayoutChange::Find& find_then,
                                        const TypeDescriptor& now, const LayoutChange::Find& find_now) {
  return TableComparison(find_then, find_now).compare(then, now);
}

}  // namespace muster
