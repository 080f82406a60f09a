// Imported glTF against what its JSON says, read by the tests themselves (truth.h).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "client/import/decompose.h"
#include "client/import/model.h"
#include "tests/import/paths.h"
#include "tests/import/truth.h"
#include "tests/support/folder.h"

using namespace muster;

namespace {

constexpr double degrees = 57.295779513082320877;

test::Grid grid_of(const scene::Transform& transform) {
  const Matrix m = compose(transform);
  test::Grid grid{};
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 4; ++column) grid[column * 4 + row] = m[row][column];
  return grid;
}

void compare_grids(const test::Grid& a, const test::Grid& b) {
  double size = 1;
  for (const double each : b) size = std::max(size, std::abs(each));
  for (std::size_t i = 0; i < 16; ++i) CHECK(std::abs(a[i] - b[i]) / size < 2e-6);
}

void compare_boxes(const std::optional<scene::Shape>& shape, const test::TrueBox& box) {
  REQUIRE(shape);
  const std::array<float, 3> center{shape->center.x, shape->center.y, shape->center.z};
  const std::array<float, 3> size{shape->size.x, shape->size.y, shape->size.z};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(center[i] == Approx((box.low[i] + box.high[i]) / 2).margin(1e-6));
    CHECK(size[i] == Approx(box.high[i] - box.low[i]).margin(1e-6));
  }
}

void compare_lights(const std::optional<scene::Light>& light, const std::optional<test::TrueLight>& truth) {
  REQUIRE(light.has_value() == truth.has_value());
  if (!light) return;
  const char* kinds[] = {"point", "spot", "directional"};
  CHECK(kinds[static_cast<std::size_t>(light->kind)] == truth->kind);
  CHECK(light->intensity == Approx(truth->intensity));
  CHECK(light->range == Approx(truth->range));
  CHECK(light->color.r == Approx(truth->color[0]));
  CHECK(light->color.g == Approx(truth->color[1]));
  CHECK(light->color.b == Approx(truth->color[2]));
  if (truth->kind != "spot") return;
  CHECK(light->inner_angle == Approx(truth->inner * 2 * degrees));
  CHECK(light->outer_angle == Approx(truth->outer * 2 * degrees));
}

void compare_cameras(const std::optional<scene::Camera>& camera, const std::optional<test::TrueCamera>& truth) {
  REQUIRE(camera.has_value() == truth.has_value());
  if (!camera) return;
  CHECK(camera->near == Approx(truth->near));
  CHECK(camera->far == Approx(truth->far));
  if (truth->orthographic) {
    CHECK(camera->height == Approx(2 * truth->ymag));
    CHECK(camera->aspect == Approx(truth->xmag / truth->ymag));
  } else {
    CHECK(camera->height == 0);
    CHECK(camera->fov == Approx(truth->yfov * degrees));
    CHECK(camera->aspect == Approx(truth->aspect));
  }
}

struct Placed {
  const ImportedEntity* entity;
  test::Grid world;
  std::vector<std::size_t> parts;  // those below it, themselves parts or not, as places
};

/// Every node is there, in its order, at its place, with its light, its camera and the boxes of its
/// meshes; nothing else is.
ImportedModel compare(const std::filesystem::path& file) {
  INFO(file.string());
  const auto read = read_model(file);
  if (!read) FAIL(read.error().text());
  const ImportedModel& model = *read;
  const std::vector<test::TrueNode> truth = test::truth_of(file);
  std::vector<Placed> placed;
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < model.entities.size(); ++i) {
    const ImportedEntity& entity = model.entities[i];
    const test::Grid local = grid_of(entity.transform);
    placed.push_back({&entity, i == 0 ? local : test::multiply(placed[entity.parent].world, local), {}});
    if (!entity.is_part)
      nodes.push_back(i);
    else
      placed[entity.parent].parts.push_back(i);
  }
  const bool has_root = nodes.size() == truth.size() + 1;
  if (has_root) {
    CHECK_FALSE(model.entities[0].mesh);
    nodes.erase(nodes.begin());
  }
  REQUIRE(nodes.size() == truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const test::TrueNode& node = truth[i];
    const Placed& there = placed[nodes[i]];
    INFO("node " << i << ", " << node.name.substr(0, 40));
    CHECK(node.name.starts_with(there.entity->name));
    CHECK((there.entity->name == node.name || there.entity->name.size() > 250));
    CHECK(there.entity->depth == node.depth + (has_root ? 1 : 0));
    compare_grids(there.world, node.world);
    compare_lights(there.entity->light, node.light);
    compare_cameras(there.entity->camera, node.camera);
    // Meshes of the node's instances, on it or on parts below it.
    std::vector<std::size_t> meshes;
    std::vector<std::size_t> left{nodes[i]};
    while (!left.empty()) {
      const std::size_t next = left.back();
      left.pop_back();
      if (placed[next].entity->mesh) meshes.push_back(next);
      left.insert(left.end(), placed[next].parts.rbegin(), placed[next].parts.rend());
    }
    REQUIRE(meshes.size() == node.instances.size() * node.boxes.size());
    for (std::size_t m = 0; m < meshes.size(); ++m) {
      compare_grids(placed[meshes[m]].world, node.instances[m / node.boxes.size()]);
      compare_boxes(placed[meshes[m]].entity->mesh->bounds, node.boxes[m % node.boxes.size()]);
    }
  }
  return model;
}

ImportedModel sample(const char* name) { return compare(test::models / name); }

void check_warnings(const ImportedModel& model, const std::vector<std::string>& expected) {
  CHECK(model.warnings.size() == expected.size());
  for (std::size_t i = 0; i < std::min(expected.size(), model.warnings.size()); ++i) {
    INFO(model.warnings[i]);
    CHECK(model.warnings[i].find(expected[i]) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("each glTF sample has the nodes, places, lights, cameras and boxes that its JSON says") {
  const char* file =
      GENERATE("street_lamps.gltf", "two_eyes.gltf", "one_name.gltf", "quantized_whole.gltf", "quantized_bytes.gltf",
               "quantized_matrix.gltf", "draco.gltf", "meshopt.gltf", "extras.gltf", "zeros.gltf", "sparse.gltf",
               "library.gltf", "forest.gltf", "marked.gltf", "nameless.gltf", "no_bounds.gltf", "chunks.glb");
  check_warnings(sample(file), {});
}

TEST_CASE("the levels of the examples have the nodes, places and boxes that their JSON says") {
  for (const char* file : {"living_room.glb", "room.glb", "town/town_model.gltf"})
    check_warnings(compare(test::levels / file), {});
}

TEST_CASE("the glTF models that Assimp ships have what their JSON says") {
  if (!std::filesystem::exists(test::assimp_models))
    FAIL("there is no " << test::assimp_models << ": install the package assimp-testmodels");
  const char* file = GENERATE("2CylinderEngine-glTF-Binary/2CylinderEngine.glb",
                              "BoxBadNormals-glTF-Binary/BoxBadNormals.glb", "BoxTexcoords-glTF/boxTexcoords.gltf",
                              "BoxTextured-glTF-Binary/BoxTextured.glb", "BoxTextured-glTF-Embedded/BoxTextured.gltf",
                              "ClearCoat-glTF/ClearCoatTest.gltf", "cameras/Cameras.gltf", "draco/2CylinderEngine.gltf",
                              "glTF-Asset-Generator/Mesh_PrimitiveMode/Mesh_PrimitiveMode_04.gltf",
                              "glTF-Sample-Models/AnimatedMorphCube-glTF/AnimatedMorphCube.gltf",
                              "simple_skin/simple_skin.gltf", "textureTransform/TextureTransformTest.gltf");
  compare(test::assimp_models / "glTF2" / file);
}

TEST_CASE("what a glTF file has and an import leaves out is told") {
  check_warnings(sample("day_and_night.gltf"), {"2 nodes were left out: the file shows scenes[0] (\"day\")"});
  check_warnings(sample("hull.gltf"), {"requires the extension ACME_hull,", "requires the extension ACME_keel,"});
  check_warnings(sample("odd_lights.gltf"),
                 {"light \"panel\" is of the kind \"area\"", "light \"dark\" is of the kind \"\""});
}

TEST_CASE("names that a world refuses are shortened between two letters, and each is told") {
  const ImportedModel model = sample("long_names.gltf");
  check_warnings(model, {"has 301 bytes; it was shortened to 255", "has 301 bytes; it was shortened to 255"});
  CHECK(model.entities[1].name.size() == 255);
}

TEST_CASE("a file of glTF names its buffers by URI: percent signs are decoded, unless the name has them") {
  const test::Folder folder;
  const auto model = [](const std::string& uri) {
    return R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}], "nodes": [{"name": "mill", "mesh": 0},
        {"name": "pond"}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "accessors": [{"bufferView": 0,
        "componentType": 5126, "count": 3, "type": "VEC3"}], "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": ")" +
           uri + "\"}]}";
  };
  const float corners[9] = {0, 0, 0, 3, 0, 0, 0, 5, -1};
  const std::string bytes(reinterpret_cast<const char*>(corners), sizeof corners);
  const auto height = [&](const std::string& uri) -> double {
    const auto read = read_model(folder.write("mill.gltf", model(uri)));
    if (!read) FAIL(read.error().text());
    return read->entities[1].mesh->bounds->size.y;
  };
  std::filesystem::create_directory(folder.path() / "more parts");
  folder.write("old mill#1.bin", bytes);
  folder.write("m\xc3\xbchle.bin", bytes);
  folder.write("100%25.bin", bytes);
  folder.write("more parts/a b.bin", bytes);
  for (const char* uri : {"old%20mill%231.bin", "old mill#1.bin", "m%C3%BChle.bin", "m%c3%bchle.bin",
                          "m\xc3\xbchle.bin", "100%25.bin", "./more%20parts/a%20b.bin"})
    CHECK(height(uri) == 5);
  // Both alphabets of base64.
  for (const char* data :
       {"XI/SwAAAyEAAAJhAuB6NwArXo73D9Wi/UrguQGZmpkCF6+nA", "XI_SwAAAyEAAAJhAuB6NwArXo73D9Wi_UrguQGZmpkCF6-nA"})
    CHECK(height(std::string("data:;base64,") + data) == Approx(6.33));
}

TEST_CASE("data in a URI is base64 if its head says so in any spelling") {
  const test::Folder folder;
  const std::string data = "AAAAAAAAAAAAAAAAAABAQAAAAAAAAAAAAAAAAAAAoEAAAIC/";  // (0 0 0) (3 0 0) (0 5 -1)
  for (const std::string& head : {"data:application/octet-stream;base64,", "data:;base64,", "DATA:;BASE64,",
                                  "data:application/octet-stream; base64,", "Data:a/b;charset=utf-8;Base64 ,"})
    for (const std::string& body :
         {data, data.substr(0, 20) + " " + data.substr(20), data.substr(0, 9) + "%0A" + data.substr(9)}) {
      INFO(head << body);
      const auto read = read_model(folder.write("a.gltf", R"({"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}],
          "nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "accessors": [{"bufferView": 0,
          "componentType": 5126, "count": 3, "type": "VEC3"}], "bufferViews": [{"buffer": 0, "byteLength": 36}],
          "buffers": [{"byteLength": 36, "uri": ")" + head + body +
                                                              "\"}]}"));
      if (!read) FAIL(read.error().text());
      const auto& bounds = read->entities[0].mesh->bounds;
      REQUIRE(bounds);
      CHECK(bounds->size.x == 3);
      CHECK(bounds->size.y == 5);
      CHECK(bounds->size.z == 1);
    }
}

TEST_CASE("the first binary chunk of a .glb is its first buffer, whatever chunks stand around it") {
  const test::Folder folder;
  const auto number = [](std::uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); };
  const auto chunk = [&](const char* kind, std::string bytes) {
    bytes.resize((bytes.size() + 3) / 4 * 4, kind[0] == 'J' ? ' ' : '\0');
    return number(static_cast<std::uint32_t>(bytes.size())) + std::string(kind, 4) + bytes;
  };
  const auto triangle = [](float height) {
    const float corners[9] = {0, 0, 0, 3, 0, 0, 0, height, -1};
    return std::string(reinterpret_cast<const char*>(corners), sizeof corners);
  };
  const std::string json = chunk("JSON", R"({"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}],
      "nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "accessors": [{"bufferView": 0,
      "componentType": 5126, "count": 3, "type": "VEC3"}], "bufferViews": [{"buffer": 0, "byteLength": 36}],
      "buffers": [{"byteLength": 36}]})");
  const std::string first = chunk("BIN", triangle(5)), own = chunk("OWN1", "what");
  for (const std::string& second :
       {chunk("BIN", triangle(8)), chunk("BIN", triangle(8) + triangle(9)), chunk("BIN", "")})
    for (const std::string& chunks : {first + second, own + first + second, first + own + second + own}) {
      const auto size = static_cast<std::uint32_t>(12 + json.size() + chunks.size());
      const auto read = read_model(folder.write("a.glb", "glTF" + number(2) + number(size) + json + chunks));
      if (!read) FAIL(read.error().text());
      REQUIRE(read->entities[0].mesh);
      CHECK(read->entities[0].mesh->bounds->size.y == 5);
      CHECK(read->warnings.empty());
    }
  // The first one is meant even if it is too short and the second one is not.
  const std::string chunks = chunk("BIN", "") + first;
  const auto size = static_cast<std::uint32_t>(12 + json.size() + chunks.size());
  const auto read = read_model(folder.write("a.glb", "glTF" + number(2) + number(size) + json + chunks));
  REQUIRE_FALSE(read);
  CHECK(read.error().what.find("buffers[0]") != std::string::npos);
}

TEST_CASE("what of a node's transform no float holds is left out and named, the rest is kept") {
  const test::Folder folder;
  const auto read =
      read_model(folder.write("a.gltf", R"({"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [
      {"name": "far", "translation": [1e300, 0, 0], "scale": [2, 2, 2], "rotation": [0, 1, 0, 0], "children": [1, 2, 3]},
      {"name": "edge", "translation": [3.4028235e38, -3.40282347e38, 1]},
      {"name": "wide", "translation": [1, 2, 3], "scale": [1, 1e39, 1]},
      {"name": "still", "translation": [1, 2, 3], "rotation": [0, 0, 0, 0]}]})"));
  if (!read) FAIL(read.error().text());
  const auto& entities = read->entities;
  CHECK(read->warnings ==
        std::vector<std::string>{"node \"far\" (0) has a translation that does not fit in a float; it is left out.",
                                 "node \"wide\" (2) has a scale that does not fit in a float; it is left out.",
                                 "node \"still\" (3) has a rotation that does not fit in a float; it is left out."});
  CHECK(entities[0].transform.scale.x == 2);
  CHECK(entities[0].transform.rotation.y == 1);
  CHECK(entities[1].transform.position.x == std::numeric_limits<float>::max());
  CHECK(entities[1].transform.position.y == -std::numeric_limits<float>::max());
  CHECK(entities[2].transform.position.z == 3);
  CHECK(entities[3].transform.position.z == 3);
}

TEST_CASE("names with control characters are told to be changed") {
  const test::Folder folder;
  const auto read =
      read_model(folder.write("a.gltf", R"({"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [
      {"name": "a", "children": [1]}, {"name": "tab\tbed"}]})"));
  if (!read) FAIL(read.error().text());
  CHECK(read->entities[1].name == "tab bed");
  CHECK(read->warnings ==
        std::vector<std::string>{
            "node \"tab bed\" (1) has control characters or broken UTF-8 in its name; they were replaced."});
}

TEST_CASE("the places of meshes are those at which viewers count them") {
  // Children before their parent's own mesh, meshes of no node last.
  const test::Folder folder;
  const auto model =
      read_model(folder.write("order.gltf", R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 2]}],
      "nodes": [{"name": "a", "mesh": 2, "children": [1]}, {"name": "b", "mesh": 1}, {"name": "c", "mesh": 2}],
      "meshes": [{"name": "none", "primitives": [{"attributes": {}}]}, {"name": "one", "primitives": [{"attributes": {}}, {"attributes": {}}]},
                 {"name": "two", "primitives": [{"attributes": {}}]}]})"));
  REQUIRE(model);
  std::vector<std::pair<std::string, std::uint32_t>> places;
  for (const ImportedEntity& entity : model->entities)
    if (entity.mesh) places.emplace_back(entity.mesh->name, entity.mesh->index);
  CHECK(places ==
        std::vector<std::pair<std::string, std::uint32_t>>{{"two", 2}, {"one-0", 0}, {"one-1", 1}, {"two", 2}});
}
