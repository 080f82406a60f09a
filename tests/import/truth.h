// What a glTF file says, read here from its JSON without anything of the importer, for tests to
// compare with.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace muster::test {

using Grid = std::array<double, 16>;  ///< column by column, as glTF has it

struct TrueBox {
  std::array<double, 3> low, high;
};

struct TrueLight {
  std::string kind;
  double intensity, range, inner, outer;  ///< half angles in radians
  std::array<double, 3> color;
};

struct TrueCamera {
  bool orthographic;
  double near, far;
  double yfov, aspect;  ///< 0: not said
  double xmag, ymag;
};

struct TrueNode {
  std::string name;
  std::size_t depth = 0;
  Grid world{};                 ///< from its own space to the scene's
  std::vector<Grid> instances;  ///< of its mesh, in the scene's space; the node's own without EXT_mesh_gpu_instancing
  std::vector<TrueBox>
      boxes;  ///< of the primitives of its mesh: of vertices where they can be read, of min and max otherwise
  std::optional<TrueLight> light;
  std::optional<TrueCamera> camera;
};

/// The nodes of the scene that the file shows, parents before children, in the file's order.
std::vector<TrueNode> truth_of(const std::filesystem::path& file);

Grid multiply(const Grid& a, const Grid& b);

}  // namespace muster::test
