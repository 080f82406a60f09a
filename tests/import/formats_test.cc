// Formats other than glTF: metres and +Y up, names, several things of one name.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "client/import/decompose.h"
#include "client/import/model.h"
#include "tests/import/paths.h"
#include "tests/import/read.h"
#include "tests/support/folder.h"

namespace formats_test {

using namespace muster;

namespace {

using muster::test::read;

/// Where a point of an entity's own space is in the root's parent's.
std::array<double, 3> world(const ImportedModel& model, std::size_t place, std::array<double, 3> point) {
  for (;; place = model.entities[place].parent) {
    const Matrix m = compose(model.entities[place].transform);
    std::array<double, 3> moved{};
    for (std::size_t row = 0; row < 3; ++row)
      moved[row] = m[row][0] * point[0] + m[row][1] * point[1] + m[row][2] * point[2] + m[row][3];
    point = moved;
    if (place == 0) return point;
  }
}

void check_point(const std::array<double, 3>& point, const std::array<double, 3>& expected) {
  for (std::size_t i = 0; i < 3; ++i) CHECK(point[i] == Approx(expected[i]).margin(1e-5));
}

std::size_t place_of(const ImportedModel& model, std::string_view name, unsigned which = 0) {
  for (std::size_t i = 0; i < model.entities.size(); ++i)
    if (model.entities[i].name == name && which-- == 0) return i;
  FAIL("no entity " << name);
  return 0;
}

std::vector<std::string> names(const ImportedModel& model) {
  std::vector<std::string> result;
  for (const ImportedEntity& entity : model.entities) result.push_back(entity.name);
  result.erase(result.begin());
  return result;
}

}  // namespace

TEST_CASE("an FBX file comes in by its unit and axes, as metres with +Y up") {
  struct Case {
    const char* file;
    std::array<double, 3> mast, corner;  // of the mast, and of the sail's corner at (0, 60, 0)
  };
  // A mast at (10, 20, 30); right is +X and up is +Z in the first, right is -Y and up is +X in the
  // last.
  for (const Case& each : {Case{"z_up_inch.fbx", {0.254, 0.762, -0.508}, {0.254, 0.762, -2.032}},
                           Case{"y_up_metre.fbx", {10, 20, 30}, {10, 80, 30}},
                           Case{"x_up_centimetre.fbx", {-0.2, 0.1, 0.3}, {-0.8, 0.1, 0.3}}}) {
    INFO(each.file);
    const ImportedModel model = read(test::models / each.file);
    CHECK(model.warnings.empty());
    CHECK(names(model) == std::vector<std::string>{"mast", "sail"});
    check_point(world(model, place_of(model, "mast"), {0, 0, 0}), each.mast);
    check_point(world(model, place_of(model, "sail"), {0, 60, 0}), each.corner);
    const auto& bounds = model.entities[place_of(model, "sail")].mesh->bounds;
    REQUIRE(bounds);
    CHECK(bounds->size.x == 40);
  }
}

TEST_CASE("an FBX file with an impossible unit or contradictory axes says so and comes in as it is") {
  const test::Folder folder;
  std::string text = test::read_file(test::models / "z_up_inch.fbx");
  text.replace(text.find("\"UpAxis\", \"int\", \"Integer\", \"\",2"), 32, "\"UpAxis\", \"int\", \"Integer\", \"\",0");
  text.replace(text.find("2.54"), 4, "-1.0");
  const ImportedModel model = read(folder.write("odd.fbx", text));
  REQUIRE(model.warnings.size() == 2);
  CHECK(model.warnings[0].find("UnitScaleFactor") != std::string::npos);
  CHECK(model.warnings[1].find("axes are contradictory") != std::string::npos);
  check_point(world(model, place_of(model, "mast"), {0, 0, 0}), {0.1, 0.2, 0.3});
}

TEST_CASE("a Collada file has its names, its ids if there is no name, and its unit and axes") {
  const ImportedModel model = read(test::models / "inch.dae");
  CHECK(model.warnings.empty());
  CHECK(names(model) == std::vector<std::string>{"lamp", "lamp", "old fence", "eye", "only_an_id", ""});
  CHECK(model.entities[place_of(model, "old fence")].mesh->name == "plank");
  CHECK(model.entities[place_of(model, "old fence")].is_named);
  CHECK_FALSE(model.entities[place_of(model, "only_an_id")].is_named);
  check_point(world(model, place_of(model, "old fence"), {0, 0, 0}), {0, 7.62, 0});
  check_point(world(model, place_of(model, "lamp", 1), {0, 0, 0}), {0, 0, -5.08});
  // The second lamp shines, though the first has its name; distances are metres too.
  CHECK_FALSE(model.entities[place_of(model, "lamp")].light);
  CHECK(model.entities[place_of(model, "lamp", 1)].light);
  const auto& camera = model.entities[place_of(model, "eye")].camera;
  REQUIRE(camera);
  CHECK(camera->near == Approx(0.254));
  CHECK(camera->far == Approx(25.4));
}

TEST_CASE("objects of one name in an .obj are one entity each, with all of their name") {
  const ImportedModel model = read(test::models / "yard.obj");
  CHECK(names(model) == std::vector<std::string>{"old crate", "barrel", "old crate", "shed"});
  for (const auto& [which, depth, size] : {std::tuple{0u, 0.f, 1.f}, std::tuple{1u, 9.f, 2.f}}) {
    const auto& bounds = model.entities[place_of(model, "old crate", which)].mesh->bounds;
    REQUIRE(bounds);
    CHECK(bounds->center.z == depth);
    CHECK(bounds->size.x == size);
  }
}

TEST_CASE("a format whose unit and axes are not read says how its numbers are taken") {
  const ImportedModel model = read(test::models / "yard.obj");
  REQUIRE(model.warnings.size() == 1);
  CHECK(model.warnings[0].find("meters and +Y as up") != std::string::npos);
}

TEST_CASE("a Collada file without a mesh gets none") {
  const ImportedModel model = read(test::assimp_models / "Collada/lights.dae");
  CHECK(std::ranges::none_of(model.entities, [](const ImportedEntity& entity) { return entity.mesh.has_value(); }));
}

TEST_CASE("a file of glTF 1.0 has the names of its nodes, their ids if there is no name, and their places") {
  const test::Folder folder;
  // A quarter turn about +Z of what is twice as wide as high: a scale goes before a rotation.
  std::string json = R"({"asset": {"version": "1.0"}, "scene": "s", "scenes": {"s": {"nodes": ["n1", "n4"]}},
      "nodes": {"n1": {"name": "gate", "translation": [10, 0, 0], "rotation": [0, 0, 0.70710678, 0.70710678],
                       "scale": [2, 1, 1], "children": ["n2", "n3", "ROOT"]},
                "n2": {"name": "gate", "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 3, 4, 5, 1]},
                "n3": {"camera": "c"}, "ROOT": {"name": "post", "translation": [0, 0, 7]}, "n4": {"name": "gate"}},
      "cameras": {"c": {"type": "perspective", "perspective": {"yfov": 0.5, "znear": 0.1, "zfar": 100}}},
      "meshes": {}, "accessors": {}, "buffers": {}, "bufferViews": {}})";
  const auto check = [](const ImportedModel& model) {
    CHECK(names(model) == std::vector<std::string>{"gate", "gate", "n3", "post", "gate"});
    CHECK_FALSE(model.entities[place_of(model, "n3")].is_named);
    CHECK(model.entities[place_of(model, "post")].is_named);
    CHECK(model.entities[place_of(model, "n3")].camera);
    check_point(world(model, 0, {1, 2, 3}), {1, 2, 3});
    check_point(world(model, place_of(model, "gate"), {1, 0, 0}), {10, 2, 0});
    check_point(world(model, place_of(model, "gate"), {0, 1, 0}), {9, 0, 0});
    check_point(world(model, place_of(model, "gate", 1), {0, 0, 0}), {6, 6, 5});
    check_point(world(model, place_of(model, "post"), {0, 0, 0}), {10, 0, 7});
  };
  check(read(folder.write("text.gltf", json)));
  const auto number = [](std::size_t value) {
    const auto word = static_cast<std::uint32_t>(value);
    return std::string(reinterpret_cast<const char*>(&word), 4);
  };
  json.resize((json.size() + 3) / 4 * 4, ' ');
  check(read(folder.write("binary.glb",
                          "glTF" + number(1) + number(20 + json.size()) + number(json.size()) + number(0) + json)));
}

TEST_CASE("the truck of glTF 1.0 that Assimp ships has the names of its nodes, and its wheels where they are") {
  const ImportedModel model = read(test::assimp_models / "glTF/CesiumMilkTruck/CesiumMilkTruck.gltf");
  std::vector<std::string> nodes;
  for (const ImportedEntity& entity : model.entities)
    if (!entity.is_part && entity.parent != ImportedEntity::no_parent) nodes.push_back(entity.name);
  CHECK(nodes == std::vector<std::string>{"Render", "Cesium_Milk_Truck", "Wheels", "Wheels__2_", "Texture_Group",
                                          "Cesium_Milk_Truck__2___Image___Texture_",
                                          "Cesium_Milk_Truck__2___Image___2___Texture_"});
  check_point(world(model, place_of(model, "Wheels"), {0, 0, 0}), {1.43267, 0.427722, 0});
  check_point(world(model, place_of(model, "Wheels"), {1, 0, 0}), {2.4170105, 0.2514458, 0});
  check_point(world(model, place_of(model, "Wheels__2_"), {0, 0, 0}), {-1.35233, 0.427722, 0});
}

}  // namespace formats_test
