#include "schema/schemac/clashes.h"

#include <flatbuffers/reflection.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "schema/schemac/names.h"
#include "schema/schemac/reserved.h"

namespace muster::schemac {
namespace {

std::string name_of_file(std::string_view file) { return std::string(file.substr(file.rfind('/') + 1)); }

class Search {
 public:
  explicit Search(const ClashInput& input) : input_(input) {
    const reflection::Schema* schema = reflection::GetSchema(input.bfbs.data());
    if (!schema->fbs_files()) return;
    for (const reflection::SchemaFile* file : *schema->fbs_files()) {
      std::vector<std::string>& included = files_[file->filename()->str()];
      if (file->included_filenames())
        for (const flatbuffers::String* name : *file->included_filenames()) included.push_back(name->str());
    }
  }

  std::optional<Clash> run() {
    if (check_files() && check_circles() && check_types() && check_older_names()) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool fail_file(const std::string& file, std::string what) {
    found_ = Clash{name_of_file(file), {"", "", std::move(what)}};
    return false;
  }
  bool fail(std::string type, std::string field, std::string what) {
    found_ = Clash{"", {std::move(type), std::move(field), std::move(what)}};
    return false;
  }
  bool is_own(const std::string& file) const {
    return std::ranges::find(input_.own_files, file) != input_.own_files.end();
  }

  bool check_files() {
    std::map<std::string, std::string> stems;
    for (const auto& [file, included] : files_) {
      const std::string stem = stem_of(file);
      const bool odd = std::ranges::any_of(
          stem, [](char c) { return c == '"' || c == '\'' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
      if (odd)
        return fail_file(file, "quotes, backslashes and control characters do not belong into a schema's file name");
      const auto [other, fresh] = stems.emplace(stem, file);
      if (!fresh)
        return fail_file(file, file.substr(2) + " and " + other->second.substr(2) + " would both become " + stem +
                                   ".h and " + stem + ".ts; rename one of them");
      if (is_own(file)) continue;
      if (stem == "muster") return fail_file(file, "muster.fbs is the name of Muster's own schema; rename this one");
      if (is_c_header(stem))
        return fail_file(file, "its header " + stem + ".h would be included in place of <" + stem + ".h>; rename it");
    }
    return true;
  }

  bool check_circles() {
    for (const auto& [file, included] : files_) {
      std::vector<std::string> way = {file};
      if (leads_back(way))
        return fail_file(way[1 % way.size()],
                         "files include each other: " + listed(way) + "; declare their types in one file");
    }
    return true;
  }
  /// Returns true if the last file of `way` includes the first one, directly or through others, and
  /// then `way` has the files between them. Each file is visited once.
  bool leads_back(std::vector<std::string>& way) const {
    std::vector<std::string> seen;
    const auto visit = [&](const auto& self) -> bool {
      const auto at = files_.find(way.back());
      if (at == files_.end()) return false;
      for (const std::string& next : at->second) {
        if (next == way.front()) return true;
        if (std::ranges::find(seen, next) != seen.end()) continue;
        seen.push_back(next);
        way.push_back(next);
        if (self(self)) return true;
        way.pop_back();
      }
      return false;
    };
    return visit(visit);
  }
  static std::string listed(const std::vector<std::string>& way) {
    std::string text;
    for (const std::string& file : way) text += name_of_file(file) + " -> ";
    return text + name_of_file(way.front());
  }

  /// Adds a name to the global names of C++. `user` is what uses the name: "the namespace g.a".
  bool use(const std::string& cpp, const std::string& type, const std::string& file, const std::string& user) {
    const auto [at, fresh] = users_.emplace(cpp, User{type, file, user});
    if (fresh || (type.empty() && at->second.type.empty())) return true;
    const User& other = at->second;
    const bool blame_other = type.empty() || (file != input_.file && other.file == input_.file && !other.type.empty());
    return fail(blame_other ? other.type : type, "",
                "C++ would have one name, " + cpp.substr(2) + ", for " + user + " and for " + other.user +
                    "; rename one of them");
  }
  bool use_type(const std::string& name, const std::string& file, bool is_table) {
    if ((name == "muster" || name.starts_with("muster.")) && !is_own(file))
      return fail(name, "", "the namespace muster is for Muster's own schemas; use another one");
    const std::string cpp = cpp_absolute_name(name);
    if (!use(cpp, name, file, "the type " + name)) return false;
    if (is_table && !use(cpp + "View", name, file, "the view of the table " + name)) return false;
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      if (!use(cpp_absolute_name(name.substr(0, dot)), "", file, "the namespace " + name.substr(0, dot))) return false;
    return true;
  }
  bool check_types() {
    for (const EnumDescriptor& type : input_.schema.enums) {
      if (!type.values.empty() && !use_type(type.name, type.file, false)) return false;
      if (!check_native(type)) return false;
    }
    for (const TypeDescriptor& type : input_.schema.types)
      if (!use_type(type.name, type.file, type.is_table)) return false;
    return true;
  }
  bool check_native(const EnumDescriptor& type) {
    const auto* const from = reflection::GetSchema(input_.bfbs.data())->enums()->LookupByKey(type.name.c_str());
    const auto* const native = from && from->attributes() ? from->attributes()->LookupByKey("native_type") : nullptr;
    if (!native) return true;
    std::string_view rest = native->value() ? native->value()->string_view() : std::string_view();
    if (rest.starts_with("::")) rest.remove_prefix(2);
    for (;;) {
      const std::string_view part = rest.substr(0, rest.find("::"));
      const bool good = !part.empty() && !(part.front() >= '0' && part.front() <= '9') && !is_reserved(part) &&
                        std::ranges::all_of(part, [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
                        });
      if (!good) return fail(type.name, "", "native_type is not the name of an enum class, as in \"game::Team\"");
      if (part.size() == rest.size()) return true;
      rest.remove_prefix(part.size() + 2);
    }
  }

  bool check_older_names() {
    std::map<std::string_view, const TypeDescriptor*> older;
    for (const TypeDescriptor& type : input_.schema.types) {
      if (!type.was.empty())
        if (const auto [other, fresh] = older.emplace(type.was, &type); !fresh)
          return fail(type.name, "", "was '" + type.was + "' is also the older name of " + other->second->name);
      std::map<std::string_view, const FieldDescriptor*> fields;
      for (const FieldDescriptor& field : type.fields)
        if (!field.was.empty())
          if (const auto [other, fresh] = fields.emplace(field.was, &field); !fresh)
            return fail(type.name, field.name,
                        "was '" + field.was + "' is also the older name of " + other->second->name);
    }
    return true;
  }

  struct User {
    std::string type, file, user;
  };
  const ClashInput& input_;
  std::map<std::string, std::vector<std::string>> files_;  // file -> those that it includes
  std::map<std::string, User> users_;                      // name in C++ -> its first user
  Clash found_;
};

}  // namespace

std::optional<Clash> find_clash(const ClashInput& input) { return Search(input).run(); }

}  // namespace muster::schemac
