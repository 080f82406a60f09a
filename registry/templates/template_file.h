// Reads templates from a file in the FlatBuffers JSON of schema/template.fbs. docs/templates.md
// shows an example.
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

/// An error in a template file, and its position.
struct TemplateError {
  std::string file;
  std::uint32_t line = 0;
  std::string path;          ///< "game.orc/body/arm"; empty if the error concerns the file
  std::string what;          ///< a whole sentence
  std::string text() const;  ///< "orcs.json:12: game.orc/body/arm: ..."
};

/// Limits on what a file may build. The reader counts first, so nothing that would exceed a limit
/// is built.
struct TemplateLimits {
  /// Limit on the nodes in all templates of the file together, with bases applied.
  std::uint64_t nodes_max = ~std::uint64_t{0};
  std::uint64_t bytes_max = ~std::uint64_t{0};  ///< bytes of their values

  /// Limit on comparisons of names that find children, bases and nodes that values refer to.
  std::uint64_t compares_max = ~std::uint64_t{0};
  std::size_t name_bytes_max = ~std::size_t{0};  ///< limit on the name of a template or node
};

/// Reads the templates of a file, in order, with bases and overrides applied. Defines nothing.
/// `registry` provides types, bases that are not in the file, and entities that values name by a
/// path starting with `/`. `file` is used only in errors. Stops at the first error.
[[nodiscard]] std::expected<std::vector<TemplateTree>, TemplateError> read_templates(std::string_view text,
                                                                                     std::string_view file,
                                                                                     const EntityRegistry& registry,
                                                                                     const TemplateLimits& limits = {});

/// Reads a file like read_templates(), one template at a time, so that the caller can do other work
/// in between. The registry must outlive this object, and may change between calls. Not
/// thread-safe.
class TemplateFile {
 public:
  TemplateFile(std::string_view text, std::string_view file, const EntityRegistry& registry,
               const TemplateLimits& limits = {});
  ~TemplateFile();
  TemplateFile(const TemplateFile&) = delete;
  TemplateFile& operator=(const TemplateFile&) = delete;

  /// Builds the next template of the file, and those of the file on which it depends. Returns false
  /// at the end, or on an error.
  bool go_on();
  /// Returns the result of read_templates(). Must be called once, after go_on() has returned false.
  [[nodiscard]] std::expected<std::vector<TemplateTree>, TemplateError> take();

 private:
  class Reader;
  std::expected<std::unique_ptr<Reader>, TemplateError> reader_;
};

/// Reads a file's templates and defines them all. On an error in the file, defines nothing. Returns
/// their names.
[[nodiscard]] std::expected<std::vector<std::string>, TemplateError> define_templates(
    EntityRegistry& registry, std::string_view text, std::string_view file, const TemplateLimits& limits = {});
/// Explains why a DefineTemplate was refused.
[[nodiscard]] TemplateError refused_definition(const EntityRegistry& registry, const Receipt& receipt,
                                               std::string_view file, std::string_view name);
/// Defines the result of read_templates, in order. Stops at the first refusal; earlier templates
/// stay defined.
[[nodiscard]] std::expected<std::vector<std::string>, TemplateError> define_templates(
    EntityRegistry& registry, std::span<const TemplateTree> trees, std::string_view file);

}  // namespace muster
