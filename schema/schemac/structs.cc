// Writes enums and structs as plain aggregates with FlatBuffers' layout.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "schema/defaults.h"
#include "schema/schemac/output.h"

namespace muster::schemac {
namespace {

/// Returns a struct's value as a designated initializer. `bytes` must contain exactly the bytes of
/// the struct.
std::string struct_literal(const Output& out, const TypeDescriptor& type, const std::byte* bytes);

std::string element_literal(const Output& out, const FieldDescriptor& field, const std::byte* bytes) {
  if (field.kind == FieldKind::structure) return struct_literal(out, out.type(field.type), bytes);
  return cpp_literal(field.kind, field.enumeration, bytes, out.space());
}

/// Returns the initializer of a field with the value `bytes`.
std::string initializer(const Output& out, const FieldDescriptor& field, const std::byte* bytes) {
  // The initializer {} sets a nested struct to its own defaults, and everything else to zero.
  std::vector<std::byte> plain(field.size);
  if (field.kind == FieldKind::structure) plain = out.type(field.type).default_bytes;
  bool all_plain = true;
  for (std::uint32_t i = 0; i < field.count; ++i)
    all_plain &= std::memcmp(bytes + std::size_t{i} * field.size, plain.data(), field.size) == 0;
  if (field.is_array) {
    if (all_plain) return "{}";
    std::string text = "{{";
    for (std::uint32_t i = 0; i < field.count; ++i)
      text += (i ? ", " : "") + element_literal(out, field, bytes + std::size_t{i} * field.size);
    return text + "}}";
  }
  if (field.kind == FieldKind::structure && all_plain) return "{}";
  return element_literal(out, field, bytes);
}

std::string struct_literal(const Output& out, const TypeDescriptor& type, const std::byte* bytes) {
  const std::vector<std::string> names = field_names(type);
  std::string text = "{";
  for (std::size_t i = 0; i < type.fields.size(); ++i)
    text += (i ? ", ." : ".") + names[i] + " = " + initializer(out, type.fields[i], bytes + type.fields[i].offset);
  return text + "}";
}

std::string padding_name(std::uint32_t offset, const std::vector<std::string>& names) {
  std::string name = "padding" + std::to_string(offset) + "_";
  while (std::ranges::find(names, name) != names.end()) name += '_';
  return name;
}

}  // namespace

void write_enum(Output& out, const EnumDescriptor& type, std::string_view native) {
  out.enter(cpp_namespace(type.name));
  const std::string name = cpp_last_name(type.name);
  const std::string underlying = cpp_scalar(type.underlying, out.space());
  const std::string used = cpp_name_in_function(type.name);
  const std::vector<std::string> names = value_names(type);
  out << doc_comment(type.doc, "");
  if (native.empty())
    out << "enum class " << name << " : " << underlying << " {\n";
  else
    out << "using " << name << " = ::" << native.substr(native.starts_with("::") ? 2 : 0) << ";\n"
        << "static_assert(sizeof(" << name << ") == sizeof(" << underlying << "));\n";
  for (std::size_t i = 0; i < type.values.size(); ++i) {
    const EnumValue& value = type.values[i];
    const std::string number = type.underlying == FieldKind::uint64 && value.value < 0
                                   ? std::to_string(static_cast<std::uint64_t>(value.value)) + "u"
                               : value.value == INT64_MIN ? "-9223372036854775807 - 1"
                                                          : std::to_string(value.value);
    if (native.empty())
      out << doc_comment(value.doc, "  ") << "  " << names[i] << " = " << number << ",\n";
    else
      out << "static_assert(" << name << "::" << names[i] << " == static_cast<" << name << ">(" << number << "));\n";
  }
  if (native.empty()) out << "};\n";
  if (type.bit_flags && native.empty()) {
    for (const char* op : {"|", "&", "^"})
      out << "constexpr " << used << " operator" << op << "(" << used << " a, " << used
          << " b) noexcept {\n  return static_cast<" << used << ">(static_cast<" << underlying << ">(a) " << op
          << " static_cast<" << underlying << ">(b));\n}\n";
    out << "constexpr " << used << " operator~(" << used << " a) noexcept {\n  return static_cast<" << used
        << ">(static_cast<" << underlying << ">(~static_cast<" << underlying << ">(a)));\n}\n";
    for (const char* op : {"|", "&", "^"})
      out << "constexpr " << used << "& operator" << op << "=(" << used << "& a, " << used
          << " b) noexcept { return a = a " << op << " b; }\n";
    out << "/// Whether any flag is set.\nconstexpr bool any(" << used << " a) noexcept { return a != " << used
        << "{}; }\n";
  }
  out << "/// The name in the schema; empty for a number that has none.\nconstexpr std::string_view name_of(" << used
      << " value) noexcept {\n  switch (value) {\n";
  std::vector<std::int64_t> seen;
  for (std::size_t i = 0; i < type.values.size(); ++i) {
    if (std::ranges::find(seen, type.values[i].value) != seen.end()) continue;
    seen.push_back(type.values[i].value);
    out << "    case " << used << "::" << names[i] << ": return \"" << type.values[i].name << "\";\n";
  }
  out << "    default: return {};\n  }\n}\n\n";
}

void write_struct(Output& out, const TypeDescriptor& type) {
  out.enter(cpp_namespace(type.name));
  const std::string name = cpp_last_name(type.name);
  const std::vector<std::string> names = field_names(type);
  const bool built_in = type.name == "muster.Entity";  // schema/builtin.h contains a handwritten
                                                       // definition
  if (!built_in) {
    std::uint32_t natural = 1, end = 0;
    for (const FieldDescriptor& field : type.fields)
      natural = std::max(natural, field.type ? out.type(field.type).align : field.size);
    out << doc_comment(type.doc, "") << "struct "
        << (natural < type.align ? "alignas(" + std::to_string(type.align) + ") " : "") << name << " {\n";
    // Padding may have neither the name of a field nor of a type that the struct uses.
    std::vector<std::string> taken = names;
    taken.push_back(name);
    for (const FieldDescriptor& field : type.fields) {
      if (field.enumeration) taken.push_back(cpp_last_name(field.enumeration->name));
      if (field.type) taken.push_back(cpp_last_name(out.type(field.type).name));
    }
    const auto pad = [&](std::uint32_t until) {
      if (until == end) return;
      out << "  std::uint8_t " << padding_name(end, taken) << "[" << std::to_string(until - end) << "] = {};\n";
    };
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
      const FieldDescriptor& field = type.fields[i];
      pad(field.offset);
      end = field.offset + field.size * field.count;
      std::string element = cpp_element(field.kind, field.enumeration,
                                        field.type ? std::string_view(out.type(field.type).name) : "", out.space());
      // A field hides a type of the same name inside the class, so qualify the type's name.
      if (std::ranges::find(names, element) != names.end())
        element = field.enumeration               ? cpp_absolute_name(field.enumeration->name)
                  : field.kind == FieldKind::text ? "::muster::Text"
                                                  : cpp_absolute_name(out.type(field.type).name);
      if (field.is_array) element = "std::array<" + element + ", " + std::to_string(field.count) + ">";
      out << field_doc(field) << "  " << element << " " << names[i] << " = "
          << initializer(out, field, type.default_bytes.data() + field.offset) << ";";
      if (field.kind == FieldKind::text && !field.default_text.empty())
        out << "  // interned: "
            << doc_comment(field.default_text.substr(0, field.default_text.find('\n')), "").substr(4);
      else
        out << "\n";
    }
    pad(type.size);
    out << "\n  friend constexpr bool operator==(const " << name << "&, const " << name << "&) = default;\n};\n";
  }
  out << "static_assert(sizeof(" << name << ") == " << std::to_string(type.size) << " && alignof(" << name
      << ") == " << std::to_string(type.align) << ");\n";
  for (std::size_t i = 0; i < type.fields.size(); ++i)
    out << "static_assert(offsetof(" << name << ", " << names[i] << ") == " << std::to_string(type.fields[i].offset)
        << ");\n";
  out << "\n";
}

}  // namespace muster::schemac
