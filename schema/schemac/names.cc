#include "schema/schemac/names.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "schema/defaults.h"

namespace muster::schemac {
namespace {

// Sorted: keywords, alternative tokens, and macros that standard headers may define.
constexpr std::string_view reserved[] = {"EOF",
                                         "NULL",
                                         "alignas",
                                         "alignof",
                                         "and",
                                         "and_eq",
                                         "asm",
                                         "assert",
                                         "auto",
                                         "bitand",
                                         "bitor",
                                         "bool",
                                         "break",
                                         "case",
                                         "catch",
                                         "char",
                                         "char16_t",
                                         "char32_t",
                                         "char8_t",
                                         "class",
                                         "co_await",
                                         "co_return",
                                         "co_yield",
                                         "compl",
                                         "concept",
                                         "const",
                                         "const_cast",
                                         "consteval",
                                         "constexpr",
                                         "constinit",
                                         "continue",
                                         "decltype",
                                         "default",
                                         "delete",
                                         "do",
                                         "double",
                                         "dynamic_cast",
                                         "else",
                                         "enum",
                                         "errno",
                                         "explicit",
                                         "export",
                                         "extern",
                                         "false",
                                         "float",
                                         "for",
                                         "friend",
                                         "goto",
                                         "if",
                                         "inline",
                                         "int",
                                         "linux",
                                         "long",
                                         "mutable",
                                         "namespace",
                                         "new",
                                         "noexcept",
                                         "not",
                                         "not_eq",
                                         "nullptr",
                                         "offsetof",
                                         "operator",
                                         "or",
                                         "or_eq",
                                         "private",
                                         "protected",
                                         "public",
                                         "register",
                                         "reinterpret_cast",
                                         "requires",
                                         "return",
                                         "short",
                                         "signed",
                                         "sizeof",
                                         "static",
                                         "static_assert",
                                         "static_cast",
                                         "stderr",
                                         "stdin",
                                         "stdout",
                                         "struct",
                                         "switch",
                                         "template",
                                         "this",
                                         "thread_local",
                                         "throw",
                                         "true",
                                         "try",
                                         "typedef",
                                         "typeid",
                                         "typename",
                                         "union",
                                         "unix",
                                         "unsigned",
                                         "using",
                                         "virtual",
                                         "void",
                                         "volatile",
                                         "wchar_t",
                                         "while",
                                         "xor",
                                         "xor_eq"};
static_assert(std::ranges::is_sorted(reserved));

std::string joined(std::string_view dotted) {
  std::string text;
  for (;;) {
    const std::size_t dot = dotted.find('.');
    text += cpp_name(dotted.substr(0, dot));
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
  const std::string name = cpp_type_name(type.name, inside);
  for (const EnumValue& v : type.values)
    if (v.value == value) return name + "::" + cpp_name(v.name);
  if (value == 0) return "{}";
  std::string text;
  for (const EnumValue& v : type.values)
    if ((v.value & value) != 0) text += (text.empty() ? "" : " | ") + name + "::" + cpp_name(v.name);
  return text;
}

}  // namespace

std::string cpp_name(std::string_view identifier) {
  std::string name(identifier);
  if (std::ranges::binary_search(reserved, identifier)) name += '_';
  return name;
}

std::string cpp_namespace(std::string_view full_name) {
  const std::size_t dot = full_name.rfind('.');
  return dot == std::string_view::npos ? std::string() : joined(full_name.substr(0, dot));
}

std::string cpp_last_name(std::string_view full_name) {
  const std::size_t dot = full_name.rfind('.');
  return cpp_name(dot == std::string_view::npos ? full_name : full_name.substr(dot + 1));
}

std::string cpp_absolute_name(std::string_view full_name) { return "::" + joined(full_name); }

std::string cpp_type_name(std::string_view full_name, std::string_view inside) {
  const std::string space = cpp_namespace(full_name);
  if (space == inside) return cpp_last_name(full_name);
  // Qualify the name from the global namespace if an inner namespace would hide the name's first
  // part. For example, a namespace game::muster would hide muster::Entity.
  const std::string first = space.substr(0, space.find("::"));
  const std::size_t inner = inside.find("::" + first);
  const bool caught = first.empty() || inner != std::string_view::npos;
  return caught ? cpp_absolute_name(full_name) : joined(full_name);
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
    // A backslash at the end of a line comment would continue the comment on the next line. Control
    // characters are replaced because comments must not contain them.
    std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20; }, ' ');
    while (!line.empty() && (line.back() == '\\' || line.back() == ' ')) line.pop_back();
    out += std::string(indent) + "///" + (line.empty() ? "" : " ") + line + "\n";
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace muster::schemac
