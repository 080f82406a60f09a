#include "schema/schemac/header.h"

#include <flatbuffers/reflection.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "schema/defaults.h"
#include "schema/schemac/output.h"

namespace muster::schemac {

const char* role_name(TypeRole role) {
  switch (role) {
    case TypeRole::plain: return "plain";
    case TypeRole::component: return "component";
    case TypeRole::message: return "message";
    case TypeRole::table_message: return "table_message";
  }
  return "";
}

std::string hex(std::uint64_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

namespace {

const char* kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::boolean: return "boolean";
    case FieldKind::int8: return "int8";
    case FieldKind::uint8: return "uint8";
    case FieldKind::int16: return "int16";
    case FieldKind::uint16: return "uint16";
    case FieldKind::int32: return "int32";
    case FieldKind::uint32: return "uint32";
    case FieldKind::int64: return "int64";
    case FieldKind::uint64: return "uint64";
    case FieldKind::float32: return "float32";
    case FieldKind::float64: return "float64";
    case FieldKind::entity: return "entity";
    case FieldKind::text: return "text";
    case FieldKind::structure: return "structure";
    case FieldKind::string: return "string";
    case FieldKind::vector: return "vector";
    case FieldKind::table: return "table";
  }
  return "";
}

/// Orders structs so that each struct comes after the structs that it contains. Otherwise, keeps
/// the order of the schema.
void place_struct(const Output& out, const TypeDescriptor& type, std::string_view file, std::set<TypeId>& placed,
                  std::vector<const TypeDescriptor*>& order) {
  if (type.file != file || !placed.insert(type.id).second) return;
  for (const FieldDescriptor& field : type.fields)
    if (field.type) place_struct(out, out.type(field.type), file, placed, order);
  order.push_back(&type);
}

/// Returns the value of an enum's attribute native_type, or an empty string if there is none.
std::string_view native_type(std::span<const std::byte> bfbs, const EnumDescriptor& type) {
  const auto* const found = reflection::GetSchema(bfbs.data())->enums()->LookupByKey(type.name.c_str());
  const auto* const attribute =
      found && found->attributes() ? found->attributes()->LookupByKey("native_type") : nullptr;
  return attribute && attribute->value() ? attribute->value()->string_view() : std::string_view();
}

std::string include_line(const std::string& header) {
  return "#include " + (header.starts_with("muster/") ? "<" + header + ">" : "\"" + header + "\"") + "\n";
}

}  // namespace

std::vector<std::string> field_names(const TypeDescriptor& type, std::initializer_list<std::string_view> taken) {
  std::vector<std::string> reserved(taken.begin(), taken.end());
  reserved.push_back(cpp_last_name(type.name));
  if (type.is_table) reserved.push_back(cpp_last_name(type.name) + "View");
  std::vector<std::string_view> identifiers;
  for (const FieldDescriptor& field : type.fields) identifiers.push_back(field.name);
  return unique_names(identifiers, reserved);
}

std::string field_text(const FieldDescriptor& field) {
  std::string text = field.doc;
  std::string limits = field.unit;
  if (field.has_range) limits += (limits.empty() ? "" : ", ") + schema_detail::range_text(field);
  if (!limits.empty()) text += (text.empty() ? "[" : " [") + limits + "]";
  return text;
}

std::string field_doc(const FieldDescriptor& field) { return doc_comment(field_text(field), "  "); }

void write_traits(Output& out, const TypeDescriptor& type, std::string_view schema_array) {
  const std::string name = cpp_absolute_name(type.name);
  const auto head = [&](const std::string& of, bool view) {
    out << "template <>\nstruct TypeTraits<" << of << "> {\n";
    if (type.is_table) out << "  using Native = " << name << ";\n  using View = " << name << "View;\n";
    out << "  static constexpr bool view = " << (view ? "true" : "false") << ";\n";
  };
  head(name, false);
  out << "  static constexpr TypeId id = " << hex(type.id, 8) << ";\n"
      << "  static constexpr std::string_view name = \"" << type.name << "\";\n"
      << "  static constexpr std::uint64_t fingerprint = " << hex(type.fingerprint, 16) << ";\n"
      << "  static constexpr TypeRole role = TypeRole::" << role_name(type.role) << ";\n"
      << "  static constexpr bool tag = " << (type.tag ? "true" : "false") << ";\n"
      << (type.enableable ? "  static constexpr bool enableable = true;\n" : "")
      << "  static constexpr std::uint32_t size = " << std::to_string(type.size) << ";\n";
  if (!type.fields.empty()) {
    out << "  static constexpr FieldEntry entries[] = {\n";
    for (const FieldDescriptor& field : type.fields)
      out << "      {\"" << field.name << "\", FieldKind::" << kind_name(field.kind) << ", "
          << std::to_string(type.is_table ? field.slot : field.offset) << ", " << std::to_string(field.size) << ", "
          << std::to_string(field.count) << "},\n";
    out << "  };\n  static constexpr std::span<const FieldEntry> fields = entries;\n";
  } else {
    out << "  static constexpr std::span<const FieldEntry> fields = {};\n";
  }
  out << "  static constexpr std::span<const std::uint8_t> schema = " << schema_array << ";\n};\n";
  if (type.is_table) {
    out << "template <>\nstruct TypeTraits<" << name << "View> : TypeTraits<" << name << "> {\n"
        << "  static constexpr bool view = true;\n};\n";
  }
}

void write_question_traits(Output& out, const QuestionDescriptor& question) {
  out << "template <>\nstruct QuestionTraits<" << cpp_absolute_name(out.type(question.question).name) << "> {\n"
      << "  using Answer = " << cpp_absolute_name(out.type(question.answer).name) << ";\n"
      << "  static constexpr bool several = " << (question.several ? "true" : "false") << ";\n"
      << "  static constexpr QuestionCost cost = QuestionCost::" << cost_name(question.cost) << ";\n};\n";
}

std::string write_header(const HeaderInput& input) {
  Output out(input.schema);
  const std::string file = "//" + input.stem + ".fbs";
  std::vector<const TypeDescriptor*> structs, tables, all;
  std::set<TypeId> placed;
  for (const TypeDescriptor& type : input.schema.types) {
    if (!type.is_table) place_struct(out, type, file, placed, structs);
    if (type.is_table && type.file == file) tables.push_back(&type);
    if (type.file == file) all.push_back(&type);
  }
  const std::string own = input.in_tree ? "" : "muster/";
  bool arrays = false;
  const bool nested_tables = std::ranges::any_of(tables, [&](const TypeDescriptor* table) {
    return std::ranges::any_of(table->fields,
                               [](const FieldDescriptor& field) { return field.kind == FieldKind::table; });
  });
  for (const TypeDescriptor* type : structs)
    for (const FieldDescriptor& field : type->fields) arrays |= field.is_array;

  out << "// Written by schemac from " << input.stem << ".fbs: change that instead.\n#pragma once\n\n"
      << "#if __cplusplus <= 202002L\n#error \"Muster needs C++23: compile with -std=c++23\"\n#endif\n\n";
  if (arrays) out << "#include <array>\n";
  out << "#include <cstddef>\n#include <cstdint>\n"
      << (nested_tables ? "#include <memory>\n" : "") << "#include <span>\n#include <string_view>\n\n"
      << include_line(own + "schema/builtin.h") << include_line(own + "schema/descriptor.h");
  const auto is_asked = [&](const QuestionDescriptor& question) { return out.type(question.question).file == file; };
  if (std::ranges::any_of(input.schema.questions, is_asked)) out << include_line(own + "schema/question.h");
  if (!tables.empty()) out << include_line(own + "schema/table.h");
  for (const std::string& include : input.includes) out << include_line(include);
  out << "\n";

  for (const EnumDescriptor& type : input.schema.enums)
    if (type.file == file && !type.values.empty()) write_enum(out, type, native_type(input.bfbs, type));
  for (const TypeDescriptor* type : structs) write_struct(out, *type);
  if (!tables.empty()) write_tables(out, tables);

  if (!all.empty()) {
    // The array's name is derived from the array's content, so that a program contains only one
    // array per schema even if several headers define it.
    const std::string_view bytes(reinterpret_cast<const char*>(input.bfbs.data()), input.bfbs.size());
    const std::string array = "bfbs_" + hex(hash64(bytes), 16).substr(2);
    const std::string size = std::to_string(input.bfbs.size());
    out.enter("muster::schemas");
    // Compilers that apply the standard's recommended limits warn about longer strings, but accept
    // them.
    const bool is_long = input.bfbs.size() >= 65536;
    if (is_long)
      out << "#ifdef __GNUC__\n#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
          << "#endif\n";
    out << "/// The binary schema of " << input.stem << ".fbs; the string's closing zero is not part of it.\n"
        << "alignas(16) inline constexpr unsigned char " << array << "_and_zero[" << size << " + 1] =\n"
        << byte_literal(input.bfbs, "    ") << ";\n"
        << (is_long ? "#ifdef __GNUC__\n#pragma GCC diagnostic pop\n#endif\n" : "")
        << "inline constexpr std::span<const std::uint8_t> " << array << "{" << array << "_and_zero, " << size
        << "};\n";
    // A client compares the world's schemas with the schemas compiled into its program. Muster's
    // own types are part of the library and need no comparison.
    if (std::ranges::any_of(all, [](const TypeDescriptor* type) { return !type->name.starts_with("muster."); }))
      out << "#ifdef __ELF__\n/// For client/cpp/layouts.h: that the program was compiled with this.\n"
          << "[[gnu::section(\"muster_schemas\"), gnu::used, gnu::retain]] static constexpr const std::span<const "
             "std::uint8_t>* "
          << array << "_here = &" << array << ";\n#endif\n";
    out << "\n";
    out.enter("muster");
    for (const TypeDescriptor* type : all) write_traits(out, *type, "schemas::" + array);
    for (const QuestionDescriptor& question : input.schema.questions)
      if (is_asked(question)) write_question_traits(out, question);
    out << "\n";
  }
  out.leave();
  std::string text = out.take();
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::vector<std::string> source_files(std::span<const std::byte> verified_bfbs) {
  std::vector<std::string> files;
  const reflection::Schema* schema = reflection::GetSchema(verified_bfbs.data());
  if (schema->fbs_files())
    for (const reflection::SchemaFile* file : *schema->fbs_files()) files.push_back(file->filename()->str());
  return files;
}

std::string header_of(std::string_view source_file) {
  source_file = source_file.substr(source_file.rfind('/') + 1);
  if (source_file.ends_with(".fbs")) source_file.remove_suffix(4);
  if (source_file == "muster") return "schema/muster.h";
  return std::string(source_file) + ".h";
}

}  // namespace muster::schemac
