// Templates from a file: FlatBuffers JSON of schema/template.fbs. docs/templates.md shows one.
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

/// What is wrong with a template file, and where.
struct TemplateError {
  std::string file;
  std::uint32_t line = 0;
  std::string path;          ///< "game.orc/body/arm", empty where it is about the file
  std::string what;          ///< a whole sentence
  std::string text() const;  ///< "orcs.json:12: game.orc/body/arm: ..."
};

/// What a file may ask for. Nothing is built that would exceed one: the reader counts before it works.
struct TemplateLimits {
  std::uint64_t nodes_max = ~std::uint64_t{0};     ///< of all templates of the file together, bases worked in
  std::uint64_t bytes_max = ~std::uint64_t{0};     ///< of their values
  std::uint64_t compares_max = ~std::uint64_t{0};  ///< of names, to find children, bases and nodes that values name
  std::size_t name_bytes_max = ~std::size_t{0};    ///< of the name of a template or a node
};

/// The templates of a file, in its order, bases and overrides worked in. Nothing is defined by it. `registry` is asked for
/// types, for bases that are not in the file, and for entities that values name by a path that begins with `/`. `file` is
/// for errors only. The first error found ends it.
[[nodiscard]] std::expected<std::vector<TemplateTree>, TemplateError> read_templates(std::string_view text,
                                                                                     std::string_view file,
                                                                                     const EntityRegistry& registry,
                                                                                     const TemplateLimits& limits = {});

/// The same, one template after the other, for whoever has other things to do between two. The registry must outlive it, and may
/// change meanwhile. Not thread-safe.
class TemplateFile {
 public:
  TemplateFile(std::string_view text, std::string_view file, const EntityRegistry& registry,
               const TemplateLimits& limits = {});
  ~TemplateFile();
  TemplateFile(const TemplateFile&) = delete;
  TemplateFile& operator=(const TemplateFile&) = delete;

  /// Makes the next template of the file, and those of the file that it is made of. False: there is none, or something is wrong.
  bool go_on();
  /// What read_templates gives; to be called once, when go_on() gave false.
  [[nodiscard]] std::expected<std::vector<TemplateTree>, TemplateError> take();

 private:
  class Reader;
  std::expected<std::unique_ptr<Reader>, TemplateError> reader_;
};

/// Reads a file's templates and defines them all. On an error of the file nothing is defined. Gives their names.
[[nodiscard]] std::expected<std::vector<std::string>, TemplateError> define_templates(
    EntityRegistry& registry, std::string_view text, std::string_view file, const TemplateLimits& limits = {});
/// Why a DefineTemplate was refused.
[[nodiscard]] TemplateError refused_definition(const EntityRegistry& registry, const Receipt& receipt,
                                               std::string_view file, std::string_view name);
/// Defines what read_templates gave, in order; the first that is refused ends it, those before it are defined.
[[nodiscard]] std::expected<std::vector<std::string>, TemplateError> define_templates(
    EntityRegistry& registry, std::span<const TemplateTree> trees, std::string_view file);

}  // namespace muster
