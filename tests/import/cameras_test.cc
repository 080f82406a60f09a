// Cameras and skews of formats other than glTF: right, or named in a warning.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "client/import/model.h"
#include "tests/import/paths.h"
#include "tests/import/read.h"
#include "tests/support/folder.h"

namespace cameras_test {

using namespace muster;

namespace {

using muster::test::read;

std::string collada(std::string_view cameras, std::string_view nodes) {
  return R"(<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
      <asset><unit meter="0.5"/><up_axis>Y_UP</up_axis></asset><library_cameras>)" +
         std::string(cameras) + R"(</library_cameras><library_visual_scenes><visual_scene id="S" name="S">)" +
         std::string(nodes) +
         R"(</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#S"/></scene></COLLADA>)";
}

struct Eye {
  scene::Camera camera;
  std::vector<std::string> warnings;
};

/// The camera of a file with one, with these optics.
Eye eye(std::string_view optics, std::string_view name = R"(name="lens")") {
  const test::Folder folder;
  const ImportedModel model =
      read(folder.write("eye.dae", collada("<camera id=\"C\" " + std::string(name) + "><optics><technique_common>" +
                                               std::string(optics) + "</technique_common></optics></camera>",
                                           R"(<node id="n" name="n"><instance_camera url="#C"/></node>)")));
  for (const ImportedEntity& entity : model.entities)
    if (entity.camera) return {*entity.camera, model.warnings};
  FAIL("no camera");
  return {};
}

bool has(const std::vector<std::string>& warnings, std::string_view part) {
  return std::ranges::any_of(warnings, [&](const std::string& each) { return each.find(part) != each.npos; });
}

}  // namespace

TEST_CASE("a Collada camera has the vertical field of view that its angles and aspect say") {
  struct Case {
    const char* numbers;
    double fov, aspect;
  };
  for (const Case& each : {Case{"<xfov>90</xfov><aspect_ratio>2</aspect_ratio>", 53.1301, 2},
                           Case{"<yfov>60</yfov>", 60, 0}, Case{"<xfov>90</xfov><yfov>60</yfov>", 60, 1.7320508},
                           Case{"<yfov>60</yfov><aspect_ratio>2</aspect_ratio>", 60, 2}})
    for (const char* name : {R"(name="lens")", "", R"(name="")"}) {
      INFO(each.numbers << " " << name);
      const Eye found =
          eye("<perspective>" + std::string(each.numbers) + "<znear>10</znear><zfar>1000</zfar></perspective>", name);
      CHECK(found.camera.fov == Approx(each.fov));
      CHECK(found.camera.aspect == Approx(each.aspect));
      CHECK(found.camera.height == 0);
      CHECK(found.camera.near == 5);
      CHECK(found.camera.far == 500);
      CHECK(found.warnings.empty());
    }
}

TEST_CASE("an orthographic Collada camera has its height in metres") {
  const Eye both = eye("<orthographic><xmag>40</xmag><ymag>20</ymag><znear>10</znear><zfar>1000</zfar></orthographic>");
  CHECK(both.camera.height == Approx(20));
  CHECK(both.camera.aspect == Approx(2));
  CHECK(both.warnings.empty());
  const Eye high = eye("<orthographic><ymag>20</ymag><znear>10</znear><zfar>1000</zfar></orthographic>");
  CHECK(high.camera.height == Approx(20));
  CHECK(high.camera.aspect == 0);
  CHECK(high.warnings.empty());
}

TEST_CASE("a Collada camera whose numbers do not say what it sees is named") {
  CHECK(has(eye("<perspective><xfov>90</xfov></perspective>").warnings, "camera \"lens\" has a horizontal field"));
  CHECK(has(eye("<perspective/>").warnings, "camera \"lens\" has no field of view"));
  CHECK(has(eye("<orthographic><xmag>3</xmag></orthographic>").warnings, "camera \"lens\" has a width and no aspect"));
}

TEST_CASE("a Collada node's skew is left out and named") {
  const test::Folder folder;
  const ImportedModel model = read(folder.write(
      "skew.dae",
      collada("", R"(<node id="d" name="door"><translate>1 2 3</translate><skew>45 0 1 0 1 0 0</skew></node>)")));
  CHECK(has(model.warnings, "node \"door\" has a <skew>"));
  REQUIRE(model.entities.size() == 2);
  CHECK(model.entities[1].transform.position.y == 2);
}

TEST_CASE("what of an FBX file is not read rightly is told") {
  const test::Folder folder;
  const std::string whole = test::read_file(test::models / "y_up_metre.fbx");
  const auto with = [&](std::string_view property) {
    std::string text = whole;
    text.insert(text.find("P: \"Lcl Translation\""), std::string(property) + "\n\t\t\t");
    return read(folder.write("more.fbx", text)).warnings;
  };
  CHECK(with(R"(P: "GeometricTranslation", "Vector3D", "Vector", "",0,0,0)").empty());
  CHECK(has(with(R"(P: "GeometricTranslation", "Vector3D", "Vector", "",0,5,0)"), "geometric transforms"));
  CHECK(with(R"(P: "CameraProjectionType", "enum", "", "",0)").empty());
  CHECK(has(with(R"(P: "CameraProjectionType", "enum", "", "",1)"), "orthographic camera"));
  CHECK(has(with(R"(P: "FieldOfViewX", "FieldOfViewX", "", "A",40)"), "FieldOfViewX"));
}

TEST_CASE("a 3DS camera is where the file says, and its direction is told to be lost") {
  const ImportedModel model = read(test::assimp_models / "3DS/TargetCameraAnim.3ds");
  const auto camera = std::ranges::find_if(model.entities, [](const auto& each) { return each.camera.has_value(); });
  REQUIRE(camera != model.entities.end());
  const scene::Vec3 own = camera->transform.position, node = model.entities[camera->parent].transform.position;
  CHECK(own.x + node.x == Approx(-65.86771));
  CHECK(own.y + node.y == Approx(16.121307));
  CHECK(own.z + node.z == Approx(-2.4250183));
  CHECK(has(model.warnings, "rotate it yourself"));
}

}  // namespace cameras_test
