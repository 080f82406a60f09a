#include "schema/schemac/names.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "schema/defaults.h"
#include "schema/schemac/reserved.h"

namespace muster::schemac {
namespace {

/// Returns a name that is declared in a namespace: that of a type, or a part of a namespace.
/// Generated code uses some names of its own in the namespaces of types.
std::string declared_name(std::string_view identifier, bool is_global_name) {
  const bool is_taken = identifier == "any" || identifier == "name_of" || identifier == "write_table" ||
                        identifier == "table_";  // a member of each view
  if (is_taken || (is_global_name && is_global(identifier))) return std::string(identifier) + "_";
  return cpp_name(identifier);
}

std::string joined(std::string_view dotted) {
  std::string text;
  for (;;) {
    const std::size_t dot = dotted.find('.');
    text += declared_name(dotted.substr(0, dot), text.empty());
    if (dot == std::string_view::npos) return text;
    text += "::";
    dotted.remove_prefix(dot + 1);
  }
}

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::string real_literal(std::string text) {
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string integer_literal(std::int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807 - 1)";
  return std::to_string(value);
}

std::int64_t read_integer(FieldKind kind, const std::byte* from) {
  switch (kind) {
    case FieldKind::int8: return read<std::int8_t>(from);
    case FieldKind::uint8: return read<std::uint8_t>(from);
    case FieldKind::int16: return read<std::int16_t>(from);
    case FieldKind::uint16: return read<std::uint16_t>(from);
    case FieldKind::int32: return read<std::int32_t>(from);
    case FieldKind::uint32: return read<std::uint32_t>(from);
    default: return read<std::int64_t>(from);
  }
}

std::string enum_literal(const EnumDescriptor& type, std::int64_t value, std::string_view inside) {
  const std::string name = cpp_type_name(type.name, inside) + "::";
  const std::vector<std::string> values = value_names(type);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (type.values[i].value == value) return name + values[i];
  if (value == 0) return "{}";
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    if ((type.values[i].value & value) != 0) text += (text.empty() ? "" : " | ") + name + values[i];
  return text;
}

}  // namespace

std::string cpp_name(std::string_view identifier) {
  return std::string(identifier) + (is_reserved(identifier) ? "_" : "");
}

std::string cpp_namespace(std::string_view full_name) {
  const std::size_t dot = full_name.rfind('.');
  return dot == std::string_view::npos ? std::string() : joined(full_name.substr(0, dot));
}

std::string cpp_last_name(std::string_view full_name) {
  const std::size_t dot = full_name.rfind('.');
  if (dot == std::string_view::npos) return declared_name(full_name, true);
  return declared_name(full_name.substr(dot + 1), false);
}

std::string cpp_absolute_name(std::string_view full_name) { return "::" + joined(full_name); }

std::string cpp_type_name(std::string_view full_name, std::string_view inside) {
  const std::string space = cpp_namespace(full_name);
  if (space == inside) return cpp_last_name(full_name);
  // Another namespace or a field may hide the first part of a qualified name. No schema of a game
  // can add anything to Muster's own namespaces.
  const bool is_own = full_name.starts_with("muster.") && (inside == "muster" || inside.starts_with("muster::"));
  return is_own ? joined(full_name) : cpp_absolute_name(full_name);
}

std::string cpp_name_in_function(std::string_view full_name) {
  constexpr std::string_view variables[] = {"a", "all", "b", "element", "from", "inner", "out", "place", "to", "value"};
  const std::string name = cpp_last_name(full_name);
  const bool is_place =
      name.size() > 2 && name.starts_with("at") && name.find_first_not_of("0123456789", 2) == name.npos;
  return is_place || std::ranges::find(variables, name) != std::end(variables) ? cpp_absolute_name(full_name) : name;
}

std::string cpp_scalar(FieldKind kind, std::string_view inside) {
  switch (kind) {
    case FieldKind::boolean: return "bool";
    case FieldKind::int8: return "std::int8_t";
    case FieldKind::uint8: return "std::uint8_t";
    case FieldKind::int16: return "std::int16_t";
    case FieldKind::uint16: return "std::uint16_t";
    case FieldKind::int32: return "std::int32_t";
    case FieldKind::uint32: return "std::uint32_t";
    case FieldKind::int64: return "std::int64_t";
    case FieldKind::uint64: return "std::uint64_t";
    case FieldKind::float32: return "float";
    case FieldKind::float64: return "double";
    case FieldKind::entity: return cpp_type_name("muster.Entity", inside);
    case FieldKind::text: return cpp_type_name("muster.Text", inside);
    default: return "";
  }
}

std::string cpp_element(FieldKind kind, const EnumDescriptor* enumeration, std::string_view type_name,
                        std::string_view inside) {
  if (enumeration) return cpp_type_name(enumeration->name, inside);
  if (kind == FieldKind::structure || kind == FieldKind::table) return cpp_type_name(type_name, inside);
  return cpp_scalar(kind, inside);
}

std::string cpp_literal(FieldKind kind, const EnumDescriptor* enumeration, const std::byte* value,
                        std::string_view inside) {
  switch (kind) {
    case FieldKind::boolean: return *value == std::byte{0} ? "false" : "true";
    case FieldKind::float32: {
      const auto number = read<float>(value);
      return number == 0 ? "0" : real_literal(schema_detail::number_text(number)) + "f";
    }
    case FieldKind::float64: {
      const auto number = read<double>(value);
      return number == 0 ? "0" : real_literal(schema_detail::number_text(number));
    }
    case FieldKind::entity: return "{}";
    case FieldKind::text: {
      const auto hash = read<std::uint64_t>(value);
      if (hash == 0) return "{}";
      char text[40];
      std::snprintf(text, sizeof text, "{.hash = 0x%016llx}", static_cast<unsigned long long>(hash));
      return text;
    }
    default: break;
  }
  const std::int64_t number = read_integer(kind, value);
  if (enumeration) return enum_literal(*enumeration, number, inside);
  if (kind == FieldKind::uint64 && number < 0) return std::to_string(static_cast<std::uint64_t>(number)) + "u";
  return integer_literal(number);
}

std::vector<std::string> unique_names(const std::vector<std::string_view>& identifiers,
                                      const std::vector<std::string>& taken) {
  std::vector<std::string> names;
  for (const std::string_view identifier : identifiers) names.push_back(cpp_name(identifier));
  const auto is_free = [&](std::size_t at) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (i != at && (names[i] == names[at] || identifiers[i] == names[at])) return false;
    return std::ranges::find(taken, names[at]) == taken.end();
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    while ((names[i] != identifiers[i] || std::ranges::find(taken, names[i]) != taken.end()) && !is_free(i))
      names[i] += '_';
  return names;
}

std::vector<std::string> value_names(const EnumDescriptor& type) {
  std::vector<std::string_view> identifiers;
  for (const EnumValue& value : type.values) identifiers.push_back(value.name);
  return unique_names(identifiers);
}

std::string byte_literal(std::span<const std::byte> bytes, std::string_view indent) {
  std::string text;
  std::size_t line_start = 0;
  const auto open = [&] {
    line_start = text.size();
    text += indent;
    text += '"';
  };
  open();
  for (const std::byte byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '?') {
      text += static_cast<char>(c);
    } else {
      // Octal escapes always have three digits, because the next character may be a digit.
      text += '\\';
      text += static_cast<char>('0' + (c >> 6));
      text += static_cast<char>('0' + ((c >> 3) & 7));
      text += static_cast<char>('0' + (c & 7));
    }
    if (text.size() - line_start > 112) {
      text += "\"\n";
      open();
    }
  }
  text += '"';
  return text;
}

std::string doc_comment(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    // Comments must not contain control characters, nor those that turn the direction of the text
    // (U+202A to U+202E and U+2066 to U+2069).
    std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20; }, ' ');
    for (std::size_t at = line.find('\xe2'); at != line.npos && at + 2 < line.size(); at = line.find('\xe2', at + 1))
      if ((line[at + 1] == '\x80' && line[at + 2] >= '\xaa' && line[at + 2] <= '\xae') ||
          (line[at + 1] == '\x81' && line[at + 2] >= '\xa6' && line[at + 2] <= '\xa9'))
        line.replace(at, 3, " ");
    // A backslash, or the trigraph for one, at the end of a line comment would continue the comment
    // on the next line.
    while (line.ends_with('\\') || line.ends_with(' ') || line.ends_with("?\?/")) line.pop_back();
    out += std::string(indent) + "///" + (line.empty() ? "" : " ") + line + "\n";
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string stem_of(std::string_view file) {
  file = file.substr(file.rfind('/') + 1);
  if (file.ends_with(".fbs")) file.remove_suffix(4);
  return std::string(file);
}

}  // namespace muster::schemac
