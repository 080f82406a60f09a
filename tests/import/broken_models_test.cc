#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "client/import/model.h"
#include "client/import/model_messages.h"
#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "tests/import/paths.h"
#include "tests/support/folder.h"
#include "tests/support/seeds.h"

namespace broken_models_test {

using namespace muster;

namespace {

/// The error's reason; fails the test where the file is read.
std::string refusal(const std::filesystem::path& file) {
  const auto model = read_model(file);
  if (model) FAIL(file << " was read");
  CHECK(model.error().file == file);
  CHECK(model.error().text().find(file.filename().string()) != std::string::npos);
  return model.error().what;
}

bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) WARN(text);
  return found;
}

}  // namespace

TEST_CASE("a model that is not there, is a folder, is empty or of no known format is named so") {
  const test::Folder folder;
  CHECK(has(refusal(folder.path() / "gone.glb"), "no such file"));
  CHECK(has(refusal(folder.path()), "folder"));
  CHECK(has(refusal(folder.write("empty.glb", "")), "empty"));
  CHECK(has(refusal(folder.write("letter.txt", "Dear Ann")), "No suitable reader"));
  CHECK(has(refusal(folder.write("none", "no suffix")), "No suitable reader"));
  CHECK(has(refusal("/dev/null"), "it is not a regular file"));
  REQUIRE(mkfifo((folder.path() / "pipe.glb").c_str(), 0600) == 0);
  CHECK(has(refusal(folder.path() / "pipe.glb"), "it is not a regular file"));
}

TEST_CASE("a pipe that a model names as one of its files is not waited for") {
  const test::Folder folder;
  REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK(has(refusal(folder.write("a.gltf", R"({"asset": {"version": "2.0"}, "nodes": [{"mesh": 0}], "buffers":
      [{"byteLength": 36, "uri": "pipe"}]})")),
            "buffers[0]: pipe is not a regular file"));
  CHECK(read_model(folder.write("a.obj", "mtllib pipe\no box\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")));
}

TEST_CASE("JSON with a mistake in it is told with line and column") {
  const test::Folder folder;
  const auto why = [&](std::string_view text) { return refusal(folder.write("a.gltf", text)); };
  CHECK(has(why("{\"asset\": {\"version\": \"2.0\"},\n \"nodes\": [{\"translation\": [NaN, 0, 0]}]}"),
            "it is not valid JSON: line 2, column 29"));
  CHECK(has(why("{\"asset\": {\"version\": \"2.0\"}, }"), "it is not valid JSON: line 1, column 31"));
  CHECK(has(why("{\"asset\": {\"version\": \"2.0\"}} {}"), "it is not valid JSON: line 1"));
  CHECK(has(why("{\"asset\": {\"version\": \"2.0\"},\n \"nodes\": [{\"translation\": [1e999, 0, 0]}]}"),
            "it is not valid JSON: line 2, column 33: number overflow parsing '1e999'"));
  CHECK(has(why("1e999"), "it is not valid JSON: line 1, column 5: number overflow"));
  CHECK(has(why("[]"), "its JSON is not an object"));
  CHECK(has(why(std::string("\xff\xfe{\0}\0", 6)), "UTF-16"));
  const std::string deep(2'000'000, '[');
  CHECK(has(why(deep), "it is not valid JSON"));
}

TEST_CASE("a glTF file that contradicts itself is refused with the place") {
  const test::Folder folder;
  const auto why = [&](const std::string& rest) {
    return refusal(folder.write("a.gltf", "{\"asset\": {\"version\": \"2.0\"}, " + rest + "}"));
  };
  CHECK(has(why(R"("nodes": [{"children": [1]}])"), "nodes[0].children is 1, and there are 1 nodes"));
  CHECK(has(why(R"("nodes": [{"children": [1]}, {"children": [0]}])"), "recursive"));
  CHECK(has(why(R"("nodes": [{}, {"children": [2]}, {"children": [1]}])"), "recursive"));
  CHECK(has(why(R"("scenes": [{"nodes": [0, 1]}], "nodes": [{"children": [2]}, {"children": [2]}, {"name": "x"}])"),
            "nodes[2] (\"x\")"));
  CHECK(has(why(R"("scene": 1, "scenes": [{"nodes": [0]}], "nodes": [{}])"), "scene is 1, and there are 1 scenes"));
  CHECK(has(why(R"("nodes": [{"mesh": 0}])"), "nodes[0].mesh is 0, and there are 0 meshes"));
  CHECK(has(why(R"("nodes": [{"mesh": -1}])"), "nodes[0].mesh is not a whole number"));
  CHECK(has(why(R"("nodes": [{"camera": 1}], "cameras": [{}])"), "nodes[0].camera is 1"));
  CHECK(has(why(R"("nodes": [{"translation": [1, 2]}])"), "nodes[0].translation is not a list of 3 numbers"));
  CHECK(has(why(R"("nodes": "a")"), "nodes is not a list"));
  CHECK(has(why(R"("nodes": [7])"), "nodes[0] is not an object"));
  CHECK(has(why(R"("nodes": [{"extensions": {"KHR_lights_punctual": {"light": 2}}}])"), "there are 0 lights"));
  CHECK(has(why(R"("nodes": [{}], "buffers": [{"byteLength": 9, "uri": "http://example.org/a.bin"}])"),
            "only files are read"));
  CHECK(has(why(R"("nodes": [{}], "buffers": [{"byteLength": 9, "uri": "data:;base64,AAAA"}])"),
            "should have 9 bytes, and has 3"));
  const std::string mesh = R"("nodes": [{"mesh": 0}, {}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
      "buffers": [{"byteLength": 36, "uri": "data:;base64,)" +
                           std::string(48, 'A') + "\"}], ";
  const std::string view = R"("bufferViews": [{"buffer": 0, "byteLength": 36}], )";
  for (const char* count : {"4", "1000000000", "9007199254740991"})
    CHECK(has(why(mesh + view + R"("accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": )" +
                  count + "}]"),
              "accessors[0] reaches beyond bufferViews[0]"));
  CHECK(has(why(mesh + R"("bufferViews": [{"buffer": 0, "byteOffset": 9007199254740991, "byteLength": 36}],
      "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 1}])"),
            "bufferViews[0] reaches beyond its buffer"));
  CHECK(has(why(mesh + R"("accessors": [{"componentType": 5126, "type": "VEC3", "count": 9007199254740991}])"),
            "without a bufferView"));
  CHECK(
      has(why(mesh + view + R"("accessors": [{"componentType": 5126, "type": "VEC3", "count": 0, "sparse": {"count": 1,
      "indices": {"bufferView": 0, "componentType": 5121}, "values": {"bufferView": 0}}}])"),
          "accessors[0].sparse.indices refer to an element that does not exist"));
  CHECK(has(refusal(folder.write("b.gltf", R"({"nodes": []})")), "asset.version"));
  CHECK(has(refusal(folder.write("c.gltf", R"({"asset": {"version": "3.0"}, "nodes": [{}]})")), "glTF 3.0"));
}

TEST_CASE("models that are too deep or too large for a world are refused with the limit") {
  const test::Folder folder;
  const auto gltf = [](unsigned levels) {
    std::string text = R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [)";
    for (unsigned i = 0; i + 1 < levels; ++i) text += "{\"children\": [" + std::to_string(i + 1) + "]},";
    return text + "{}]}";
  };
  CHECK(read_model(folder.write("a.gltf", gltf(1025))));
  CHECK(has(refusal(folder.write("a.gltf", gltf(1026))), "deeper than 1024 levels"));
  CHECK(has(refusal(folder.write("a.gltf", gltf(100'000))), "deeper than 1024 levels"));
  std::string dae =
      "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">"
      "<library_visual_scenes><visual_scene id=\"s\">";
  for (unsigned i = 0; i < 40'000; ++i) dae += "<node>";
  for (unsigned i = 0; i < 40'000; ++i) dae += "</node>";
  dae += "</visual_scene></library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>";
  CHECK(has(refusal(folder.write("a.dae", dae)), "deeper than 1024 levels"));

  std::string wide = R"({"asset": {"version": "2.0"}, "nodes": [{})";
  for (unsigned i = 0; i < 99; ++i) wide += ",{}";
  const auto file = folder.write("wide.gltf", wide + "]}");
  CHECK(read_model(file, {.entities_max = 101}));
  const auto refused = read_model(file, {.entities_max = 100});
  REQUIRE_FALSE(refused);
  CHECK(has(refused.error().what, "more than 100 nodes and parts"));
  // A thousand nodes with a mesh of a thousand parts, instances without end.
  std::string many = R"({"asset": {"version": "2.0"}, "nodes": [{"mesh": 0})", parts = R"({"attributes": {}})";
  for (unsigned i = 0; i < 1100; ++i) many += R"(,{"mesh": 0})", parts += R"(,{"attributes": {}})";
  CHECK(has(refusal(folder.write("many.gltf", many + "], \"meshes\": [{\"primitives\": [" + parts + "]}]}")),
            "more than 1000000 nodes and parts"));
  CHECK(has(refusal(folder.write("instances.gltf",
                                 R"({"asset": {"version": "2.0"}, "meshes": [{"primitives": [{"attributes": {}}]}],
      "nodes": [{"mesh": 0, "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 0}}}}],
      "accessors": [{"componentType": 5126, "type": "VEC3", "count": 4000000000}]})")),
            "4000000000 instances"));
}

TEST_CASE("a glTF file without its .bin names the missing file") {
  const test::Folder folder;
  const auto file = folder.write("town_model.gltf", test::read_file(test::levels / "town/town_model.gltf"));
  CHECK(has(refusal(file), "town_model0.bin"));
}

TEST_CASE("a level that is cut off anywhere is refused") {
  const test::Folder folder;
  const std::string whole = test::read_file(test::levels / "living_room.glb");
  REQUIRE(whole.size() > 100000);
  for (const std::size_t kept : {1ul, 11ul, 12ul, 19ul, 20ul, 100ul, 2000ul, 50000ul, whole.size() - 1})
    CHECK_FALSE(refusal(folder.write("cut.glb", std::string_view(whole).substr(0, kept))).empty());
  const std::string text = test::read_file(test::levels / "town/town_model.gltf");
  for (const std::size_t kept : {1ul, 1000ul, text.size() / 2, text.size() - 10})
    CHECK_FALSE(refusal(folder.write("cut.gltf", std::string_view(text).substr(0, kept))).empty());
}

TEST_CASE("random bytes are no model, whatever the file is called", "[random]") {
  const test::Folder folder;
  // Some reader liked the noise.gltf of this seed, though it reads no glTF.
  for (const std::uint64_t seed : test::seeds("random bytes as models", 3617328530u, 300)) {
    INFO("seed " << seed);
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    for (const char* name : {"noise.glb", "noise.gltf", "noise.fbx", "noise.dae", "noise.obj", "noise.x3d", "noise.lws",
                             "noise.ogex", "noise.xml", "noise.letter", "noise"}) {
      std::string bytes(4096, '\0');
      for (char& c : bytes) c = static_cast<char>(random());
      CHECK_FALSE(refusal(folder.write(name, bytes)).empty());
    }
  }
}

TEST_CASE("a reader is asked only for a file of its suffix or with its mark") {
  const test::Folder folder;
  const std::string obj = "o box\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
  CHECK(read_model(folder.write("box.obj", obj)).has_value());
  CHECK(read_model(folder.write("BOX.OBJ", obj)).has_value());
  CHECK(has(refusal(folder.write("letter.txt", obj)), "No suitable reader"));
  CHECK(has(refusal(folder.write("box", obj)), "No suitable reader"));
  CHECK(has(refusal(folder.write("obj", obj)), "No suitable reader"));
  CHECK_FALSE(refusal(folder.write("box.gltf", obj)).empty());
  const std::string off = "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
  CHECK(read_model(folder.write("triangle", off)).has_value());
  CHECK_FALSE(refusal(folder.write("indented", " " + off)).empty());
}

TEST_CASE("a file of a text format with other bytes in it is refused before a reader sees it") {
  const test::Folder folder;
  CHECK(has(refusal(folder.write("a.obj", std::string("o box\nv 0 0 0\0\n", 16))), "a .obj file is text"));
  CHECK(has(refusal(folder.write("a.lws", "LWSX\x01")), "a .lws file is text"));
  CHECK(has(refusal(folder.write("a.OGEX", "\x7f\x02")), "a .ogex file is text"));
}

TEST_CASE("an import that brings nothing says so") {
  const test::Folder folder;
  CHECK(has(refusal(folder.write("comment.obj", "# v 0 0 0 and nothing else here\n")), "it holds nothing"));
  CHECK(has(refusal(folder.write("empty.gltf", R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{}]})")),
            "it holds nothing"));
  CHECK(has(refusal(folder.write("blank.gltf", R"({"asset": {"version": "2.0"}, "scenes": [{}], "nodes": [{}]})")),
            "it holds nothing: scenes[0] has no nodes"));
  const auto one = read_model(folder.write("one.gltf", R"({"asset": {"version": "2.0"}, "scene": 0, "scenes":
      [{"nodes": [0]}], "nodes": [{"name": "spawn point", "translation": [1, 0, 0]}]})"));
  REQUIRE(one.has_value());
  CHECK(one->entities.size() == 1);
}

TEST_CASE("the models that Assimp ships as invalid are refused with its reason") {
  if (!std::filesystem::exists(test::assimp_models))
    FAIL("there is no " << test::assimp_models << ": install the package assimp-testmodels");
  CHECK(has(refusal(test::assimp_models / "glTF2/MissingBin/BoxTextured.gltf"), "BoxTextured0.bin"));
  CHECK(has(refusal(test::assimp_models / "glTF2/RecursiveNodes/RecursiveNodes.gltf"), "recursive"));
  CHECK(has(refusal(test::assimp_models / "invalid/malformed.obj"), "Invalid face index"));
  CHECK_FALSE(refusal(test::assimp_models / "FBX/transparentTest.fbx").empty());
  unsigned refused = 0;
  for (const auto& file : std::filesystem::directory_iterator(test::assimp_models / "invalid"))
    if (file.path().filename() != "OutOfMemory.off")  // takes as long as it may
      refused += read_model(file.path()).has_value() ? 0 : 1;
  CHECK(refused >= 12);
}

TEST_CASE("numbers that no world takes are brought within bounds, and each is told") {
  const test::Folder folder;
  const auto read = [&](const char* name, std::string_view text) {
    auto model = read_model(folder.write(name, text));
    if (!model) FAIL(model.error().text());
    return std::move(*model);
  };
  const auto told = [](const ImportedModel& model, std::string_view part) {
    for (const std::string& warning : model.warnings) {
      CAPTURE(warning);
      if (warning.find(part) != std::string::npos) return true;
    }
    return false;
  };
  const ImportedModel scene =
      read("far.gltf", R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
      "cameras": [{"name": "eye", "type": "perspective", "perspective": {"yfov": 0.7, "znear": -1, "zfar": 1e30}}],
      "nodes": [{"name": "eye", "camera": 0}, {"name": "wide", "scale": [3e38, 3e38, 3e38], "rotation": [0.6, 0, 0, 0.8]}]})");
  const auto& eye = *std::ranges::find(scene.entities, "eye", &ImportedEntity::name);
  REQUIRE(eye.camera);
  CHECK(eye.camera->near == 0);
  CHECK(eye.camera->far == 1e9f);
  CHECK(told(scene, "camera \"eye\" has near -1; it was made 0."));
  CHECK(told(scene, "camera \"eye\" has far 1e+30; it was made 1e+09."));
  const ImportedModel huge = read("huge.obj", "o huge\nv -3e38 0 0\nv 3e38 0 0\nv 0 1 0\nf 1 2 3\n");
  CHECK(told(huge, "is too large for a float; it has no bounds."));
}

TEST_CASE("what broken models bring passes the rule for what comes from outside", "[random]") {
  // A level in text form, whose numbers are changed at random into ones that no world takes.
  const test::Folder folder;
  TypeTable types;
  REQUIRE(types.add<scene::Light>());
  const char* numbers[] = {"1e39", "-1e39", "3e38", "-3e38", "1e-45", "-1", "1e12", "0"};
  const std::string whole = test::read_file(test::data / "lights_and_names.gltf");
  std::size_t read = 0, warned = 0;
  for (const std::uint64_t seed : test::seeds("numbers of models", 1, 30))
    for (unsigned round = 0; round < 60; ++round) {
      INFO("seed " << seed << " round " << round);
      std::mt19937 random(static_cast<std::uint32_t>(seed * 60 + round));
      std::string text;
      for (std::size_t i = 0; i < whole.size();) {
        const std::size_t end = std::min(whole.find_first_not_of("0123456789.-e", i), whole.size());
        const bool number = end > i && whole.substr(i, end - i).find('.') != std::string::npos;
        text += number && random() % 4 == 0 ? std::string(numbers[random() % std::size(numbers)])
                                            : whole.substr(i, std::max<std::size_t>(end - i, 1));
        i = std::max(end, i + 1);
      }
      const auto model = read_model(folder.write("odd.gltf", text));
      if (!model) continue;
      ++read;
      warned += model->warnings.empty() ? 0 : 1;
      BatchBuilder builder;
      std::vector<Entity> ids;
      for (std::uint32_t i = 0; i < model->entities.size(); ++i) ids.push_back({1000 + i, 1});
      append_model(builder, *model, {.parent = {}, .root_name = "", .asset = "odd.gltf"}, ids);
      for_each_batch(builder.bytes(), [&](BatchView batch) {
        const auto judged = verify_batch(batch.bytes(), types, {.values = true});
        if (!judged) FAIL(judged.error().text);
      });
    }
  CHECK(read > 10);
  CHECK(warned > 5);
}

}  // namespace broken_models_test
