// schemac: compiles a schema to a C++ header, a TypeScript module, or both.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/load.h"
#include "schema/schemac/clashes.h"
#include "schema/schemac/explain.h"
#include "schema/schemac/field_ids.h"
#include "schema/schemac/flatc.h"
#include "schema/schemac/header.h"
#include "schema/schemac/own_schemas.h"
#include "schema/schemac/places.h"
#include "schema/schemac/questions.h"
#include "schema/schemac/typescript.h"
#include "system/standard_descriptors.h"

namespace {

constexpr const char* usage =
    "schemac [options] SCHEMA.fbs -o HEADER.h --ts MODULE.ts\n"
    "schemac [options] SCHEMA.bfbs -o HEADER.h --ts MODULE.ts\n"
    "\n"
    "Writes plain C++ classes and traits, TypeScript interfaces and ids, or both, for the\n"
    "types that SCHEMA declares.\n"
    "A .fbs goes through flatc first; a .bfbs is what\n"
    "flatc -b --schema --bfbs-comments --bfbs-builtins --bfbs-filenames FOLDER makes.\n"
    "\n"
    "  -o FILE          the header to write\n"
    "  --ts FILE        the TypeScript module to write\n"
    "  --ts-with FILE   the module also has the types of this included schema (\"parts.fbs\");\n"
    "                   may be given several times\n"
    "  --ts-bare        the binary schema in the module has no comments on the module's types\n"
    "  --bfbs FILE      also write the binary schema there\n"
    "  --questions FILE also write the table of the questions that a server answers\n"
    "  --questions-page FILE  the same for people, in Markdown\n"
    "  --depfile FILE   also write the files they depend on, as make and ninja read them\n"
    "  --flatc PROGRAM  the flatc to run (default: flatc)\n"
    "  -I FOLDER        where included schemas are looked for; may be given several times.\n"
    "                   Muster's own are found without it\n"
    "  --in-tree        include \"schema/builtin.h\", as Muster's own sources do, in place of\n"
    "                   <muster/schema/builtin.h>\n"
    "  --check          write nothing, only say what is wrong\n"
    "  --help           this text\n"
    "\n"
    "Exit code: 0 good, 1 the schema is wrong, 2 wrong usage or a file that cannot be read or written.\n";

enum ExitCode { good = 0, wrong_schema = 1, wrong_usage = 2 };

struct Options {
  std::string input, header, typescript, bfbs, questions, questions_page, depfile, flatc = "flatc";
  std::vector<std::string> include_folders, parts;
  bool in_tree = false, ts_bare = false, check = false, help = false;
};

int complain(const std::string& what) {
  std::fprintf(stderr, "schemac: %s\n", what.c_str());
  return wrong_usage;
}
int complain(const std::string& file, const std::string& what, int code) {
  std::fprintf(stderr, "%s: %s\n", file.c_str(), what.c_str());
  return code;
}

/// Returns an error, or an empty string if the options are valid.
std::string read_options(int count, char** words, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    std::string* value = nullptr;
    if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--in-tree") {
      options.in_tree = true;
    } else if (word == "--ts-bare") {
      options.ts_bare = true;
    } else if (word == "--check") {
      options.check = true;
    } else if (word == "-o") {
      value = &options.header;
    } else if (word == "--ts") {
      value = &options.typescript;
    } else if (word == "--ts-with") {
      value = &options.parts.emplace_back();
    } else if (word == "--bfbs") {
      value = &options.bfbs;
    } else if (word == "--questions") {
      value = &options.questions;
    } else if (word == "--questions-page") {
      value = &options.questions_page;
    } else if (word == "--depfile") {
      value = &options.depfile;
    } else if (word == "--flatc") {
      value = &options.flatc;
    } else if (word == "-I") {
      value = &options.include_folders.emplace_back();
    } else if (word.starts_with('-')) {
      return "unknown option " + std::string(word);
    } else if (!options.input.empty()) {
      return "one schema at a time, not " + options.input + " and " + std::string(word);
    } else {
      options.input = word;
    }
    if (value != nullptr) {
      if (++i == count) return "option " + std::string(word) + " needs a value";
      *value = words[i];
    }
  }
  if (options.help) return "";
  if (options.input.empty()) return "no schema given; schemac --help says how";
  if (!options.input.ends_with(".fbs") && !options.input.ends_with(".bfbs"))
    return options.input + " is neither a .fbs nor a .bfbs";
  if (options.header.empty() && options.typescript.empty() && options.questions.empty() &&
      options.questions_page.empty() && !options.check)
    return "nothing to write (-o, --ts), and no --check";
  return "";
}

std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ' ' || c == '#') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

std::string dependencies(const Options& options, const std::vector<std::string>& files) {
  const std::filesystem::path folder = std::filesystem::path(options.input).parent_path();
  std::string text = escaped(!options.header.empty()       ? options.header
                             : !options.typescript.empty() ? options.typescript
                                                           : options.questions) +
                     ":";
  for (const std::string& file : files)
    if (file.starts_with("//")) text += " \\\n  " + escaped((folder / file.substr(2)).lexically_normal().string());
  return text + "\n";
}

}  // namespace

int main(int count, char** words) {
  using namespace muster::schemac;
  if (const int error = muster::occupy_standard_descriptors(); error != 0)
    return complain(std::string("/dev/null cannot be opened: ") + std::strerror(error));
  Options options;
  if (const std::string wrong = read_options(count, words, options); !wrong.empty()) return complain(wrong);
  if (options.help) {
    std::fputs(usage, stdout);
    return good;
  }

  const std::filesystem::path own = own_schemas();
  if (!own.empty()) options.include_folders.push_back(own.string());
  std::vector<std::byte> bfbs;
  if (options.input.ends_with(".fbs")) {
    std::error_code error;
    if (!std::filesystem::exists(options.input, error)) return complain(options.input, "no such file", wrong_usage);
    auto compiled = run_flatc(options.flatc, options.include_folders, options.input);
    if (!compiled) {
      if (!compiled.error().schema_is_wrong) return complain(options.input, compiled.error().what, wrong_usage);
      if (const std::string said = explain_refusal(options.input, options.include_folders, compiled.error().said);
          !said.empty()) {
        std::fprintf(stderr, "%s\n", said.c_str());
        return wrong_schema;
      }
      std::fputs(compiled.error().said.c_str(), stderr);
      return complain(options.input, compiled.error().what, wrong_schema);
    }
    bfbs = std::move(*compiled);
  } else {
    auto read = read_file(options.input);
    if (!read) return complain(options.input, read.error(), wrong_usage);
    bfbs = std::move(*read);
  }

  // A binary schema has no lines.
  std::optional<Places> places;
  if (options.input.ends_with(".fbs")) places.emplace(options.input, options.include_folders);
  const auto refuse = [&](const muster::SchemaError& error) {
    const std::string place = places ? places->of(error.type, error.field) : options.input + ": ";
    std::fprintf(stderr, "%s%s\n", place.c_str(), error.text().c_str());
    return wrong_schema;
  };
  const auto schema = muster::load_schema(bfbs);
  if (!schema) return refuse(schema.error());
  for (const muster::TypeDescriptor& type : schema->types)
    if (type.role == muster::TypeRole::component && type.journal != muster::JournalPolicy::always)
      return refuse(
          {type.name, "", "attribute 'journal' needs a message: a component is kept by the messages that change it"});
  if (const auto twins = muster::schemac::same_field_id(*schema)) return complain(options.input, *twins, wrong_schema);
  const std::string stem = std::filesystem::path(options.input).stem().string();
  const std::filesystem::path folder = std::filesystem::path(options.input).parent_path();
  const std::vector<std::string> files = source_files(bfbs);
  ClashInput names{*schema, bfbs, "//" + stem + ".fbs", {}};
  for (const std::string& file : files)
    if (options.in_tree || is_own_schema(own, folder / file.substr(2))) names.own_files.push_back(file);
  if (const auto clash = find_clash(names)) {
    if (clash->file.empty() || !places) return refuse(clash->error);
    std::fprintf(stderr, "%s%s: %s\n", places->of_include(clash->file).c_str(), clash->file.c_str(),
                 clash->error.what.c_str());
    return wrong_schema;
  }
  if (options.check) return good;

  if (std::ranges::find(files, "//" + stem + ".fbs") == files.end())
    return complain(options.input,
                    "does not say what " + stem + ".fbs declares: make it with flatc --bfbs-filenames FOLDER",
                    wrong_schema);
  HeaderInput input{*schema, bfbs, stem, {}, options.parts, !options.ts_bare, options.in_tree};
  for (const std::string& file : files)
    if (file != "//" + stem + ".fbs")
      input.includes.push_back(options.in_tree ? header_of(file) : included_header(own, folder / file.substr(2), file));
  const auto write = [](const std::string& path, const std::string& text) {
    const auto done = write_file(path, text.data(), text.size());
    return done ? good : static_cast<ExitCode>(complain(path, done.error(), wrong_usage));
  };
  if (!options.header.empty())
    if (const ExitCode code = write(options.header, write_header(input)); code != good) return code;
  if (!options.typescript.empty())
    if (const ExitCode code = write(options.typescript, write_typescript(input)); code != good) return code;
  if (!options.questions.empty())
    if (const ExitCode code = write(options.questions, write_question_table(input)); code != good) return code;
  if (!options.questions_page.empty())
    if (const ExitCode code = write(options.questions_page, write_question_page(input)); code != good) return code;
  if (!options.bfbs.empty())
    if (auto done = write_file(options.bfbs, bfbs.data(), bfbs.size()); !done)
      return complain(options.bfbs, done.error(), wrong_usage);
  if (!options.depfile.empty()) {
    const std::string text = dependencies(options, files);
    if (auto done = write_file(options.depfile, text.data(), text.size()); !done)
      return complain(options.depfile, done.error(), wrong_usage);
  }
  return good;
}
