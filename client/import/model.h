// A model file as a plain list of what will be entities. Knows files, not registries or sockets.
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
  std::string name;         ///< as in the file, may be empty
  std::uint32_t index = 0;  ///< its place among the file's meshes (MeshReference)
  /// Box around its vertices; none if it has none, or they are compressed
  std::optional<scene::Shape> bounds;
  std::optional<scene::Color> color;  ///< its material's base colour
};

/// One entity to be. Nodes are the file's own; a part is added below its node for what does not fit
/// on the node (read_model).
struct ImportedEntity {
  static constexpr std::uint32_t no_parent = ~0u;
  std::uint32_t parent = no_parent;  ///< place in ImportedModel::entities, always before this one
  std::uint32_t depth = 0;           ///< of the root: 0
  bool is_part = false;
  bool is_named = true;  ///< in the file; false: `name` is made up, or an id, and yields to names
  std::string name;      ///< valid UTF-8; not unique, may be empty
  scene::Transform transform;
  std::optional<ImportedMesh> mesh;
  std::optional<scene::Light> light;
  std::optional<scene::Camera> camera;
};

struct ImportedModel {
  /// Parents before children, children in the file's order; the root first
  std::vector<ImportedEntity> entities;
  /// Whole sentences: what could not be kept exactly, and where
  std::vector<std::string> warnings;
};

/// Why a file was not read.
struct ModelError {
  std::filesystem::path file;
  std::string what;          ///< the reason, with the place in the file if the reader knows it
  std::string text() const;  ///< "cannot import levels/town.gltf: there is no such file"
};

/// Limits on what one file may cost. A world takes no more entities and levels from one session.
struct ModelLimits {
  std::uint32_t entities_max = 1'000'000;
  std::uint32_t depth_max = 1024;  ///< levels below the root
  /// Memory and processor time of the reader, and what each MiB of the file adds to both.
  std::uint64_t memory_mib = 1024, memory_mib_per_mib = 32;
  std::uint32_t seconds = 10, seconds_per_mib = 1;
};

/// Reads a model file. Each node becomes one entity, with its name and its transform relative to
/// its parent; nothing is merged or optimised. A file with one root node has that node as its root;
/// otherwise a root is added. Lengths become metres and +Y up, by a scale and a turn of the root.
///
/// glTF 2.0 (.gltf, .glb) has a reader of its own; Assimp reads the other formats. docs/cli.md
/// lists what each carries over.
///   - A node's only mesh is on the node's entity. If a node has several, each is on a part named
///     after its mesh.
///   - A light or camera is on its node's entity. A file other than glTF may turn or move it
///     relative to the node, or put several on one: those are on parts named "light" or "camera",
///     so that all look along -Z.
///   - Instances (EXT_mesh_gpu_instancing) are parts named "instance".
///   - A transform with shear, which position, rotation and scale cannot express, keeps its
///     position, first axis and mirroring, is otherwise the nearest one without shear, and is named
///     in the warnings.
///   - Numbers that a world refuses (not finite, or beyond the range of their field in scene.fbs)
///     are brought within it. A transform that is not finite becomes the identity. A name of more
///     than 255 bytes is shortened. Warnings name each.
///
/// The file is read in a child process, which the limits hold to; a file that exceeds one, or ends
/// the reader by a signal, is an error as a broken, missing or empty file is. The child makes no
/// use of the caller's threads or descriptors. Any thread may call this; it blocks until the file
/// is read.
[[nodiscard]] std::expected<ImportedModel, ModelError> read_model(const std::filesystem::path& file,
                                                                  const ModelLimits& limits = {});

}  // namespace muster
