#include "schema/schemac/explain.h"
#include "schema/schemac/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "schema/edit_distance.h"
#include "schema/schemac/flatc.h"
#include "schema/schemac/places.h"
#include "schema/schemac/tokens.h"

namespace muster::schemac {
namespace {

/// Returns flatc's name for a type that is known under a different name elsewhere, or an empty
/// string if there is none.
std::string_view scalar_for(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"int8_t", "byte"},   {"uint8_t", "ubyte"}, {"int16_t", "short"},  {"uint16_t", "ushort"}, {"int32_t", "int"},
      {"uint32_t", "uint"}, {"int64_t", "long"},  {"uint64_t", "ulong"}, {"size_t", "ulong"},    {"char", "byte"},
      {"unsigned", "uint"}, {"boolean", "bool"},  {"i8", "byte"},        {"u8", "ubyte"},        {"i16", "short"},
      {"u16", "ushort"},    {"i32", "int"},       {"u32", "uint"},       {"i64", "long"},        {"u64", "ulong"},
      {"f32", "float"},     {"f64", "double"},    {"number", "double"},  {"Float", "float"},     {"Int", "int"},
  };
  if (name.starts_with("std::")) name.remove_prefix(5);
  const auto* const found = std::ranges::find(names, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(names) ? std::string_view() : found->second;
}
constexpr std::array<std::string_view, 21> scalars = {
    "bool",  "byte",   "ubyte", "int8",  "uint8", "short",  "ushort", "int16",  "uint16",  "int",    "uint",
    "int32", "uint32", "long",  "ulong", "int64", "uint64", "float",  "double", "float32", "float64"};
bool is_scalar(std::string_view name) { return std::ranges::find(scalars, name) != scalars.end(); }

/// Attributes that schema/muster.fbs declares.
constexpr std::array<std::string_view, 16> musters_attributes = {
    "component", "message", "tag",    "enableable", "default", "range", "unit",   "color",
    "text",      "asset",   "remote", "see",        "journal", "was",   "answer", "cost"};
bool is_musters(std::string_view attribute) {
  return std::ranges::find(musters_attributes, attribute) != musters_attributes.end();
}
/// Attributes that a schema may use without declaring them.
constexpr std::array<std::string_view, 14> flatcs_attributes = {
    "id",        "deprecated", "required",       "key",       "shared",     "hash",       "force_align",
    "bit_flags", "private",    "original_order", "streaming", "idempotent", "flexbuffer", "nested_flatbuffer"};
bool is_flatcs(std::string_view attribute) {
  return attribute.starts_with("cpp_") || attribute.starts_with("native_") ||
         std::ranges::find(flatcs_attributes, attribute) != flatcs_attributes.end();
}

/// Finds the known name that is closest to a misspelled one.
class Nearest {
 public:
  explicit Nearest(std::string_view written) : written_(lower(written)), distance_(written.size() / 3 + 1) {}
  /// Considers a candidate name. If several candidates are equally close, the first one is chosen.
  void offer(std::string_view name) {
    if (name.size() > name_bytes_max || written_.size() > name_bytes_max) return;
    const std::size_t distance = edit_distance(written_, lower(name));
    if (distance < distance_) name_ = name, distance_ = distance;
  }
  /// Returns the closest name, or an empty string if no name is close.
  const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t name_bytes_max = 64;
  static std::string lower(std::string_view text) {
    std::string made(text);
    std::ranges::transform(made, made.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return made;
  }
  std::string written_, name_;
  std::size_t distance_;
};

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& include_folders) : include_folders_(include_folders) {}

  /// Returns an explanation of the first mistake in the file or the files that it includes, or an
  /// empty string if there is no mistake.
  std::string read(const std::string& path) {
    std::error_code error;
    if (was_read_.size() >= schema_files_max ||
        !was_read_.insert(std::filesystem::weakly_canonical(path, error).string()).second)
      return {};
    const auto bytes = read_file(path);
    if (!bytes) return {};
    File file{path, tokens_of({reinterpret_cast<const char*>(bytes->data()), bytes->size()}), 0, {}};
    declare(file);
    while (!file.now().text.empty() || file.now().is_string) {
      if (std::string said = read_declaration(file); !said.empty()) return said;
    }
    return {};
  }

 private:
  struct File {
    std::string path;
    std::vector<Token> tokens;
    std::size_t at = 0;
    std::string space;  ///< the current namespace, followed by a dot

    const Token& now() const { return tokens[at]; }
    bool is(std::string_view text) const { return !now().is_string && now().text == text; }
    void next() { at = std::min(at + 1, tokens.size() - 1); }
    bool has_ended() const { return at + 1 == tokens.size(); }
    std::string place(const Token& token) const {
      return path + ":" + std::to_string(token.line) + ":" + std::to_string(token.column) + ": ";
    }
  };

  /// Record all declarations of the file first, because a field may refer to a type that is
  /// declared later.
  void declare(const File& file) {
    std::string space;
    for (std::size_t i = 0; i + 1 < file.tokens.size(); ++i) {
      const Token& token = file.tokens[i];
      const Token& name = file.tokens[i + 1];
      if (token.is_string) continue;
      if (token.text == "namespace") space = name.is_word ? name.text + "." : std::string();
      if (token.text == "attribute") attributes_.insert(name.text);
      if (!name.is_word) continue;
      if (token.text == "table") tables_.insert(space + name.text);
      if (token.text == "struct" || token.text == "table" || token.text == "enum" || token.text == "union")
        types_.insert(space + name.text);
    }
  }

  std::string read_declaration(File& file) {
    if (file.is("include")) {
      file.next();
      return read_include(file);
    }
    if (file.is("namespace")) {
      file.next();
      file.space = file.now().is_word ? file.now().text + "." : std::string();
    } else if (file.is("struct") || file.is("table")) {
      const bool table = file.is("table");
      file.next();
      return read_type(file, table);
    } else if (file.is("enum") || file.is("union")) {
      const bool numbered = file.is("enum");
      file.next();
      const std::string name = file.space + file.now().text;
      if (std::string said = numbered ? about_numbers(file, name) : std::string(); !said.empty()) return said;
      while (!file.is("{") && !file.is("(") && !file.has_ended()) file.next();
      if (std::string said = read_attributes(file, name); !said.empty()) return said;
      while (!file.is("}") && !file.has_ended()) file.next();
    }
    file.next();
    return {};
  }

  std::string read_include(File& file) {
    const Token& named = file.now();
    if (!named.is_string) return {};
    const std::vector<std::string> folders = folders_of(file.path, include_folders_);
    if (const std::filesystem::path path = included_file(named.text, folders); !path.empty())
      return read(path.string());
    std::string said = file.place(named) + "there is no " + named.text + " in ";
    for (std::size_t i = 0; i < folders.size(); ++i) said += (i ? ", " : "") + folders[i];
    said += "; name the folder that holds it with -I";
    if (named.text.starts_with("schema/"))
      said += " (of Muster's own schemas: -I \"$(pkg-config --variable=schemas muster)\")";
    return said;
  }

  /// Explains a mistake in the underlying type of an enum. `file` must be at the enum's name; this
  /// function advances it to the type.
  static std::string about_numbers(File& file, const std::string& name) {
    const Token named = file.now();
    if (!named.is_word) return {};
    file.next();
    if (!file.is(":"))
      return file.place(named) + name + ": an enum names the type of its numbers: write `enum " + named.text +
             " : ubyte {`";
    file.next();
    const std::string where = file.place(file.now()) + name + ": ";
    const std::string& type = file.now().text;
    if (type == "float" || type == "double" || type == "float32" || type == "float64")
      return where + "the numbers of an enum are integers, not " + type + "; write `ubyte`";
    if (!file.now().is_word || is_scalar(type)) return {};
    if (const std::string_view scalar = scalar_for(type); !scalar.empty())
      return where + "no type is called " + type + "; write `" + std::string(scalar) + "`";
    Nearest nearest(type);
    for (const std::string_view scalar : scalars) nearest.offer(scalar);
    return where + (nearest.name().empty() ? "the numbers of an enum are integers; write `ubyte`"
                                           : "no type is called " + type + "; did you mean `" + nearest.name() + "`?");
  }

  /// Reads a type, starting at its name.
  std::string read_type(File& file, bool table) {
    const Token named = file.now();
    const std::string type = file.space + named.text;
    bool tag = false;
    while (!file.is("{") && !file.is("(") && !file.has_ended()) file.next();
    for (std::size_t i = file.at; file.tokens[i].text != ")" && i + 1 < file.tokens.size() && !file.is("{"); ++i)
      tag = tag || file.tokens[i].text == "tag";
    if (std::string said = read_attributes(file, type); !said.empty()) return said;
    if (!file.is("{")) return {};
    file.next();
    if (!table && file.is("}"))
      return file.place(named) + type + ": a struct has at least one field; give " + (tag ? "a tag" : "it") +
             " an unused one: `nothing:ubyte;`";
    while (!file.is("}") && !file.has_ended())
      if (std::string said = read_field(file, type, table); !said.empty()) return said;
    file.next();
    return {};
  }

  /// Reads the attributes of a type or field, if there are any.
  std::string read_attributes(File& file, const std::string& owner) {
    if (!file.is("(")) return {};
    bool at_name = true;
    for (file.next(); !file.is(")") && !file.has_ended(); file.next()) {
      const Token& token = file.now();
      if (at_name && !attributes_.contains(token.text) && !is_flatcs(token.text)) {
        const std::string where = file.place(token) + owner + ": the attribute `" + token.text + "` is not declared";
        if (is_musters(token.text)) return where + "; write `include \"schema/muster.fbs\";` at the file's beginning";
        Nearest nearest(token.text);
        for (const std::string_view known : musters_attributes) nearest.offer(known);
        for (const std::string_view known : flatcs_attributes) nearest.offer(known);
        for (const std::string& known : attributes_) nearest.offer(known);
        if (!nearest.name().empty()) return where + "; did you mean `" + nearest.name() + "`?";
        return where + "; write `attribute \"" + token.text + "\";` above, or mend its name";
      }
      at_name = file.is(",");
    }
    file.next();
    return {};
  }

  std::string read_field(File& file, const std::string& type, bool table) {
    const Token name = file.now();
    const std::string where = type + "." + name.text + ": ";
    file.next();
    if (!name.is_word || !file.is(":")) return skip_field(file);
    file.next();
    const Token begin = file.now();
    bool vector = false;
    if (file.is("[")) {
      vector = true;
      file.next();
    }
    const Token element = file.now();
    file.next();
    std::string length;
    if (vector && file.is(":")) {
      file.next();
      length = file.now().text;
      file.next();
    }
    if (vector) {
      if (!file.is("]")) return skip_field(file);
      file.next();
    }
    if (const std::string said = about_type(file, element, table); !said.empty())
      return file.place(begin) + where + said;
    if (!table && vector && length.empty())
      return file.place(begin) + where + "a struct cannot hold a vector; give it a length, `[" + element.text +
             ":4]`, or make the struct a table";
    if (!table && file.is("=")) {
      const Token sign = file.now();
      file.next();
      std::string value;
      for (; !file.is(";") && !file.is("(") && !file.has_ended(); file.next()) value += file.now().text;
      return file.place(sign) + where + "a struct's field has its default as an attribute: write `" + name.text + ":" +
             element.text + " (default: \"" + value + "\");`";
    }
    while (!file.is(";") && !file.is("(") && !file.is("}") && !file.has_ended()) file.next();
    if (std::string said = read_attributes(file, type + "." + name.text); !said.empty()) return said;
    return skip_field(file);
  }
  static std::string skip_field(File& file) {
    while (!file.is(";") && !file.is("}") && !file.has_ended()) file.next();
    if (file.is(";")) file.next();
    return {};
  }

  /// Explains an error in the type of a field or in the type of a field's elements.
  std::string about_type(const File& file, const Token& named, bool table) const {
    const std::string& name = named.text;
    if (!named.is_word || is_scalar(name)) return {};
    if (name == "string" && table) return {};
    if (name == "string" || name == "std::string" || name == "String" || name == "text")
      return table ? "no type is called " + name + "; write `string`"
                   : "a struct cannot hold a string; make the struct a table, or write `ulong (text)` for a text that "
                     "many "
                     "share";
    if (const std::optional<std::string> found = find(file.space, name)) {
      if (!table && tables_.contains(*found))
        return "a struct cannot hold a table (" + *found + "); make that a struct, or this a table";
      return {};
    }
    if (name == "Entity") return "no type is called Entity here; write `muster.Entity`";
    if (name == "muster.Entity")
      return "muster.Entity is not declared; write `include \"schema/muster.fbs\";` at the beginning";
    if (const std::string_view scalar = scalar_for(name); !scalar.empty())
      return "no type is called " + name + "; write `" + std::string(scalar) + "`";
    Nearest nearest(name);
    for (const std::string_view scalar : scalars) nearest.offer(scalar);
    if (table) nearest.offer("string");
    for (const std::string& type : types_) {
      // Suggest the shortest name that is valid in the schema's own namespace.
      const std::string last = type.substr(type.rfind('.') + 1);
      nearest.offer(find(file.space, last) == type ? last : type);
    }
    if (!nearest.name().empty()) return "no type is called " + name + "; did you mean `" + nearest.name() + "`?";
    return "no type is called " + name + " in this schema, nor in what it includes";
  }
  /// Returns the full name of the type to which `name` refers in a namespace ("a.b."), using
  /// flatc's lookup rules.
  std::optional<std::string> find(std::string space, const std::string& name) const {
    while (true) {
      if (types_.contains(space + name)) return space + name;
      if (space.empty()) return std::nullopt;
      space.pop_back();
      const std::size_t point = space.rfind('.');
      space.resize(point == std::string::npos ? 0 : point + 1);
    }
  }

  const std::vector<std::string>& include_folders_;
  std::set<std::string> was_read_;
  std::set<std::string, std::less<>> attributes_, types_, tables_;
};

}  // namespace

namespace {

/// Returns the first error of flatc's output, such as "  /a/b.fbs:3: 33: error: expecting: ;", with
/// the name of what is declared there.
std::string retold(std::string_view said, const Places& places) {
  while (!said.empty()) {
    const std::string_view line = said.substr(0, said.find('\n'));
    said.remove_prefix(std::min(line.size() + 1, said.size()));
    constexpr std::string_view mark = ": error: ";
    const std::size_t end = line.find(mark);
    if (end == line.npos) continue;
    std::string_view place = line.substr(0, end);
    place.remove_prefix(std::min(place.find_first_not_of(' '), place.size()));
    const auto take_number = [&] {
      const std::size_t colon = place.rfind(':');
      if (colon == place.npos) return std::size_t{0};
      std::string_view digits = place.substr(colon + 1);
      digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
      std::size_t number = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
      place = place.substr(0, colon);
      return number;
    };
    const std::size_t column = take_number(), row = take_number();
    if (row == 0) continue;
    const std::string path(place), at = places.declared_at(path, row, column);
    return places.spelled(path) + ":" + std::to_string(row) + ":" + std::to_string(column) + ": " + at +
           (at.empty() ? "" : ": ") + std::string(line.substr(end + mark.size()));
  }
  return {};
}

}  // namespace

std::string explain_refusal(const std::string& source, const std::vector<std::string>& include_folders,
                            std::string_view said) {
  std::string explained = Reader(include_folders).read(source);
  return explained.empty() ? retold(said, Places(source, include_folders)) : explained;
}

}  // namespace muster::schemac
