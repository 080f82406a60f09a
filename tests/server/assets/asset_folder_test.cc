// Which files may be stored beside a world, under which names, and what is never followed.
#include "server/assets/asset_folder.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/folder.h"

namespace asset_folder_test {

using namespace muster;
namespace fs = std::filesystem;
using Parts = AssetFolder::Parts;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Uploads a file; the status, 200 where it was stored.
unsigned upload(const AssetFolder& folder, const Parts& path, std::string_view text, bool replaces = false) {
  auto begun = folder.begin(path, text.size(), replaces);
  if (!begun) return begun.error().status;
  if (const auto written = begun->write(bytes_of(text)); !written) return written.error().status;
  const auto finished = begun->finish();
  return finished ? 200 : finished.error().status;
}

std::vector<std::string> paths(const AssetFolder& folder) {
  std::vector<std::string> all;
  for (const Asset& asset : folder.list().value().files) all.push_back(asset.path);
  return all;
}

}  // namespace

TEST_CASE("what is uploaded is listed, in the order of the paths, and has its content", "[assets]") {
  const test::Folder world;
  const AssetFolder folder(world.path());
  CHECK(paths(folder).empty());
  CHECK_FALSE(fs::exists(world / "assets"));  // to look makes nothing
  CHECK(upload(folder, {"b.glb"}, "bee") == 200);
  CHECK(upload(folder, {"trees", "oak", "a.png"}, "") == 200);
  CHECK(paths(folder) == std::vector<std::string>{"b.glb", "trees/oak/a.png"});
  CHECK(folder.list()->files[0].bytes == 3);
  CHECK(test::read_file(world / "assets/b.glb") == "bee");
}

TEST_CASE("a file is replaced only where that is asked for, and as a whole", "[assets]") {
  const test::Folder world;
  const AssetFolder folder(world.path());
  REQUIRE(upload(folder, {"a.glb"}, "first") == 200);
  CHECK(upload(folder, {"a.glb"}, "second") == 409);
  CHECK(test::read_file(world / "assets/a.glb") == "first");
  {
    auto begun = folder.begin({"a.glb"}, 100, true);
    REQUIRE(begun);
    REQUIRE(begun->write(bytes_of("half")));
    CHECK(test::read_file(world / "assets/a.glb") == "first");
    CHECK(paths(folder) == std::vector<std::string>{"a.glb"});  // what is half there is not listed
  }
  CHECK(std::distance(fs::directory_iterator(world / "assets"), {}) == 1);  // and leaves nothing
  CHECK(upload(folder, {"a.glb"}, "second", true) == 200);
  CHECK(test::read_file(world / "assets/a.glb") == "second");
}

TEST_CASE("of two uploads to a new name, the second to end is refused", "[assets]") {
  const test::Folder world;
  const AssetFolder folder(world.path());
  auto one = folder.begin({"a.glb"}, 1, false), other = folder.begin({"a.glb"}, 1, false);
  REQUIRE((one && other));
  REQUIRE(one->write(bytes_of("1")));
  REQUIRE(other->write(bytes_of("2")));
  CHECK(one->finish());
  CHECK(other->finish().error().status == 409);
  CHECK(test::read_file(world / "assets/a.glb") == "1");
}

TEST_CASE("names that lead elsewhere, mislead, or are not those of assets are refused", "[assets]") {
  const test::Folder world;
  const AssetFolder folder(world.path());
  const std::vector<Parts> bad = {{},
                                  {".."},
                                  {"..", "a.glb"},
                                  {".a.glb"},
                                  {".git", "a.glb"},
                                  {"a/b.glb"},
                                  {"a\\b.glb"},
                                  {std::string("a\0.glb", 6)},
                                  {"a\n.glb"},
                                  {"a\x7f.glb"},
                                  {"a\xff.glb"},
                                  {"a\u202egpj.glb"},
                                  {"a\u0085.glb"},
                                  {std::string(197, 'a') + ".glb"},
                                  {"1", "2", "3", "4", "5", "6", "7", "8", "9", "a.glb"},
                                  {"a"},
                                  {"a.html"},
                                  {"a.svg"},
                                  {"a.glb.sh"},
                                  {"town.muster"}};
  for (const Parts& path : bad) {
    INFO((path.empty() ? "nothing" : path.back()));
    CHECK(upload(folder, path, "x") == 400);
    CHECK(folder.rename(path, {"b.glb"}).error().status == 400);
    CHECK(folder.rename({"b.glb"}, path).error().status == 400);
  }
  CHECK_FALSE(fs::exists(world / "assets"));
  CHECK(upload(folder, {"Eiche 50% & gr\u00f6\u00dfer.glb"}, "x") == 200);
  CHECK(folder.begin({"c.glb"}, asset_bytes_max + 1, false).error().status == 413);
  CHECK(AssetFolder({}).begin({"a.glb"}, 1, false).error().status == 404);
}

TEST_CASE("symbolic links are neither listed, nor followed, nor written through", "[assets]") {
  const test::Folder world, elsewhere;
  const AssetFolder folder(world.path());
  elsewhere.write("secret.glb", "secret");
  REQUIRE(upload(folder, {"a.glb"}, "a") == 200);
  fs::create_symlink(elsewhere.path(), world / "assets/out");
  fs::create_symlink(elsewhere / "secret.glb", world / "assets/link.glb");
  CHECK(paths(folder) == std::vector<std::string>{"a.glb"});
  CHECK(upload(folder, {"out", "b.glb"}, "x") == 409);
  CHECK(upload(folder, {"out", "secret.glb"}, "x", true) == 409);
  CHECK(upload(folder, {"link.glb"}, "x", true) == 409);
  CHECK(folder.rename({"link.glb"}, {"c.glb"}).error().status == 409);
  CHECK(folder.rename({"a.glb"}, {"out", "a.glb"}).error().status == 409);
  CHECK(elsewhere.names() == std::vector<std::string>{"secret.glb"});
  CHECK(test::read_file(elsewhere / "secret.glb") == "secret");

  const test::Folder other;  // the folder itself is a link
  fs::create_symlink(elsewhere.path(), other / "assets");
  const AssetFolder linked(other.path());
  CHECK(linked.list().error().status == 409);
  CHECK(upload(linked, {"b.glb"}, "x") == 409);
}

TEST_CASE("a file is renamed to a free name with its suffix, also into a new folder", "[assets]") {
  const test::Folder world;
  const AssetFolder folder(world.path());
  REQUIRE(upload(folder, {"a.glb"}, "a") == 200);
  REQUIRE(upload(folder, {"b.glb"}, "b") == 200);
  CHECK(folder.rename({"a.glb"}, {"b.glb"}).error().status == 409);
  CHECK(folder.rename({"a.glb"}, {"a.png"}).error().status == 400);
  CHECK(folder.rename({"none.glb"}, {"c.glb"}).error().status == 404);
  CHECK(folder.rename({"none", "a.glb"}, {"c.glb"}).error().status == 404);
  CHECK(folder.rename({"a.glb"}, {"trees", "oak.glb"}));
  CHECK(paths(folder) == std::vector<std::string>{"b.glb", "trees/oak.glb"});
  CHECK(test::read_file(world / "assets/b.glb") == "b");
}

TEST_CASE("what an upload left over an hour ago is removed, and files that are not assets are left out", "[assets]") {
  const test::Folder world;
  const AssetFolder folder(world.path());
  REQUIRE(upload(folder, {"a.glb"}, "a") == 200);
  for (const char* name : {"notes.txt", ".hidden.glb", ".upload-old", ".upload-new"})
    test::write_file(world / ("assets/" + std::string(name)), "x");
  fs::last_write_time(world / "assets/.upload-old", fs::file_time_type::clock::now() - std::chrono::hours(2));
  CHECK(::mkfifo((world / "assets/pipe.glb").c_str(), 0600) == 0);
  CHECK(paths(folder) == std::vector<std::string>{"a.glb"});
  CHECK_FALSE(fs::exists(world / "assets/.upload-old"));
  CHECK(fs::exists(world / "assets/.upload-new"));
  CHECK(fs::exists(world / "assets/notes.txt"));
}

}  // namespace asset_folder_test
