// A model file as a plain list of future entities. Depends on files, but not on registries or
// sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schema/scene.h"

namespace muster {

/// Limit on the bytes of an entity's name in a world.
constexpr std::size_t name_bytes_max = 255;

struct ImportedMesh {
  std::string name;         ///< as in the file; may be empty
  std::uint32_t index = 0;  ///< the mesh's index among the file's meshes (MeshReference)
  /// Box around its vertices; none if it has no vertices or they are compressed.
  std::optional<scene::Shape> bounds;
  std::optional<scene::Color> color;  ///< base color of its material
};

/// One future entity. Nodes are the file's own; a part is added below a node for things that do not
/// fit on the node itself (read_model).
struct ImportedEntity {
  static constexpr std::uint32_t no_parent = ~0u;
  std::uint32_t parent = no_parent;  ///< index in ImportedModel::entities, before this entity
  std::uint32_t depth = 0;           ///< 0 for the root
  bool is_part = false;
  bool is_named = true;  ///< false if `name` is made up or an id, and yields to names
  std::string name;      ///< valid UTF-8; may be empty, need not be unique
  scene::Transform transform;
  std::optional<ImportedMesh> mesh;
  std::optional<scene::Light> light;
  std::optional<scene::Camera> camera;
};

struct ImportedModel {
  /// The root comes first, parents before children, and children in file order.
  std::vector<ImportedEntity> entities;
  /// Sentences about things that could not be kept exactly, with their places.
  std::vector<std::string> warnings;
};

/// The reason why a file was not read.
struct ModelError {
  std::filesystem::path file;
  std::string what;          ///< the reason, with the position in the file if the reader knows it
  std::string text() const;  ///< "cannot import levels/town.gltf: there is no such file"
};

/// Limits on the cost of one file. A world accepts no more entities and levels from one session.
struct ModelLimits {
  std::uint32_t entities_max = 1'000'000;
  std::uint32_t depth_max = 1024;  ///< levels below the root
  /// Memory and processor time of the reader, and how much each MiB of the file adds to them.
  std::uint64_t memory_mib = 1024, memory_mib_per_mib = 32;
  std::uint32_t seconds = 10, seconds_per_mib = 1;
};

/// Reads a model file. Each node becomes one entity, with its name and its transform relative to
/// its parent; nothing is merged or optimized. If the file has a single root node, that node is the
/// root; otherwise a root is added. The root is scaled and rotated so that lengths are in meters
/// and +Y is up.
///
/// glTF 2.0 (.gltf, .glb) has its own reader; Assimp reads the other formats. docs/cli.md lists
/// what is imported from each format.
/// - A node's only mesh is on the node's entity. If a node has several meshes, each is on a part
///   named after the mesh.
/// - A light or camera is on its node's entity. A file in a format other than glTF may rotate or
///   move it relative to the node, or put several on one node. These are on parts named "light" or
///   "camera", so that all of them look along -Z.
/// - Instances (EXT_mesh_gpu_instancing) are parts named "instance".
/// - Position, rotation and scale cannot express shear. A transform with shear keeps its position,
///   first axis and mirroring, and is otherwise replaced by the nearest one without shear. A
///   warning names it.
/// - Numbers that a world refuses (not finite, or outside the range of their field in scene.fbs)
///   are clamped. A transform that is not finite becomes the identity. A name of more than 255
///   bytes is shortened. A warning names each.
///
/// The file is read in a child process, to which the limits apply. If the file exceeds a limit or
/// crashes the reader, that is an error, as for a broken, missing or empty file. The child does not
/// use the caller's threads or descriptors. Any thread may call this; it blocks until the file has
/// been read.
[[nodiscard]] std::expected<ImportedModel, ModelError> read_model(const std::filesystem::path& file,
                                                                  const ModelLimits& limits = {});

}  // namespace muster
