// Where a node of a glTF file is in its parent's space; the same in glTF 1.0 and 2.0.
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

/// Returns the transform in floats. Leaves out values that a float cannot hold and rotations
/// without a direction, and names them in `lost`.
scene::Transform transform_of(Trs trs, std::vector<std::string>& lost);

struct GltfPlacement {
  std::optional<Matrix> matrix;  ///< if there is one, it stands for the other members
  Trs trs;
};

/// Reads the members of a node. Throws ReadFailure if one is not a list of the right number of
/// numbers; `from` is the node's place in the file.
GltfPlacement placement_of(const Json& node, const std::string& from);

/// Gives an entity that transform, with a warning that names the parts that cannot be kept.
void place_node(ImportedModel& model, std::uint32_t place, const GltfPlacement& placement);

/// What a node of a glTF 1.0 file says of itself.
struct Gltf1Node {
  std::string name;  ///< empty: it has none
  GltfPlacement placement;
};

/// The nodes of a glTF 1.0 file by their ids. Throws ReadFailure.
std::unordered_map<std::string, Gltf1Node> nodes_of_gltf_1(const std::filesystem::path& file);

}  // namespace muster
