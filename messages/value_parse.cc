// Parses values that a user has typed.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include "messages/judge/value_limits.h"
#include "messages/utf8.h"
#include "messages/value_text.h"
#include "schema/kinds.h"

namespace muster {
namespace {

using Kind = ValueError::Kind;

std::unexpected<ValueError> fail(Kind kind, std::string text) {
  return std::unexpected(ValueError{kind, std::move(text)});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Splits the text at separators, except inside double quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted)
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (text[i] == separator && !quoted) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(std::min(begin, text.size()))));
  return parts;
}

/// Removes the double quotes around `text` and unescapes \" and \\. Returns `text` unchanged if it
/// is not quoted.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

std::string number_text(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const last = text.data() + text.size();
  if constexpr (std::is_integral_v<T>) {
    int base = 10;
    if (text.starts_with("0x")) {
      text.remove_prefix(2);
      base = 16;
    }
    const auto [end, error] = std::from_chars(text.data(), last, value, base);
    return error == std::errc() && end == last;
  } else {
    const auto [end, error] = std::from_chars(text.data(), last, value);
    return error == std::errc() && end == last;
  }
}

/// Returns true if the text is a number that is too large for type T. Some versions of from_chars
/// convert such a number to infinity.
template <class T>
bool is_too_large(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.find_first_of("0123456789") == text.npos) return false;
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (end != last) return false;
  if (error == std::errc()) return std::isinf(value);
  // from_chars also reports out of range for a number that is too close to zero.
  double wide = 0;
  const auto [wide_end, wide_error] = std::from_chars(text.data(), last, wide);
  return error == std::errc::result_out_of_range && !(wide_error == std::errc() && std::abs(wide) < 1);
}

/// Parses a number for a field of this kind. A uint64 above 2^63 - 1 is returned as the negative
/// number with the same bits.
bool parse_integer(FieldKind kind, std::string_view text, std::int64_t& value) {
  std::uint64_t bits = 0;
  if (kind != FieldKind::uint64) return parse_number(text, value);
  if (!parse_number(text, bits)) return false;
  value = static_cast<std::int64_t>(bits);
  return true;
}

/// Parses the value of one place and holds the data needed for error messages.
class Reader {
 public:
  Reader(const TypeTable& types, ValueReferences& references) : types_(types), references_(references) {}

  ValueResult<void> leaf(const FieldDescriptor& field, const std::string& path, std::string_view text, std::byte* at) {
    if (field.enumeration) return enumerated(field, path, text, at);
    switch (field.kind) {
      case FieldKind::boolean: {
        const bool yes = text == "true" || text == "1";
        if (!yes && text != "false" && text != "0") return misfit(field, path, text);
        *at = std::byte{yes};
        return {};
      }
      case FieldKind::int8: return number<std::int8_t>(field, path, text, at);
      case FieldKind::uint8: return number<std::uint8_t>(field, path, text, at);
      case FieldKind::int16: return number<std::int16_t>(field, path, text, at);
      case FieldKind::uint16: return number<std::uint16_t>(field, path, text, at);
      case FieldKind::int32: return number<std::int32_t>(field, path, text, at);
      case FieldKind::uint32: return number<std::uint32_t>(field, path, text, at);
      case FieldKind::int64: return number<std::int64_t>(field, path, text, at);
      case FieldKind::uint64: return number<std::uint64_t>(field, path, text, at);
      case FieldKind::float32: return number<float>(field, path, text, at);
      case FieldKind::float64: return number<double>(field, path, text, at);
      case FieldKind::entity: {
        Entity entity;
        if (text != "nil") {
          const auto found = references_.find_entity(text);
          if (!found) return fail(found.error().kind, path + ": " + found.error().text);
          entity = *found;
        }
        std::memcpy(at, &entity, sizeof entity);
        return {};
      }
      case FieldKind::text: {
        const std::string plain = unquoted(text);
        if (const std::string wrong = text_fault(plain); !wrong.empty())
          return fail(Kind::malformed, path + " " + wrong);
        Text interned;
        if (!plain.empty()) {
          const auto made = references_.intern(plain);
          if (!made) return fail(made.error().kind, path + ": " + made.error().text);
          interned = *made;
        }
        std::memcpy(at, &interned, sizeof interned);
        return {};
      }
      default: return misfit(field, path, text);
    }
  }

  /// Parses a string that has one part per leaf.
  ValueResult<void> all(const std::vector<Leaf>& places, const std::string& path, std::string_view text,
                        std::byte* value) {
    // If the place has only one leaf, commas do not separate parts.
    const auto parts = places.size() == 1 ? std::vector{trimmed(text)} : split(text, ',');
    if (parts.size() != places.size()) {
      std::vector<std::string> names;
      for (const Leaf& place : places) names.push_back(place.path);
      return fail(Kind::malformed, path + " takes " + std::to_string(places.size()) + " values separated by commas (" +
                                       joined(names) + "), not " + std::to_string(parts.size()));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string where = places.size() == 1 ? path : path + " (" + places[i].path + ")";
      if (auto read = leaf(*places[i].field, where, parts[i], value + places[i].offset); !read) return read;
    }
    return {};
  }

  /// Parses the value of a table's field, or of an element of its vector.
  ValueResult<std::vector<std::byte>> fixed(const FieldDescriptor& field, FieldKind kind, const std::string& path,
                                            std::string_view text) {
    if (kind == FieldKind::structure) {
      const TypeDescriptor& type = *types_.find(field.type);
      std::vector<std::byte> value(type.size);
      if (auto read = all(leaves(types_, type), path, text, value.data()); !read) return std::unexpected(read.error());
      return value;
    }
    FieldDescriptor one = field;
    one.kind = kind;
    std::vector<std::byte> value(8);
    if (auto read = leaf(one, path, text, value.data()); !read) return std::unexpected(read.error());
    value.resize(scalar_bytes(kind));
    return value;
  }

 private:
  std::unexpected<ValueError> misfit(const FieldDescriptor& field, const std::string& path, std::string_view text) {
    return fail(Kind::malformed, path + " cannot be " + quoted(text) + ": expected " + expected_text(types_, field));
  }

  template <class T>
  ValueResult<void> number(const FieldDescriptor& field, const std::string& path, std::string_view text,
                           std::byte* at) {
    T value{};
    if constexpr (std::is_floating_point_v<T>)
      if (is_too_large<T>(text))
        return fail(Kind::malformed, path + " cannot be " + quoted(text) + ": it does not fit in a " +
                                         std::to_string(8 * sizeof(T)) + "-bit float");
    if (!parse_number(text, value)) return misfit(field, path, text);
    if (number_fault(field, field.kind, reinterpret_cast<const std::byte*>(&value))) return misfit(field, path, text);
    std::memcpy(at, &value, sizeof value);
    return {};
  }

  ValueResult<void> enumerated(const FieldDescriptor& field, const std::string& path, std::string_view text,
                               std::byte* at) {
    const EnumDescriptor& type = *field.enumeration;
    std::int64_t value = 0, known = 0;
    for (const EnumValue& v : type.values) known |= v.value;
    const auto parts = type.bit_flags ? split(text, '|') : std::vector{text};
    for (const std::string_view part : parts) {
      std::int64_t one = 0;
      const auto named = std::ranges::find(type.values, part, &EnumValue::name);
      if (named != type.values.end())
        one = named->value;
      else if (!parse_integer(field.kind, part, one) ||
               (type.bit_flags ? (one & ~known) != 0
                               : std::ranges::find(type.values, one, &EnumValue::value) == type.values.end()))
        return misfit(field, path, text);
      value |= one;
    }
    std::memcpy(at, &value, scalar_bytes(field.kind));  // little-endian
    return {};
  }

  const TypeTable& types_;
  ValueReferences& references_;
};

std::string short_kind(FieldKind kind) {
  switch (kind) {
    case FieldKind::boolean: return "true or false";
    case FieldKind::int8: return "a whole number from -128 to 127";
    case FieldKind::uint8: return "a whole number from 0 to 255";
    case FieldKind::int16: return "a whole number from -32768 to 32767";
    case FieldKind::uint16: return "a whole number from 0 to 65535";
    case FieldKind::int32: return "a whole number from -2147483648 to 2147483647";
    case FieldKind::uint32: return "a whole number from 0 to 4294967295";
    case FieldKind::int64: return "a whole number";
    case FieldKind::uint64: return "a non-negative whole number";
    case FieldKind::float32:
    case FieldKind::float64: return "a number";
    case FieldKind::entity: return "an entity: a path, a name, an id or nil";
    case FieldKind::text:
    case FieldKind::string: return "a string";
    default: return "a value";
  }
}

std::unexpected<ValueError> no_field(const TypeDescriptor& type, std::string_view name) {
  std::vector<std::string> names;
  for (const FieldDescriptor& field : type.fields) names.push_back(field.name);
  return fail(Kind::unknown_name, type.name + " has no field " + quoted(name) + "; it has " + joined(names));
}

}  // namespace

bool parse_id(std::string_view text, Entity& entity) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && text.find_first_not_of("0123456789:") == text.npos &&
         parse_number(text.substr(0, colon), entity.index) && parse_number(text.substr(colon + 1), entity.generation);
}

std::string expected_text(const TypeTable& types, const FieldDescriptor& field) {
  const FieldKind kind = field.kind == FieldKind::vector ? field.element : field.kind;
  std::string text;
  if (field.enumeration) {
    std::vector<std::string> names;
    for (const EnumValue& v : field.enumeration->values) names.push_back(v.name);
    text = (field.enumeration->bit_flags ? "any of " : "one of ") + joined(names);
    if (field.enumeration->bit_flags) text += ", joined by |";
  } else if (kind == FieldKind::structure) {
    std::vector<std::string> names;
    for (const Leaf& leaf : leaves(types, *types.find(field.type))) names.push_back(leaf.path);
    text = joined(names);
  } else if (field.has_range) {
    text = (kind == FieldKind::float32 || kind == FieldKind::float64 ? "a number from " : "a whole number from ") +
           number_text(field.range_min) + " to " + number_text(field.range_max);
  } else {
    text = short_kind(kind);
  }
  if (!field.unit.empty()) text += " (" + field.unit + ")";
  return text;
}

ValueResult<void> parse_place(const TypeTable& types, const TypeDescriptor& type, const FieldPlace& place,
                              const std::string& path, std::string_view text, std::span<std::byte> value,
                              ValueReferences& references) {
  return Reader(types, references).all(leaves(types, place, path), type.name + '.' + path, text, value.data());
}

ValueResult<std::pair<std::string, std::string>> parse_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(Kind::malformed, quoted(text) + " is not of the form field=value");
  return std::pair(std::string(trimmed(text.substr(0, equals))), std::string(text.substr(equals + 1)));
}

ValueResult<std::vector<std::byte>> parse_struct(const TypeTable& types, const TypeDescriptor& type,
                                                 const FieldTexts& assignments, ValueReferences& references,
                                                 std::span<const std::byte> from) {
  std::vector<std::byte> value = type.default_bytes;
  if (!from.empty()) value.assign(from.begin(), from.end());
  for (const auto& [path, text] : assignments) {
    if (type.tag) return fail(Kind::unknown_name, type.name + " is a tag: it has no fields");
    const auto place = types.place(type, path);
    if (!place) return fail(Kind::unknown_name, place.error());
    if (auto read = parse_place(types, type, *place, path, text, value, references); !read)
      return std::unexpected(read.error());
  }
  return value;
}

ValueResult<std::vector<std::byte>> parse_table(const TypeTable& types, const TypeDescriptor& type,
                                                const FieldTexts& assignments, ValueReferences& references) {
  struct Later {
    const FieldDescriptor* field;
    TableEncoder::Place place;
    std::string_view text;
  };
  std::vector<std::byte> out;
  TableScratch scratch;
  TableEncoder encoder(out, scratch);
  encoder.open(0, type.fields.empty() ? 0 : (type.fields.back().slot - 4u) / 2 + 1);
  Reader reader(types, references);
  std::vector<Later> later;
  for (const auto& [name, text] : assignments) {
    const auto field = std::ranges::find(type.fields, name, &FieldDescriptor::name);
    if (field == type.fields.end()) return no_field(type, name);
    const std::string path = type.name + '.' + field->name;
    if (std::ranges::count(assignments, name, &std::pair<std::string, std::string>::first) > 1)
      return fail(Kind::malformed, path + " is given twice");
    if (field->kind == FieldKind::string || field->kind == FieldKind::vector) {
      later.push_back({&*field, encoder.offset(field->slot, true), text});
      continue;
    }
    if (field->kind == FieldKind::table)
      return fail(Kind::malformed, path + " is a table, which cannot be written as text");
    const auto bytes = reader.fixed(*field, field->kind, path, trimmed(text));
    if (!bytes) return bytes;
    const std::size_t align = field->kind == FieldKind::structure ? types.find(field->type)->align : bytes->size();
    encoder.field_bytes(field->slot, *bytes, align);
  }
  for (const FieldDescriptor& field : type.fields)
    if (field.required &&
        std::ranges::find(assignments, field.name, &std::pair<std::string, std::string>::first) == assignments.end())
      return fail(Kind::malformed, type.name + " needs " + field.name + "=: " + expected_text(types, field));
  encoder.close();
  for (const auto& [field, place, text] : later) {
    const std::string path = type.name + '.' + field->name;
    if (field->kind == FieldKind::string) {
      const std::string plain = unquoted(text);
      if (const std::string wrong = text_fault(plain); !wrong.empty()) return fail(Kind::malformed, path + " " + wrong);
      encoder.string(place, plain);
      continue;
    }
    const auto parts = trimmed(text).empty() ? std::vector<std::string_view>{} : split(text, ',');
    if (field->element == FieldKind::string) {
      std::vector<std::string> strings;
      for (const std::string_view part : parts) {
        strings.push_back(unquoted(part));
        if (const std::string wrong = text_fault(strings.back()); !wrong.empty())
          return fail(Kind::malformed, path + "[" + std::to_string(strings.size() - 1) + "] " + wrong);
      }
      encoder.strings(place, strings);
      continue;
    }
    if (field->element == FieldKind::table || field->element == FieldKind::structure)
      return fail(Kind::malformed, path + " is a list of structs or tables, which cannot be written as text");
    std::vector<std::byte> all;
    for (const std::string_view part : parts) {
      const auto bytes = reader.fixed(*field, field->element, path, part);
      if (!bytes) return bytes;
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
    encoder.vector_bytes(place, all, parts.size(), scalar_bytes(field->element));
  }
  return out;
}

}  // namespace muster
