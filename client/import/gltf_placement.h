// The placement of a glTF node in its parent's space. glTF 1.0 and 2.0 share it.
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

/// Returns the transform in floats. Leaves out values that do not fit in a float and rotations
/// without a direction, and adds their names to `lost`.
scene::Transform transform_of(Trs trs, std::vector<std::string>& lost);

struct GltfPlacement {
  std::optional<Matrix> matrix;  ///< if set, it replaces the other members
  Trs trs;
};

/// Reads the members of a node. Throws ReadFailure if one is not a list with the right number of
/// numbers; `from` is the node's place in the file.
GltfPlacement placement_of(const Json& node, const std::string& from);

/// Gives an entity the transform. Adds a warning that names the parts that cannot be kept.
void place_node(ImportedModel& model, std::uint32_t place, const GltfPlacement& placement);

/// The properties of a node in a glTF 1.0 file.
struct Gltf1Node {
  std::string name;  ///< empty if it has none
  GltfPlacement placement;
};

/// Returns the nodes of a glTF 1.0 file by id. Throws ReadFailure.
std::unordered_map<std::string, Gltf1Node> nodes_of_gltf_1(const std::filesystem::path& file);

}  // namespace muster
