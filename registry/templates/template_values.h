// Reads the values of a template file: components, initial messages, and their fields.
// template_file.cc reads nodes, bases and overrides. Private to registry/templates/*.cc.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/templates/template_file.h"
#include "registry/templates/template_json.h"
#include "registry/templates/template_tree.h"

namespace muster {

namespace template_text {
/// Joins texts with a separator.
std::string joined(std::span<const std::string> parts, const char* between = ", ");
/// Quotes a name for errors.
std::string quoted(std::string_view text);
}  // namespace template_text

/// Checks that apply to everything in a template file. Keeps the first error; every check returns
/// false if something is wrong.
class TemplateChecks {
 public:
  TemplateChecks(std::string_view file, const TemplateLimits& limits)
      : file_(file), limits_(limits), compares_left_(limits.compares_max) {}

  bool fail(std::uint32_t line, const std::string& path, std::string what);
  bool failed() const noexcept { return failed_; }
  /// The first error; there must be one.
  const TemplateError& error() const noexcept { return error_; }

  /// Checks that `json`, called `field` in errors, is of this kind.
  bool expect(const Json& json, Json::Kind kind, const char* wanted, const std::string& path, const char* field);
  /// Checks that an object, called `of` in errors, has no members except these.
  bool fields(const Json& json, std::initializer_list<std::string_view> known, const char* of, const std::string& path);
  bool check_name(const std::string& name, std::uint32_t line, const std::string& path);

  /// Counts nodes and bytes that are about to be added to a template.
  bool count(const TemplateTree::Size& more, std::uint32_t line, const std::string& path);
  /// Counts names that are about to be compared.
  bool compare(std::uint64_t names, std::uint32_t line, const std::string& path) {
    if (names > compares_left_) return too_many_compares(line, path);
    compares_left_ -= names;
    return true;
  }
  /// Returns the number of allowed comparisons for TemplateTree::merge, which does the counting.
  std::uint64_t& compares_left() noexcept { return compares_left_; }
  bool too_many_compares(std::uint32_t line, const std::string& path);

 private:
  std::string file_;
  const TemplateLimits limits_;
  std::uint64_t nodes_ = 0, bytes_ = 0;  // of the templates built so far
  std::uint64_t compares_left_;
  bool failed_ = false;
  TemplateError error_;
};

/// Reads values into the nodes of one template. The constructor's arguments must outlive it.
class TemplateValues {
 public:
  TemplateValues(TemplateChecks& checks, const EntityRegistry& registry, TemplateTree& tree)
      : checks_(checks), registry_(registry), tree_(tree) {}

  TemplateTree& tree() noexcept { return tree_; }
  /// Adds a component to a node, or changes the given fields. If the value is null, removes the
  /// component. `path` is the node's path, for errors.
  bool component(TemplateTree::Node& into, const Json::Member& member, const std::string& path);
  /// Adds an initial message to a node.
  bool message(TemplateTree::Node& into, const Json& json, const std::string& path);
  /// Must be called when all nodes exist: makes fields that name a node refer to it.
  bool resolve();

 private:
  /// A field that will hold another node's id, as written in the file.
  struct Named {
    std::uint32_t node;  // key of the node whose value contains the field
    bool message;
    std::size_t index;  // index of the message; for a component, its type
    std::uint32_t offset;
    std::string target;
    std::uint32_t line;
    std::string path;
  };
  /// The value being read.
  struct Target {
    const TypeDescriptor& type;
    TemplateTree::Value& value;
    std::uint32_t node;
    bool message;
    std::size_t index;
  };
  bool table_message(TemplateTree::Node& into, const TypeDescriptor& type, const Json& json, const std::string& path);
  bool object(Target& target, const Json& json, const std::string& prefix, const std::string& path);
  bool field(Target& target, const Json& json, const std::string& name, std::uint32_t line, const std::string& path);
  /// Forgets nodes that were named in a part of a value that is overwritten.
  void forget(std::uint32_t node, bool message, std::size_t index, std::uint32_t offset, std::uint32_t bytes);
  /// Registers the default contents of text fields.
  void default_texts(const TypeDescriptor& type);
  bool fail(std::uint32_t line, const std::string& path, std::string what) {
    return checks_.fail(line, path, std::move(what));
  }

  TemplateChecks& checks_;
  const EntityRegistry& registry_;
  TemplateTree& tree_;
  std::vector<Named> named_;
};

}  // namespace muster
