#include <catch2/catch.hpp>
#include <random>

#include "client/import/model.h"
#include "tests/import/paths.h"
#include "tests/support/folder.h"

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
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a model that is not there, is a folder, is empty or of no known format is named so") {
  const test::Folder folder;
  CHECK(has(refusal(folder.path() / "gone.glb"), "no such file"));
  CHECK(has(refusal(folder.path()), "folder"));
  CHECK(has(refusal(folder.write("empty.glb", "")), "empty"));
  CHECK(has(refusal(folder.write("letter.txt", "Dear Ann")), "No suitable reader"));
  CHECK(has(refusal(folder.write("none", "no suffix")), "No suitable reader"));
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

TEST_CASE("random bytes are no model, whatever the file is called") {
  const test::Folder folder;
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const char* name : {"noise.glb", "noise.gltf", "noise.fbx", "noise.dae"}) {
    std::string bytes(4096, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    CHECK_FALSE(refusal(folder.write(name, bytes)).empty());
  }
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
    if (file.path().filename() != "OutOfMemory.off")  // is read, in eight seconds
      refused += read_model(file.path()).has_value() ? 0 : 1;
  CHECK(refused >= 12);
}
