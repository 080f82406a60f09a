#include "schema/defaults.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "schema/attribute_text.h"

namespace muster::schema_detail {
namespace {

using Result = std::expected<void, std::string>;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  if constexpr (std::is_integral_v<T>) {
    if (text.starts_with("0x")) {
      const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
      return error == std::errc() && end == text.data() + text.size();
    }
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string kind_text(FieldKind kind) {
  switch (kind) {
    case FieldKind::boolean: return "true or false";
    case FieldKind::int8: return "a number of type byte";
    case FieldKind::uint8: return "a number of type ubyte";
    case FieldKind::int16: return "a number of type short";
    case FieldKind::uint16: return "a number of type ushort";
    case FieldKind::int32: return "a number of type int";
    case FieldKind::uint32: return "a number of type uint";
    case FieldKind::int64: return "a number of type long";
    case FieldKind::uint64: return "a number of type ulong";
    case FieldKind::float32: return "a number of type float";
    case FieldKind::float64: return "a number of type double";
    default: return "a value";
  }
}

/// Calls `call` with a default-constructed value of the C++ type that corresponds to a scalar kind.
template <class Call>
Result with_scalar(FieldKind kind, Call&& call) {
  switch (kind) {
    case FieldKind::int8: return call(std::int8_t{});
    case FieldKind::uint8: return call(std::uint8_t{});
    case FieldKind::int16: return call(std::int16_t{});
    case FieldKind::uint16: return call(std::uint16_t{});
    case FieldKind::int32: return call(std::int32_t{});
    case FieldKind::uint32: return call(std::uint32_t{});
    case FieldKind::int64: return call(std::int64_t{});
    case FieldKind::uint64: return call(std::uint64_t{});
    case FieldKind::float32: return call(float{});
    case FieldKind::float64: return call(double{});
    default: return fail("has no default");
  }
}

/// Parses an enum value: "Red", "fire|ice", or a number.
template <class T>
bool parse_enum(std::string_view text, const EnumDescriptor& type, T& value) {
  value = 0;
  for (const std::string_view part : split(text, '|')) {
    T number{};
    if (!parse_number(part, number)) {
      const EnumValue* named = nullptr;
      for (const EnumValue& v : type.values)
        if (v.name == part) named = &v;
      if (named == nullptr) return false;
      number = static_cast<T>(named->value);
    }
    value = static_cast<T>(value | number);
  }
  return true;
}

bool is_value_of(const EnumDescriptor& type, std::int64_t value) {
  if (type.bit_flags) {
    std::uint64_t known = 0;
    for (const EnumValue& v : type.values) known |= static_cast<std::uint64_t>(v.value);
    return (static_cast<std::uint64_t>(value) & ~known) == 0;
  }
  for (const EnumValue& v : type.values)
    if (v.value == value) return true;
  return false;
}

/// Parses `text` as one scalar of the field's type, or uses zero if `text` is null. Checks the
/// value and writes it to `at`.
Result fill_scalar(const FieldDescriptor& field, const std::string_view* text, std::byte* at) {
  if (field.kind == FieldKind::boolean) {
    const bool yes = text && (*text == "true" || *text == "1");
    if (text && !yes && *text != "false" && *text != "0")
      return fail("default '" + std::string(*text) + "' is not true or false");
    *at = std::byte{yes};
    return {};
  }
  if (field.kind == FieldKind::text) {
    const std::uint64_t hash = text && !text->empty() ? hash64(*text) : 0;
    if (text && !text->empty() && hash == 0)
      return fail("default '" + std::string(*text) + "' has the hash 0, which means no text; choose another text");
    std::memcpy(at, &hash, sizeof hash);
    return {};
  }
  if (field.kind == FieldKind::entity) {
    if (text) return fail("a muster.Entity has no default but nil");
    return {};
  }
  return with_scalar(field.kind, [&]<class T>(T value) -> Result {
    if (field.enumeration) {
      if constexpr (std::is_integral_v<T>) {
        if (text && !parse_enum(*text, *field.enumeration, value))
          return fail("default '" + std::string(*text) + "' is not a value of " + field.enumeration->name);
        if (!is_value_of(*field.enumeration, static_cast<std::int64_t>(value)))
          return fail("default " + (text ? "'" + std::string(*text) + "'" : std::string("0")) + " is not a value of " +
                      field.enumeration->name + (text ? "" : ": give one"));
      }
    } else if (text && !parse_number(*text, value)) {
      return fail("default '" + std::string(*text) + "' is not " + kind_text(field.kind));
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return fail("default '" + std::string(*text) + "' is not a finite number");
    }
    if (field.has_range) {
      const auto wide = static_cast<double>(value);
      if (wide < field.range_min || wide > field.range_max)
        return fail("default " + (text ? std::string(*text) : std::string("0")) + " is outside the range " +
                    range_text(field));
    }
    std::memcpy(at, &value, sizeof value);
    return {};
  });
}

/// For each leaf of a field, in order, removes the first value from `values` and writes it to the
/// leaf. `at` points to the field's first byte.
Result fill_leaves(const FieldDescriptor& field, const FindType& find, std::span<const std::string_view>& values,
                   std::byte* at) {
  for (std::uint32_t i = 0; i < field.count; ++i, at += field.size) {
    if (field.kind == FieldKind::structure) {
      for (const FieldDescriptor& inner : find(field.type).fields)
        if (auto done = fill_leaves(inner, find, values, at + inner.offset); !done) return done;
      continue;
    }
    if (field.kind == FieldKind::text || field.kind == FieldKind::entity)
      return fail("a struct that holds a text or an entity takes no default as a whole");
    if (values.empty()) return {};  // the caller checks the number of values
    if (auto done = fill_scalar(field, &values.front(), at); !done) return done;
    values = values.subspan(1);
  }
  return {};
}

std::size_t leaves(const FieldDescriptor& field, const FindType& find) {
  if (field.kind != FieldKind::structure) return field.count;
  std::size_t inside = 0;
  for (const FieldDescriptor& inner : find(field.type).fields) inside += leaves(inner, find);
  return inside * field.count;
}

}  // namespace

Result fill_default(const FieldDescriptor& field, const FindType& find, std::span<std::byte> bytes) {
  const bool given = !field.default_text.empty();
  const bool structure = field.kind == FieldKind::structure;
  if (!given) {
    for (std::uint32_t i = 0; i < field.count; ++i) {
      std::byte* at = bytes.data() + std::size_t{i} * field.size;
      if (structure) {
        const std::vector<std::byte>& inner = find(field.type).default_bytes;
        std::memcpy(at, inner.data(), inner.size());
      } else if (auto done = fill_scalar(field, nullptr, at); !done) {
        return done;
      }
    }
    return {};
  }
  if (field.kind == FieldKind::text) {
    const std::string_view content = field.default_text;
    return fill_scalar(field, &content, bytes.data());
  }
  if (!structure && !field.is_array) {
    const std::string_view content = trimmed(field.default_text);
    return fill_scalar(field, &content, bytes.data());
  }
  std::vector<std::string_view> values = split(field.default_text, ',');
  const std::size_t wanted = leaves(field, find);
  // A single value is used for all elements of an array.
  if (!structure && values.size() == 1) values.resize(wanted, values.front());
  if (values.size() != wanted)
    return fail("default has " + std::to_string(values.size()) + " values where " + std::to_string(wanted) +
                " are needed");
  std::span<const std::string_view> rest = values;
  return fill_leaves(field, find, rest, bytes.data());
}

std::expected<std::string, std::string> table_default(const FieldDescriptor& field, std::int64_t integer, double real) {
  std::string text;
  if (field.kind == FieldKind::float32) {
    text = number_text(static_cast<float>(real));
  } else if (field.kind == FieldKind::float64) {
    text = number_text(real);
  } else if (field.kind == FieldKind::uint64 || field.kind == FieldKind::text) {
    text = std::to_string(static_cast<std::uint64_t>(integer));
  } else {
    text = std::to_string(integer);
  }
  if (field.kind == FieldKind::text) {
    if (integer != 0) return fail("a text in a table has no default but empty");
    return std::string();
  }
  std::byte scratch[8];
  const std::string_view view = text;
  if (auto done = fill_scalar(field, &view, scratch); !done) return std::unexpected(done.error());
  if (text == "0" || text == "-0") return std::string();
  if (field.kind == FieldKind::boolean) return std::string("true");
  if (field.enumeration)
    for (const EnumValue& value : field.enumeration->values)
      if (value.value == integer) return value.name;
  return text;
}

std::string number_text(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}
std::string number_text(float value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string range_text(const FieldDescriptor& field) {
  return number_text(field.range_min) + ".." + number_text(field.range_max);
}

}  // namespace muster::schema_detail
