#include "schema/schemac/typescript.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "schema/reduce.h"
#include "schema/schemac/output.h"

namespace muster::schemac {
namespace {

/// Names that a type cannot have in a module: keywords, types that TypeScript reserves, and names
/// that every module declares.
constexpr std::string_view taken_names[] = {
    "Array",      "QuestionKey", "TypeKey", "Uint8Array", "any",    "arguments",  "as",     "async",    "await",
    "bigint",     "boolean",     "break",   "case",       "catch",  "class",      "const",  "continue", "debugger",
    "default",    "delete",      "do",      "else",       "enum",   "eval",       "export", "extends",  "false",
    "finally",    "for",         "from",    "function",   "if",     "implements", "import", "in",       "infer",
    "instanceof", "interface",   "keyof",   "let",        "never",  "new",        "null",   "number",   "object",
    "of",         "package",     "private", "protected",  "public", "readonly",   "return", "schema",   "static",
    "string",     "super",       "switch",  "symbol",     "this",   "throw",      "true",   "try",      "type",
    "typeof",     "undefined",   "unique",  "unknown",    "var",    "void",       "while",  "with",     "yield"};

/// Returns `text` as a documentation comment on separate lines, each preceded by `indent`. Returns
/// an empty string if `text` is empty.
std::string comment(std::string_view text, const std::string& indent) {
  if (text.empty()) return {};
  std::string lines;
  for (const char c : text) {
    if (c == '/' && lines.ends_with('*')) lines += '\\';
    lines += c;
    if (c == '\n') lines += indent + " * ";
  }
  return indent + "/** " + lines + (lines.find('\n') == std::string::npos ? " */\n" : "\n" + indent + " */\n");
}

class Typescript {
 public:
  explicit Typescript(const HeaderInput& input) : input_(input), file_("//" + input.stem + ".fbs") { name_all(); }

  std::string write() {
    std::string body;
    for (const EnumDescriptor& type : input_.schema.enums)
      if (home(type.file) == file_ && !type.values.empty()) body += enumeration(type);
    for (const TypeDescriptor& type : input_.schema.types)
      if (home(type.file) == file_) body += interface(type);
    std::string text = "// Written by schemac from " + input_.stem + ".fbs: change that instead.\n";
    for (const auto& [file, name] : imports_)
      text += (asked_files_.contains(file) ? "import * as " : "import type * as ") + name + " from './" +
              stem_of(file) + ".js';\n";
    text +=
        "\n/** What names a type to the client; T is what its values are. */\n"
        "export interface TypeKey<T> {\n"
        "  readonly name: string;\n"
        "  readonly id: number;\n"
        "  /** Of its layout: equal ones mean equal bytes. */\n"
        "  readonly fingerprint: bigint;\n"
        "  readonly role: 'plain' | 'component' | 'message' | 'table_message';\n"
        "  /** Never there: it ties the key to T. */\n"
        "  readonly value?: T;\n"
        "}\n\n";
    if (has_questions_)
      text +=
          "/** What names a question Q, and its answer: A, or A[] if the answer may come in several frames. */\n"
          "export interface QuestionKey<Q, A> extends TypeKey<Q> {\n"
          "  readonly several: boolean;\n"
          "  answer(): TypeKey<A extends (infer Each)[] ? Each : A>;\n"
          "}\n\n";
    text += "/** The binary schema of " + input_.stem + ".fbs in base64. */\nexport const schema = '" +
            (input_.ts_comments ? base64(input_.bfbs) : base64(bare_schema())) + "';\n" + body;
    return text;
  }

 private:
  /// Returns the binary schema without comments on the types of this module.
  std::vector<std::byte> bare_schema() const {
    std::set<std::string> files;
    for (const EnumDescriptor& type : input_.schema.enums)
      if (home(type.file) == file_) files.insert(type.file);
    for (const TypeDescriptor& type : input_.schema.types)
      if (home(type.file) == file_) files.insert(type.file);
    return drop_comments(input_.bfbs, files);
  }

  /// Returns the file whose module contains the types of `file`.
  const std::string& home(const std::string& file) const {
    const bool part = std::ranges::find(input_.parts, file.substr(file.rfind('/') + 1)) != input_.parts.end();
    return part ? file_ : file;
  }

  /// Names each type by the last part of its full name. If several types in a file have the same
  /// last part, these types get their full names ("game_fx_Flash").
  void name_all() {
    std::map<std::pair<std::string, std::string>, int> uses;
    const auto each = [&](auto&& f) {
      for (const EnumDescriptor& type : input_.schema.enums) f(type.name, home(type.file));
      for (const TypeDescriptor& type : input_.schema.types) f(type.name, home(type.file));
    };
    each([&](const std::string& name, const std::string& file) { ++uses[{file, last_name(name)}]; });
    std::set<std::pair<std::string, std::string>> given;
    each([&](const std::string& name, const std::string& file) {
      std::string chosen = last_name(name);
      if (uses[{file, chosen}] > 1) {
        chosen = name;
        std::ranges::replace(chosen, '.', '_');
      }
      while (std::ranges::find(taken_names, chosen) != std::end(taken_names) || given.contains({file, chosen}))
        chosen += '_';
      given.insert({file, chosen});
      names_[name] = {file, chosen};
    });
  }

  static std::string last_name(std::string_view name) { return std::string(name.substr(name.rfind('.') + 1)); }

  /// Returns the name of a type as used in this module, and imports the type if a different file
  /// declares it.
  std::string reference(const std::string& full_name) {
    const auto& [file, name] = names_.at(full_name);
    if (file == file_) return name;
    const auto [import, fresh] = imports_.try_emplace(file);
    if (fresh) {
      std::string alias = stem_of(file);
      for (char& c : alias)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
      if (alias.front() >= '0' && alias.front() <= '9') alias.insert(0, "_");
      const auto clash = [&] {
        if (std::ranges::find(taken_names, alias) != std::end(taken_names)) return true;
        for (const auto& [other_file, other] : imports_)
          if (other == alias) return true;
        return std::ranges::any_of(
            names_, [&](const auto& each) { return each.second.first == file_ && each.second.second == alias; });
      };
      while (clash()) alias += '_';
      import->second = alias;
    }
    return import->second + "." + name;
  }

  static bool is_wide(FieldKind kind) {
    return kind == FieldKind::int64 || kind == FieldKind::uint64 || kind == FieldKind::text;
  }

  std::string element(const FieldDescriptor& field, FieldKind kind) {
    if (field.enumeration != nullptr) return reference(field.enumeration->name);
    if (kind == FieldKind::boolean) return "boolean";
    if (kind == FieldKind::string) return "string";
    if (is_wide(kind)) return "bigint";
    if (kind == FieldKind::entity || kind == FieldKind::structure || kind == FieldKind::table)
      return reference(type_named(field.type).name);
    return "number";
  }

  const TypeDescriptor& type_named(TypeId id) const {
    return *std::ranges::find(input_.schema.types, id, &TypeDescriptor::id);
  }

  std::string field_type(const TypeDescriptor& type, const FieldDescriptor& field) {
    if (field.is_array) return element(field, field.kind) + "[]";
    if (field.kind == FieldKind::vector) {
      if (field.element == FieldKind::uint8 && field.enumeration == nullptr) return "Uint8Array";
      return element(field, field.element) + "[]";
    }
    const bool whole = field.kind == FieldKind::structure || field.kind == FieldKind::table;
    const bool may_lack = type.is_table && ((whole && !field.required) || field.optional);
    return element(field, field.kind) + (may_lack ? " | null" : "");
  }

  /// A `text` field is a number in TypeScript, so its comment states that the number identifies a
  /// text.
  static std::string documentation(const FieldDescriptor& field) {
    const bool text =
        field.kind == FieldKind::text || (field.kind == FieldKind::vector && field.element == FieldKind::text);
    const std::string doc = field_text(field);
    return text ? doc + (doc.empty() ? "[text]" : " [text]") : doc;
  }

  std::string interface(const TypeDescriptor& type) {
    const std::string name = reference(type.name);
    std::string text = "\n" + comment(type.doc, "") + "export interface " + name + " {\n";
    for (const FieldDescriptor& field : type.fields)
      text += comment(documentation(field), "  ") + "  " + field.name + ": " + field_type(type, field) + ";\n";
    const auto question = std::ranges::find(input_.schema.questions, type.id, &QuestionDescriptor::question);
    const bool asked = question != input_.schema.questions.end();
    std::string key = "TypeKey<" + name + ">", more;
    if (asked) {
      const std::string& answer_name = type_named(question->answer).name;
      const std::string answer = reference(answer_name);
      if (const std::string& file = names_.at(answer_name).first; file != file_) asked_files_.insert(file);
      has_questions_ = true;
      key = "QuestionKey<" + name + ", " + answer + (question->several ? "[]>" : ">");
      more =
          std::string("  several: ") + (question->several ? "true" : "false") + ",\n  answer: () => " + answer + ",\n";
    }
    return text + "}\nexport const " + name + ": " + key + " = {\n  name: '" + type.name +
           "',\n  id: " + hex(type.id, 8) + ",\n  fingerprint: " + hex(type.fingerprint, 16) + "n,\n  role: '" +
           role_name(type.role) + "',\n" + more + "};\n";
  }

  std::string enumeration(const EnumDescriptor& type) {
    const std::string name = reference(type.name);
    const bool wide = is_wide(type.underlying);
    std::string text = "\n" + comment(type.doc, "") + "export const " + name + " = {\n";
    for (const EnumValue& value : type.values) {
      const std::string number = type.underlying == FieldKind::uint64
                                     ? std::to_string(static_cast<std::uint64_t>(value.value))
                                     : std::to_string(value.value);
      // Written as a plain key, __proto__ would set the object's prototype.
      const std::string key = value.name == "__proto__" ? "['__proto__']" : value.name;
      text += comment(value.doc, "  ") + "  " + key + ": " + number + (wide ? "n" : "") + ",\n";
    }
    text += "} as const;\n";
    if (type.bit_flags)
      text += "/** Any combination of them. */\nexport type " + name + " = " + (wide ? "bigint" : "number") + ";\n";
    else
      text += "export type " + name + " = (typeof " + name + ")[keyof typeof " + name + "];\n";
    return text;
  }

  static std::string base64(std::span<const std::byte> bytes) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
      std::uint32_t three = 0;
      for (std::size_t k = 0; k < 3; ++k)
        three = three << 8 | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
      for (std::size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? letters[three >> (18 - 6 * k) & 63] : '=';
    }
    return text;
  }

  const HeaderInput& input_;
  const std::string file_;
  std::map<std::string, std::pair<std::string, std::string>> names_;  // full name -> file, and name
                                                                      // in that file's module
  std::map<std::string, std::string> imports_;                        // file -> name in this module
  std::set<std::string> asked_files_;                                 // files that declare the
                                                                      // answers to questions
  bool has_questions_ = false;
};

}  // namespace

std::string write_typescript(const HeaderInput& input) { return Typescript(input).write(); }

}  // namespace muster::schemac
