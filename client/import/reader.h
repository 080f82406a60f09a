// Declares the code that the readers of all formats share.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "client/import/decompose.h"
#include "client/import/model.h"

namespace muster {

/// Thrown if a file cannot be read. The message becomes ModelError::what.
class ReadFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads glTF 2.0. Returns nothing if the file is glTF 1.0. Throws ReadFailure.
std::optional<ImportedModel> read_gltf(const std::filesystem::path& file, const ModelLimits& limits);

/// Reads any other format. Must be called in a process that exits soon, because Assimp's data is
/// not freed. Throws ReadFailure.
ImportedModel read_with_assimp(const std::filesystem::path& file, const ModelLimits& limits);

/// Adds an entity below `parent` (ImportedEntity::no_parent for the root) and returns the entity's
/// index. Adds a warning if the name must be changed. Throws ReadFailure if a limit is exceeded.
std::uint32_t add_entity(ImportedModel& model, const ModelLimits& limits, std::uint32_t parent, std::string_view name,
                         bool is_part);

/// Sets the transform of an entity from a matrix. Adds a warning about any part of the matrix that
/// cannot be represented.
void place_by_matrix(ImportedModel& model, std::uint32_t place, const Matrix& matrix);

/// Shortens names that a world would refuse, with a warning for each.
void shorten_names(ImportedModel& model);

/// Checks the numbers of one light, camera, or mesh. A file may contain negative, infinite, or
/// absurdly large numbers, all of which a world would refuse.
class Numbers {
 public:
  /// `of` names the light, camera, or mesh in warnings, as in "camera \"Eye\"".
  Numbers(std::string of, std::vector<std::string>& warnings) : of_(std::move(of)), warnings_(warnings) {}

  /// Returns the number clamped to 0..most, or `otherwise` if it is not finite. Adds a warning if
  /// the result differs from the number.
  float within(const char* what, double value, double most, double otherwise = 0);
  void tell(const std::string& what) { warnings_.push_back(of_ + ' ' + what); }

 private:
  std::string of_;
  std::vector<std::string>& warnings_;
};

struct Box {
  std::array<double, 3> low, high;
};

/// Converts a box to a Shape. If the size of the box does not fit in a float, adds a warning and
/// returns nothing.
std::optional<scene::Shape> shape_of(const Box& box, Numbers& numbers);

/// Describes a node for messages, as in "node \"door\" (12)".
std::string node_text(const ImportedModel& model, std::uint32_t place);

}  // namespace muster
