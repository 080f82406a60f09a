// A file that is on the disk and whose name is not is lost with the power: who makes a world syncs its directory.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/server/world/made_up_rows.h"

namespace {

struct Sync {
  std::string path;
  bool directory = false;
  bool named = false;  ///< the world's name was in it by then
};
std::vector<Sync> synced;
std::string world;  // whose name is looked for
int directories_to_fail = 0;

}  // namespace

/// In the place of the system's: notes what is synced, and does it.
extern "C" int fsync(int fd) {
  char path[PATH_MAX] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (::readlink(link.c_str(), path, sizeof path - 1) > 0) {
    struct stat what{};
    const bool directory = ::fstat(fd, &what) == 0 && S_ISDIR(what.st_mode);
    synced.push_back({path, directory, ::access(world.c_str(), F_OK) == 0});
    if (directory && directories_to_fail > 0) {
      --directories_to_fail;
      errno = EIO;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace {

using namespace muster;
using namespace muster::test;

Rows one_row(std::uint64_t version) { return {{StateKey{StateSection::texts, 1, 0}, {version, Bytes(100)}}}; }

/// Directories that were synced while the world had its name in them.
std::vector<std::string> good_syncs() {
  std::vector<std::string> all;
  for (const Sync& sync : synced)
    if (sync.directory && sync.named) all.push_back(sync.path);
  return all;
}

}  // namespace

TEST_CASE("the directory of a new world is synced behind its name, before the first checkpoint is reported") {
  const Directory directory;
  std::filesystem::create_directory(directory.path() / "deep");
  const auto before = std::filesystem::current_path();
  for (const std::string name : {"w.muster", "deep/w.muster", "deep/../v.muster"}) {
    for (const bool relative : {false, true}) {
      CAPTURE(name, relative);
      if (relative) std::filesystem::current_path(directory.path());
      const std::string path =
          relative ? std::filesystem::path(name).replace_filename("r.muster").string() : directory / name;
      world = std::filesystem::absolute(path).string();
      synced.clear();
      {
        auto file = WorldFile::open(path);
        REQUIRE(file);
        CHECK(good_syncs().empty());
        REQUIRE(file->save({}, saving(one_row(1))));
        const std::string parent = std::filesystem::canonical(std::filesystem::path(world).parent_path()).string();
        CHECK(good_syncs() == std::vector<std::string>{parent});
        REQUIRE(file->save({}, saving(one_row(2))));
        CHECK(good_syncs().size() == 1);  // a name that is there stays there
      }
      std::filesystem::current_path(before);
      std::filesystem::remove(world);
      std::filesystem::remove(world + "-lock");
    }
  }
}

TEST_CASE("a directory that cannot be synced fails the first checkpoint, leaves no world, and a later one makes it") {
  const Directory directory;
  world = directory / "w.muster";
  synced.clear();
  directories_to_fail = 2;
  auto file = WorldFile::open(world);
  REQUIRE(file);
  for (int i = 0; i < 2; ++i) {
    const auto failed = file->save({}, saving(one_row(1)));
    REQUIRE_FALSE(failed);
    CHECK(std::string(failed.error().what()).find("its directory cannot be synced: Input/output error") !=
          std::string::npos);
    CHECK(file->is_new());
    CHECK(directory.names() == std::vector<std::string>{"w.muster-lock"});
  }
  REQUIRE(file->save({}, saving(one_row(2))));
  CHECK(good_syncs().size() == 3);
  CHECK_FALSE(file->is_new());
  REQUIRE(load_all(*file) == contents(one_row(2)));
}
