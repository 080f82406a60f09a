// Models that Assimp reads against its own tree, walked here again. glTF 2.0, which it does not
// read, is in gltf_test.cc.
#include <assimp/config.h>
#include <assimp/scene.h>

#include <assimp/Importer.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "client/import/decompose.h"
#include "client/import/model.h"
#include "tests/import/paths.h"

namespace tree_test {

using namespace muster;

namespace {

using Children = std::map<std::uint32_t, std::vector<std::uint32_t>>;

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = 0; k < 4; ++k) c[row][i] += a[row][k] * b[k][i];
  return c;
}

Matrix of(const aiMatrix4x4& m) {
  Matrix result{};
  for (unsigned row = 0; row < 4; ++row)
    for (unsigned i = 0; i < 4; ++i) result[row][i] = static_cast<double>(m[row][i]);
  return result;
}

/// Assimp cuts the names of an .obj at spaces, and makes up names in Collada.
std::string name_of(const aiNode& node) {
  const std::string name = node.mName.C_Str();
  return name.starts_with("$ColladaAutoName$") ? "" : name;
}

/// The turn and scale that a file's unit and axes ask for are on the root: as Assimp has them, or
/// in metres of the unit.
Matrix of_root(const aiScene& scene) {
  Matrix root = of(scene.mRootNode->mTransformation);
  float unit = 100;
  if (scene.mMetaData && scene.mMetaData->Get("UnitScaleFactor", unit))
    for (std::size_t row = 0; row < 3; ++row)
      for (double& each : root[row]) each *= static_cast<double>(unit) / 100;
  return root;
}

struct Counts {
  unsigned nodes = 0, meshes = 0, lights = 0, cameras = 0;
};

/// Compares one node with one entity, then their children in order.
void compare(const aiNode& node, const Matrix& root, const Matrix& above, const ImportedModel& model,
             const Children& children, std::uint32_t place, const Matrix& entity_above, Counts& seen) {
  const ImportedEntity& entity = model.entities[place];
  ++seen.nodes;
  INFO("node " << node.mName.C_Str());
  if (place != 0) REQUIRE(entity.name == name_of(node));
  REQUIRE_FALSE(entity.is_part);
  const Matrix world = multiply(above, place == 0 ? root : of(node.mTransformation));
  const Matrix entity_world = multiply(entity_above, compose(entity.transform));
  double size = 1, most = 0;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t i = 0; i < 4; ++i) {
      size = std::max(size, std::abs(world[row][i]));
      most = std::max(most, std::abs(world[row][i] - entity_world[row][i]));
    }
  REQUIRE(most / size < 2e-5);

  std::vector<std::uint32_t> nodes, mesh_parts;
  if (const auto found = children.find(place); found != children.end())
    for (const std::uint32_t child : found->second) {
      const ImportedEntity& below = model.entities[child];
      if (!below.is_part)
        nodes.push_back(child);
      else if (below.mesh)
        mesh_parts.push_back(child);
    }
  if (node.mNumMeshes == 1) {
    REQUIRE(mesh_parts.empty());
    mesh_parts.push_back(place);
  } else {
    REQUIRE_FALSE(entity.mesh.has_value());
  }
  REQUIRE(mesh_parts.size() == node.mNumMeshes);
  for (unsigned i = 0; i < node.mNumMeshes; ++i) {
    const ImportedEntity& part = model.entities[mesh_parts[i]];
    REQUIRE(part.mesh.has_value());
    REQUIRE(part.mesh->index == node.mMeshes[i]);
    ++seen.meshes;
  }
  REQUIRE(nodes.size() == node.mNumChildren);
  for (unsigned i = 0; i < node.mNumChildren; ++i)
    compare(*node.mChildren[i], root, world, model, children, nodes[i], entity_world, seen);
}

/// Gives how many nodes were compared.
unsigned compare(const std::filesystem::path& file) {
  INFO(file.string());
  Assimp::Importer importer;
  importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, false);
  importer.SetPropertyBool(AI_CONFIG_IMPORT_NO_SKELETON_MESHES, true);
  importer.SetPropertyBool(AI_CONFIG_IMPORT_COLLADA_USE_COLLADA_NAMES, true);
  const aiScene* scene = importer.ReadFile(file.string(), 0);
  REQUIRE(scene);

  const auto model = read_model(file);
  if (!model) FAIL(model.error().text());
  Children children;
  Counts found;
  for (std::uint32_t i = 0; i < model->entities.size(); ++i) {
    const ImportedEntity& entity = model->entities[i];
    if (i == 0) {
      REQUIRE(entity.parent == ImportedEntity::no_parent);
      REQUIRE(entity.depth == 0);
    } else {
      REQUIRE(entity.parent < i);
      REQUIRE(entity.depth == model->entities[entity.parent].depth + 1);
      children[entity.parent].push_back(i);
    }
    found.nodes += entity.is_part ? 0 : 1;
    found.meshes += entity.mesh ? 1 : 0;
    found.lights += entity.light ? 1 : 0;
    found.cameras += entity.camera ? 1 : 0;
  }
  Counts seen;
  const Matrix identity = compose(scene::Transform{});
  compare(*scene->mRootNode, of_root(*scene), identity, *model, children, 0, identity, seen);
  CHECK(found.nodes == seen.nodes);
  CHECK(found.meshes == seen.meshes);
  CHECK(found.lights == scene->mNumLights);
  CHECK(found.cameras == scene->mNumCameras);
  for (const std::string& warning : model->warnings)
    if (warning.find("meters and +Y as up") == std::string::npos) FAIL_CHECK(warning);
  return seen.nodes;
}

}  // namespace

TEST_CASE("models of four formats have the entities of Assimp's tree") {
  if (!std::filesystem::exists(test::assimp_models))
    FAIL("there is no " << test::assimp_models << ": install the package assimp-testmodels");
  const char* file = GENERATE("glTF/TwoBoxes/TwoBoxes.gltf", "FBX/animation_with_skeleton.fbx",
                              "FBX/cubes_with_mirroring_and_pivot.fbx", "FBX/global_settings.fbx", "FBX/spider.fbx",
                              "FBX/cubes_nonames.fbx", "Collada/lights.dae", "Collada/cameras.dae", "Collada/duck.dae",
                              "Collada/box_nested_animation.dae", "Collada/kwxport_test_vcolors.dae", "OBJ/spider.obj",
                              "OBJ/regr01.obj", "OBJ/WusonOBJ.obj");
  compare(test::assimp_models / file);
}

}  // namespace tree_test
