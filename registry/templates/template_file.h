// Reads templates from a file in the FlatBuffers JSON format of schema/template.fbs.
// docs/templates.md contains an example.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/templates/template_tree.h"

namespace muster {

struct Receipt;

/// An error in a template file, with its position.
struct TemplateError {
  std::string file;
  std::uint32_t line = 0;
  std::string path;          ///< such as "game.orc/body/arm"; empty if the error concerns the file
  std::string what;          ///< a complete sentence
  std::string text() const;  ///< "orcs.json:12: game.orc/body/arm: ..."
};

/// Limits on what a file may build. The reader counts nodes, bytes, and comparisons before it
/// builds anything, so a limit is never exceeded.
struct TemplateLimits {
  /// Limit on the total number of nodes in all templates of the file, with bases applied.
  std::uint64_t nodes_max = ~std::uint64_t{0};
  std::uint64_t bytes_max = ~std::uint64_t{0};  ///< limit on the bytes of the nodes' values

  /// Limit on the number of name comparisons made to find children, bases, and referenced nodes.
  std::uint64_t compares_max = ~std::uint64_t{0};
  std::size_t name_bytes_max = ~std::size_t{0};  ///< limit on the length of a template or node name
};

/// Reads the templates in a file, in order, with bases and overrides applied. Does not define them.
/// `registry` provides types, bases that are not in the file, and the entities to which values
/// refer by a path that starts with `/`. `file` is used only in errors. Stops at the first error.
[[nodiscard]] std::expected<std::vector<TemplateTree>, TemplateError> read_templates(std::string_view text,
                                                                                     std::string_view file,
                                                                                     const EntityRegistry& registry,
                                                                                     const TemplateLimits& limits = {});

/// Reads a file in the same way as read_templates(), but one template at a time, so that the caller
/// can do other work in between. The registry must outlive this object but may change between
/// calls. Not thread-safe.
class TemplateFile {
 public:
  TemplateFile(std::string_view text, std::string_view file, const EntityRegistry& registry,
               const TemplateLimits& limits = {});
  ~TemplateFile();
  TemplateFile(const TemplateFile&) = delete;
  TemplateFile& operator=(const TemplateFile&) = delete;

  /// Builds the next template in the file, together with any other templates in the file on which
  /// that template depends. Returns false at the end of the file or on an error.
  bool go_on();
  /// Returns the result, as read_templates() would. Must be called exactly once, after go_on() has
  /// returned false.
  [[nodiscard]] std::expected<std::vector<TemplateTree>, TemplateError> take();

 private:
  class Reader;
  std::expected<std::unique_ptr<Reader>, TemplateError> reader_;
};

/// Reads the templates in a file and defines all of them. If there is an error in the file, defines
/// none. Returns their names.
[[nodiscard]] std::expected<std::vector<std::string>, TemplateError> define_templates(
    EntityRegistry& registry, std::string_view text, std::string_view file, const TemplateLimits& limits = {});
/// Explains why a DefineTemplate was refused.
[[nodiscard]] TemplateError refused_definition(const EntityRegistry& registry, const Receipt& receipt,
                                               std::string_view file, std::string_view name);
/// Defines the templates that read_templates() returned, in order. Stops at the first refusal; the
/// templates before it remain defined.
[[nodiscard]] std::expected<std::vector<std::string>, TemplateError> define_templates(
    EntityRegistry& registry, std::span<const TemplateTree> trees, std::string_view file);

}  // namespace muster
