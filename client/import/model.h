// A model file as a plain list of what will be entities. Knows Assimp's files, not registries or sockets.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schema/scene.h"

namespace muster {

struct ImportedMesh {
  std::string name;                    ///< as in the file, may be empty
  std::uint32_t index = 0;             ///< among the file's meshes as Assimp lists them
  std::optional<scene::Shape> bounds;  ///< box around its vertices; none where it has no vertices
  std::optional<scene::Color> color;   ///< its material's base colour
};

/// One entity to be. Nodes are the file's own; a part is added below its node for what does not fit on it (read_model).
struct ImportedEntity {
  static constexpr std::uint32_t no_parent = ~0u;
  std::uint32_t parent = no_parent;  ///< place in ImportedModel::entities, always before this one
  std::uint32_t depth = 0;           ///< of the root: 0
  bool is_part = false;
  std::string name;  ///< valid UTF-8; not unique, may be empty
  scene::Transform transform;
  std::optional<ImportedMesh> mesh;
  std::optional<scene::Light> light;
  std::optional<scene::Camera> camera;
};

struct ImportedModel {
  std::vector<ImportedEntity> entities;  ///< parents before children, children in the file's order; the root first
  std::vector<std::string> warnings;     ///< whole sentences: what could not be kept exactly, and where
};

/// Why a file was not read: which one, and the reason in the words of the reader that refused it.
struct ModelError {
  std::filesystem::path file;
  std::string what;
  std::string text() const;  ///< "cannot import levels/town.gltf: no such file"
};

/// Reads any format Assimp knows. Every node of its tree becomes one entity, with its name and local transform, and
/// nothing is merged, optimised or rescaled; FBX pivots are folded into their node's transform. Beyond that:
///   - a node's only mesh is on the node's entity; where a node has several, each is on a part of its own, named
///     after the mesh, so that none is privileged;
///   - a light or camera is on its node's entity, or, where the file turns or moves it relative to the node, on a part
///     named "light" or "camera" that carries the difference, so that both look along -Z;
///   - a transform with shear, which position, rotation and scale cannot express, keeps its position, first axis and
///     mirroring, is otherwise the nearest upright one, and is named in the warnings;
///   - numbers that no world takes from outside (not finite, or beyond the range of their field in scene.fbs) are brought
///     within it, a transform that is not finite is the identity, bounds that no float holds are left out: the warnings say which.
/// A file that is missing, broken, of an unknown format, or without anything in it is an error. A reader is asked only where it
/// fits the file's suffix or its first bytes.
[[nodiscard]] std::expected<ImportedModel, ModelError> read_model(const std::filesystem::path& file);

}  // namespace muster
