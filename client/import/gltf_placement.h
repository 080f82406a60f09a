// Handles the placement of a glTF node in its parent's space, for both glTF 1.0 and 2.0.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/import/decompose.h"
#include "client/import/gltf_file.h"
#include "client/import/model.h"

namespace muster {

struct Trs {
  std::array<double, 3> translation{}, scale{1, 1, 1};
  std::array<double, 4> rotation{0, 0, 0, 1};
};

/// Converts a transform to floats. Omits any value that does not fit in a float, and any rotation
/// without a direction, and adds the names of the omitted values to `lost`.
scene::Transform transform_of(Trs trs, std::vector<std::string>& lost);

struct GltfPlacement {
  std::optional<Matrix> matrix;  ///< if set, used instead of the other members
  Trs trs;
};

/// Reads the placement of a node. Throws ReadFailure if a member is not a list of numbers with the
/// required length. `from` is the path of the node in the file.
GltfPlacement placement_of(const Json& node, const std::string& from);

/// Sets the transform of an entity. Adds a warning that names the parts that could not be
/// represented.
void place_node(ImportedModel& model, std::uint32_t place, const GltfPlacement& placement);

/// Those properties of a glTF 1.0 node that Assimp reports incorrectly.
struct Gltf1Node {
  std::string name;  ///< empty if the node has no name
  GltfPlacement placement;
};

/// Returns the nodes of a glTF 1.0 file, keyed by id. Throws ReadFailure if the file cannot be
/// read.
std::unordered_map<std::string, Gltf1Node> nodes_of_gltf_1(const std::filesystem::path& file);

}  // namespace muster
