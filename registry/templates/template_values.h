// Reads the values in a template file: components, initial messages, and their fields.
// template_file.cc reads nodes, bases, and overrides. Private to registry/templates/*.cc.
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
/// Joins strings with a separator.
std::string joined(std::span<const std::string> parts, const char* between = ", ");
}  // namespace template_text

/// The checks that apply to everything in a template file. Stores the first error. Every check
/// returns false if something is wrong.
class TemplateChecks {
 public:
  TemplateChecks(std::string_view file, const TemplateLimits& limits)
      : file_(file), limits_(limits), compares_left_(limits.compares_max) {}

  bool fail(std::uint32_t line, const std::string& path, std::string what);
  bool failed() const noexcept { return failed_; }
  /// Returns the first error. There must be one.
  const TemplateError& error() const noexcept { return error_; }

  /// Checks that `json` is of this kind. Errors refer to the value as `field`.
  bool expect(const Json& json, Json::Kind kind, const char* wanted, const std::string& path, const char* field);
  /// Checks that an object has only these members. Errors refer to the object as `of`.
  bool fields(const Json& json, std::initializer_list<std::string_view> known, const char* of, const std::string& path);
  bool check_name(const std::string& name, std::uint32_t line, const std::string& path);

  /// Counts the nodes and bytes that are about to be added to a template.
  bool count(const TemplateTree::Size& more, std::uint32_t line, const std::string& path);
  /// Counts the names that are about to be compared.
  bool compare(std::uint64_t names, std::uint32_t line, const std::string& path) {
    if (names > compares_left_) return too_many_compares(line, path);
    compares_left_ -= names;
    return true;
  }
  /// Returns the number of comparisons that are still allowed. TemplateTree::merge decrements it.
  std::uint64_t& compares_left() noexcept { return compares_left_; }
  bool too_many_compares(std::uint32_t line, const std::string& path);

 private:
  std::string file_;
  const TemplateLimits limits_;
  std::uint64_t nodes_ = 0, bytes_ = 0;  // totals of the templates built so far
  std::uint64_t compares_left_;
  bool failed_ = false;
  TemplateError error_;
};

/// Reads values into the nodes of a single template. The constructor's arguments must outlive it.
class TemplateValues {
 public:
  TemplateValues(TemplateChecks& checks, const EntityRegistry& registry, TemplateTree& tree)
      : checks_(checks), registry_(registry), tree_(tree) {}

  TemplateTree& tree() noexcept { return tree_; }
  /// Adds a component to a node, or changes the specified fields of an existing one. If the value
  /// is null, removes the component. `path` is the path of the node, for errors.
  bool component(TemplateTree::Node& into, const Json::Member& member, const std::string& path);
  /// Adds an initial message to a node.
  bool message(TemplateTree::Node& into, const Json& json, const std::string& path);
  /// Resolves the fields that name a node. Must be called once all nodes exist.
  bool resolve();

 private:
  /// A field that will contain the id of another node, as written in the file.
  struct Named {
    std::uint32_t node;  // key of the node whose value contains the field
    bool message;
    std::size_t index;  // index of the message; for a component, the component's type
    std::uint32_t offset;
    std::string target;
    std::uint32_t line;
    std::string path;
  };
  /// The value that is being read.
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
  /// Discards the references to nodes in a part of a value that is being overwritten.
  void forget(std::uint32_t node, bool message, std::size_t index, std::uint32_t offset, std::uint32_t bytes);
  /// Adds the default contents of text fields to the tree.
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
