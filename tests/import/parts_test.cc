// What of a node becomes a component, and what a part of its own.
#include <catch2/catch.hpp>
#include <cmath>

#include "client/import/decompose.h"
#include "client/import/model.h"
#include "tests/import/paths.h"
#include "tests/import/read.h"

namespace parts_test {

using namespace muster;

namespace {

constexpr double degrees = 57.2957795;

using muster::test::read;

const ImportedEntity& find(const ImportedModel& model, std::string_view name) {
  for (const ImportedEntity& entity : model.entities)
    if (entity.name == name) return entity;
  FAIL("no entity " << name);
  return model.entities[0];
}

}  // namespace

TEST_CASE("lights of a glTF file keep kind, colour, intensity, range and cone") {
  const ImportedModel model = read(test::data / "lights_and_names.gltf");
  const auto& spot = find(model, "spot");
  REQUIRE(spot.light);
  CHECK_FALSE(spot.is_part);
  CHECK(spot.light->kind == scene::LightKind::spot);
  CHECK(spot.light->intensity == 40);
  CHECK(spot.light->color.g == Approx(0.5));
  CHECK(spot.light->range == 12);
  CHECK(spot.light->inner_angle == Approx(0.4 * degrees));
  CHECK(spot.light->outer_angle == Approx(1.0 * degrees));
  CHECK(spot.transform.position.y == 4);
  CHECK(find(model, "sun").light->kind == scene::LightKind::directional);
  CHECK(find(model, "sun").light->intensity == 3);
  CHECK(find(model, "bulb").light->intensity == 1);
  CHECK(find(model, "bulb").light->color.b == Approx(0.6));
}

TEST_CASE("cameras of a glTF file are on their nodes with a vertical angle") {
  const ImportedModel model = read(test::data / "lights_and_names.gltf");
  const auto& perspective = find(model, "camera");
  REQUIRE(perspective.camera);
  CHECK_FALSE(perspective.is_part);
  CHECK(perspective.camera->fov == Approx(0.7 * degrees));
  CHECK(perspective.camera->aspect == 2);
  CHECK(perspective.camera->near == 0.01f);
  CHECK(perspective.camera->height == 0);
  const auto& map = find(model, "map");
  REQUIRE(map.camera);
  CHECK(map.camera->height == Approx(4));
  CHECK(map.camera->far == 50);
}

TEST_CASE("a sheared node is named in the warnings, a mirrored one is exact") {
  const ImportedModel model = read(test::data / "lights_and_names.gltf");
  REQUIRE(model.warnings.size() == 1);
  CHECK(model.warnings[0].find("\"sheared\"") != std::string::npos);
  const Matrix m = compose(find(model, "mirrored").transform);
  CHECK(m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
            m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]) ==
        Approx(-24));
}

TEST_CASE("several meshes of one node are parts below it, named after the mesh") {
  const ImportedModel model = read(test::levels / "living_room.glb");
  unsigned parts = 0;
  for (const ImportedEntity& entity : model.entities) {
    if (!entity.is_part) continue;
    ++parts;
    REQUIRE(entity.mesh);
    CHECK(entity.name == entity.mesh->name);
    CHECK_FALSE(model.entities[entity.parent].mesh);
    CHECK(entity.transform.scale.x == 1);
  }
  CHECK(parts == 7);
}

TEST_CASE("each mesh brings its bounding box and its material's colour") {
  const ImportedModel model = read(test::levels / "town/town_model.gltf");
  unsigned coloured = 0;
  for (const ImportedEntity& entity : model.entities) {
    if (!entity.mesh) continue;
    REQUIRE(entity.mesh->bounds);
    const scene::Vec3& size = entity.mesh->bounds->size;
    CHECK(std::min({size.x, size.y, size.z}) >= 0);
    CHECK(std::max({size.x, size.y, size.z}) > 0);
    coloured += entity.mesh->color ? 1 : 0;
  }
  CHECK(coloured > 0);
}

TEST_CASE("a camera that its file turns away from -Z is a part that carries the turn") {
  if (!std::filesystem::exists(test::assimp_models))
    FAIL("there is no " << test::assimp_models << ": install the package assimp-testmodels");
  // FBX cameras look along +X.
  const ImportedModel model = read(test::assimp_models / "FBX/global_settings.fbx");
  unsigned cameras = 0;
  for (const ImportedEntity& entity : model.entities) {
    if (!entity.camera) continue;
    ++cameras;
    CHECK(entity.is_part);
    CHECK(entity.name == "camera");
    const Matrix m = compose(entity.transform);
    CHECK(-m[0][2] == Approx(1));  // its -Z is its node's +X,
    CHECK(m[1][1] == Approx(1));   // and up is up
  }
  CHECK(cameras == 2);
}

}  // namespace parts_test
