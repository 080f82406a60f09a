#include "messages/judge/table_check.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "messages/judge/value_limits.h"
#include "messages/utf8.h"
#include "schema/kinds.h"

namespace muster {
namespace {

// The parts of a FlatBuffer that matter for these checks (all numbers are little-endian):
//   buffer   | root: u32 forward to a table | ...
//   table    | i32 back to its vtable | fields, each aligned to its size |
//   vtable   | u16 bytes of the vtable | u16 bytes of the table | u16 per slot: offset of the field in the table, or 0 |
//   string   | u32 length | bytes | 0 |               reached by a u32 forward from the field
//   vector   | u32 count | elements |                 as above; strings and tables as elements are u32 forwards

class TableCheck {
 public:
  TableCheck(std::span<const std::byte> bytes, const TypeTable& types, const VerifierLimits& limits,
             const Mending& mending)
      : bytes_(bytes), types_(types), limits_(limits), mending_(mending), work_left_(1024 + 4 * bytes.size()) {}

  std::optional<BatchFault> run(const TypeDescriptor& type) {
    name_ = &type.name;
    if (bytes_.size() < 8) {
      fail(0, "a table has at least 8 bytes; this one has " + std::to_string(bytes_.size()));
    } else if (const auto root = forward(0)) {
      table(*root, type, 1);
    }
    return std::move(fault_);
  }

 private:
  // --- Each function returns false, or std::nullopt, once a fault has been found. Offsets are of
  // type size_t and never wrap, because lengths are below 2^32.

  bool fail(std::size_t offset, std::string what, Fault fault = Fault::bad_table) {
    fault_ = BatchFault{fault, static_cast<std::uint32_t>(std::min(offset, bytes_.size())), 0, path_,
                        *name_ + (path_.empty() ? "" : "." + path_) + ": " + std::move(what)};
    return false;
  }
  bool inside(std::size_t offset, std::size_t bytes, const char* what) {
    if (offset <= bytes_.size() && bytes <= bytes_.size() - offset) return true;
    return fail(std::min(offset, bytes_.size()), std::string(what) + " at " + std::to_string(offset) + " with " +
                                                     std::to_string(bytes) + " bytes extends past the table's " +
                                                     std::to_string(bytes_.size()) + " bytes");
  }
  bool aligned(std::size_t offset, std::size_t align, const char* what) {
    if (offset % align == 0) return true;
    return fail(offset,
                std::string(what) + " at " + std::to_string(offset) + " is not aligned to " + std::to_string(align));
  }
  bool work(std::size_t amount, std::size_t offset) {
    if (amount <= work_left_) {
      work_left_ -= amount;
      return true;
    }
    return fail(offset, "its parts are shared too many times to check");
  }
  template <class T>
  T read(std::size_t offset) const noexcept {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::optional<std::size_t> forward(std::size_t at) {
    if (!aligned(at, 4, "offset") || !inside(at, 4, "offset")) return {};
    const std::size_t distance = read<std::uint32_t>(at);
    if (distance == 0 || distance > 0x7fffffff || distance >= bytes_.size() - at) {
      fail(at, "offset at " + std::to_string(at) + " points " + std::to_string(distance) +
                   " bytes forward, outside the table's " + std::to_string(bytes_.size()) + " bytes");
      return {};
    }
    return at + distance;
  }

  bool table(std::size_t at, const TypeDescriptor& type, std::uint32_t depth) {
    if (depth > limits_.table_depth_max)
      return fail(at, "tables are nested deeper than " + std::to_string(limits_.table_depth_max));
    if (++tables_ > limits_.table_tables_max)
      return fail(at, "contains more than " + std::to_string(limits_.table_tables_max) + " tables");
    if (!work(1 + type.fields.size(), at)) return false;
    if (!aligned(at, 4, "table") || !inside(at, 4, "table")) return false;
    const std::int64_t vtable_at = static_cast<std::int64_t>(at) - read<std::int32_t>(at);
    if (vtable_at < 0) return fail(at, "its vtable lies before the buffer");
    const auto vtable = static_cast<std::size_t>(vtable_at);
    if (!aligned(vtable, 2, "vtable") || !inside(vtable, 4, "vtable")) return false;
    const std::uint32_t vtable_bytes = read<std::uint16_t>(vtable), table_bytes = read<std::uint16_t>(vtable + 2);
    if (vtable_bytes < 4 || vtable_bytes % 2 != 0)
      return fail(vtable,
                  "a vtable of " + std::to_string(vtable_bytes) + " bytes: expected an even number, at least 4");
    if (table_bytes < 4)
      return fail(vtable + 2, "a table of " + std::to_string(table_bytes) + " bytes: expected at least 4");
    if (!inside(vtable, vtable_bytes, "vtable") || !inside(at, table_bytes, "table")) return false;

    const std::size_t path_before = path_.size();
    for (const FieldDescriptor& field : type.fields) {
      const std::uint32_t place = field.slot + 2u <= vtable_bytes ? read<std::uint16_t>(vtable + field.slot) : 0u;
      if (place == 0 && !field.required) continue;
      path_ += (path_.empty() ? "" : ".") + field.name;
      if (place == 0) return fail(at, "is required but missing");
      if (!this->field(at, place, table_bytes, field, depth)) return false;
      path_.resize(path_before);
    }
    return true;
  }

  bool field(std::size_t table, std::uint32_t place, std::uint32_t table_bytes, const FieldDescriptor& field,
             std::uint32_t depth) {
    const std::size_t at = table + place;
    const TypeDescriptor* type = field.type != 0 ? types_.find(field.type) : nullptr;
    const bool structure = field.kind == FieldKind::structure;
    if (structure && type == nullptr) return fail(at, "has an unknown type");
    const std::uint32_t bytes = structure ? type->size : scalar_bytes(field.kind);
    const std::uint32_t align = structure ? type->align : bytes;
    if (place < 4 || place + bytes > table_bytes)
      return fail(at, "is at " + std::to_string(place) + " with " + std::to_string(bytes) + " bytes; the table has " +
                          std::to_string(table_bytes));
    if (!aligned(at, align, "field")) return false;
    switch (field.kind) {
      case FieldKind::string: {
        const auto text = forward(at);
        return text && string(*text);
      }
      case FieldKind::vector: {
        const auto elements = forward(at);
        return elements && vector(*elements, field, depth);
      }
      case FieldKind::table: {
        if (type == nullptr) return fail(at, "has an unknown type");
        const auto inner = forward(at);
        return inner && this->table(*inner, *type, depth + 1);
      }
      default: return value(at, field.kind, field, type);
    }
  }

  /// Checks a scalar or struct that is known to be inside the buffer and aligned. `at` is the field
  /// itself or one of its elements.
  bool value(std::size_t at, FieldKind kind, const FieldDescriptor& field, const TypeDescriptor* type) {
    const EnumDescriptor* const enumeration = field.enumeration;
    if (kind == FieldKind::structure) {
      auto good = verify_value(bytes_.subspan(at, type->size), *type, types_);
      if (good && limits_.values)
        good = check_limits(types_.limits(*type), bytes_.subspan(at, type->size), 0, 0, *type, types_);
      if (good) return true;
      if (mending_.mended) {
        mend_value({mending_.at(bytes_, at), type->size}, *type, types_, *mending_.mended);
        return true;
      }
      if (!good.error().field.empty()) path_ += "." + good.error().field;
      return fail(at + good.error().offset, std::move(good.error().text), good.error().fault);
    }
    if (kind == FieldKind::boolean && bytes_[at] > std::byte{1})
      return mend(at, kind, std::to_integer<unsigned>(bytes_[at]), 1) ||
             fail(at, "is " + std::to_string(std::to_integer<unsigned>(bytes_[at])) + "; a bool is 0 or 1",
                  Fault::bad_bool);
    if (enumeration != nullptr) {
      const std::int64_t found = integer(at, kind);
      std::int64_t mask = 0;
      for (const EnumValue& known : enumeration->values) {
        if (known.value == found) return true;
        mask |= known.value;
      }
      if (!enumeration->bit_flags || (found & ~mask) != 0)
        return mend(at, kind, found, enumeration->bit_flags ? found & mask : default_of(field)) ||
               fail(at, "is " + integer_text(kind, found) + ", which is not a value of " + enumeration->name,
                    Fault::bad_enum);
      return true;
    }
    if (!limits_.values) return true;
    const std::optional<Fault> beyond = number_fault(field, kind, bytes_.data() + at);
    return !beyond || fail(at, number_fault_text(types_, field, kind, bytes_.data() + at), *beyond);
  }

  /// Replaces the integer `found` with `put`. Returns false if corrections are not allowed.
  bool mend(std::size_t at, FieldKind kind, std::int64_t found, std::int64_t put) {
    if (!mending_.mended) return false;
    std::memcpy(mending_.at(bytes_, at), &put, scalar_bytes(kind));
    mending_.mended->add(
        {static_cast<std::uint32_t>(at), *name_, path_, integer_text(kind, found), integer_text(kind, put)});
    return true;
  }
  /// Returns the default of an enum field if it is a value of the enum. Otherwise, returns 0 if 0
  /// is a value of the enum. Otherwise, returns the enum's first value.
  static std::int64_t default_of(const FieldDescriptor& field) {
    const std::vector<EnumValue>& values = field.enumeration->values;
    const auto known = [&](auto&& is) { return std::ranges::find_if(values, is); };
    auto at = known([&](const EnumValue& value) {
      return value.name == field.default_text ||
             integer_text(field.enumeration->underlying, value.value) == field.default_text;
    });
    if (at == values.end()) at = known([](const EnumValue& value) { return value.value == 0; });
    return at != values.end() ? at->value : values.empty() ? 0 : values.front().value;
  }

  std::int64_t integer(std::size_t at, FieldKind kind) const noexcept {
    switch (kind) {
      case FieldKind::boolean:
      case FieldKind::uint8: return read<std::uint8_t>(at);
      case FieldKind::int8: return read<std::int8_t>(at);
      case FieldKind::uint16: return read<std::uint16_t>(at);
      case FieldKind::int16: return read<std::int16_t>(at);
      case FieldKind::uint32: return read<std::uint32_t>(at);
      case FieldKind::int32: return read<std::int32_t>(at);
      default: return read<std::int64_t>(at);
    }
  }

  bool string(std::size_t at) {
    if (!work(1, at) || !aligned(at, 4, "string") || !inside(at, 4, "string")) return false;
    const std::size_t length = read<std::uint32_t>(at);
    if (!inside(at + 4, length + 1, "string")) return false;
    if (bytes_[at + 4 + length] != std::byte{})
      return fail(at + 4 + length, "the string does not end with a zero byte");
    return !limits_.values || text(at, length);
  }
  /// Checks each string only once, even if several fields share it. Strings that overlap are also
  /// refused, because one string would contain the other's length, and therefore a zero byte.
  bool text(std::size_t at, std::size_t length) {
    if (read_texts_.empty()) read_texts_.resize(bytes_.size() / 4 + 1);
    if (read_texts_[at / 4]) return true;
    read_texts_[at / 4] = true;
    const std::string wrong = text_fault({reinterpret_cast<const char*>(bytes_.data()) + at + 4, length});
    return wrong.empty() || fail(at + 4, wrong, Fault::bad_text);
  }

  bool vector(std::size_t at, const FieldDescriptor& field, std::uint32_t depth) {
    if (!aligned(at, 4, "vector") || !inside(at, 4, "vector")) return false;
    const std::size_t count = read<std::uint32_t>(at);
    const TypeDescriptor* type = field.type != 0 ? types_.find(field.type) : nullptr;
    const bool nested = field.element == FieldKind::structure || field.element == FieldKind::table;
    if (nested && type == nullptr) return fail(at, "has an unknown type");
    const bool structure = field.element == FieldKind::structure;
    const std::size_t bytes = structure ? type->size : scalar_bytes(field.element);
    const std::size_t begin = at + 4;
    if (!inside(begin, count * bytes, "vector") || !work(1, at)) return false;
    // An empty vector of 8-byte elements may start at an odd multiple of 4, because it has no
    // element that could be misaligned.
    if (count > 0 && !aligned(begin, structure ? type->align : bytes, "vector")) return false;
    if (limits_.values && (field.element == FieldKind::float32 || field.element == FieldKind::float64)) {
      if (!work(count * bytes, at)) return false;
      const std::size_t i = first_not_finite(field.element, bytes_.data() + begin, count);
      if (i == count) return true;
      path_ += "[" + std::to_string(i) + "]";
      return value(begin + i * bytes, field.element, field, type);
    }
    const bool judged = structure ? !types_.rules(*type).empty() || (limits_.values && !types_.limits(*type).empty())
                                  : field.element == FieldKind::boolean || field.enumeration != nullptr ||
                                        field.element == FieldKind::string || field.element == FieldKind::table;
    if (!judged) return true;
    if (!work(count * bytes, at)) return false;
    const std::size_t path_before = path_.size();
    for (std::size_t i = 0; i < count; ++i) {
      path_ += "[" + std::to_string(i) + "]";
      const std::size_t element = begin + i * bytes;
      if (field.element == FieldKind::string) {
        const auto text = forward(element);
        if (!text || !string(*text)) return false;
      } else if (field.element == FieldKind::table) {
        const auto inner = forward(element);
        if (!inner || !table(*inner, *type, depth + 1)) return false;
      } else if (!value(element, field.element, field, type)) {
        return false;
      }
      path_.resize(path_before);
    }
    return true;
  }

  std::span<const std::byte> bytes_;
  const TypeTable& types_;
  const VerifierLimits& limits_;
  const Mending mending_;
  std::size_t work_left_;
  std::uint32_t tables_ = 0;
  const std::string* name_ = nullptr;
  std::string path_;
  std::vector<bool> read_texts_;  // indexed by offset / 4, because strings are aligned to 4
  std::optional<BatchFault> fault_;
};

}  // namespace

std::optional<BatchFault> check_table(std::span<const std::byte> table, const TypeDescriptor& type,
                                      const TypeTable& types, const VerifierLimits& limits, const Mending& mending) {
  return TableCheck(table, types, limits, mending).run(type);
}

}  // namespace muster
