// Represents a model file as a plain list of the entities to create. This code depends on files,
// but not on registries or sockets.
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

/// Limit on the size of an entity's name in a world, in bytes.
constexpr std::size_t name_bytes_max = 255;

struct ImportedMesh {
  std::string name;         ///< the mesh's name in the file; may be empty
  std::uint32_t index = 0;  ///< The mesh's index among the file's meshes (MeshReference).
  /// Bounding box of the vertices. Empty if there are no vertices or they are compressed.
  std::optional<scene::Shape> bounds;
  std::optional<scene::Color> color;  ///< base color of the mesh's material
};

/// One entity to create. Most entities are nodes of the file. A part is added below a node for
/// something that does not fit on the node itself (see read_model).
struct ImportedEntity {
  static constexpr std::uint32_t no_parent = ~0u;
  std::uint32_t parent = no_parent;  ///< index of the parent in ImportedModel::entities; parents
                                     ///< come before their children
  std::uint32_t depth = 0;           ///< number of levels below the root; 0 for the root
  bool is_part = false;
  bool is_named = true;  ///< false if `name` was generated or is an id, in which case it gets a
                         ///< suffix if it conflicts with another name
  std::string name;      ///< valid UTF-8; may be empty and need not be unique
  scene::Transform transform;
  std::optional<ImportedMesh> mesh;
  std::optional<scene::Light> light;
  std::optional<scene::Camera> camera;
};

struct ImportedModel {
  /// The root comes first, parents come before their children, and children are in file order.
  std::vector<ImportedEntity> entities;
  /// Warnings about contents that could not be imported exactly, with their positions.
  std::vector<std::string> warnings;
};

/// The reason why a file could not be read.
struct ModelError {
  std::filesystem::path file;
  std::string what;          ///< the reason, including the position in the file if the reader knows
                             ///< it
  std::string text() const;  ///< "cannot import levels/town.gltf: there is no such file"
};

/// Limits on the cost of importing one file. A world accepts no more than `entities_max` entities
/// and `depth_max` levels from one session.
struct ModelLimits {
  std::uint32_t entities_max = 1'000'000;
  std::uint32_t depth_max = 1024;  ///< Limit on the number of levels below the root.
  /// Limits on the reader's memory and processor time, and the amounts by which each MiB of the
  /// file increases them.
  std::uint64_t memory_mib = 1024, memory_mib_per_mib = 32;
  std::uint32_t seconds = 10, seconds_per_mib = 1;
};

/// Reads a model file. Each node becomes one entity, with its name and its transform relative to
/// its parent; nothing is merged or optimized. If the file has a single root node, that node is the
/// root; otherwise a root is added. The root is scaled and rotated so that lengths are in meters
/// and +Y is up.
///
/// glTF 2.0 (.gltf, .glb) has its own reader; Assimp reads the other formats. docs/cli.md lists the
/// contents that are imported from each format.
/// - If a node has only one mesh, the mesh is placed on the node's entity. If a node has several
///   meshes, each mesh is placed on its own part, which is named after the mesh.
/// - A light or camera is placed on its node's entity. However, files in formats other than glTF
///   may rotate or move a light or camera relative to its node, or put several on one node. These
///   lights and cameras are placed on parts named "light" or "camera", so that all of them point
///   along -Z.
/// - Instances (EXT_mesh_gpu_instancing) become parts named "instance".
/// - Position, rotation, and scale cannot express shear. A transform with shear keeps its position,
///   first axis, and mirroring; the rest is replaced by that of the nearest transform without
///   shear. A warning names the transform.
/// - Numbers that a world refuses (not finite, or outside the range of their field in scene.fbs)
///   are clamped. A transform that is not finite becomes the identity. A name longer than 255 bytes
///   is shortened. Each of these changes causes a warning.
///
/// The file is read in a child process, to which the limits apply. The function returns an error if
/// the file exceeds a limit, crashes the reader, or is broken, missing, or empty. The child does
/// not use the caller's threads or descriptors. May be called from any thread, and blocks until the
/// file has been read.
[[nodiscard]] std::expected<ImportedModel, ModelError> read_model(const std::filesystem::path& file,
                                                                  const ModelLimits& limits = {});

}  // namespace muster
