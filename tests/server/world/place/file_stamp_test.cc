// Which file a path or a descriptor has, and whether the process has it open.
#include "server/world/place/file_stamp.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/folder.h"

using namespace muster;

namespace fs = std::filesystem;

namespace {

/// A descriptor that is closed at the end.
struct Descriptor {
  explicit Descriptor(const std::string& path) : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    REQUIRE(number >= 0);
  }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void close() {
    if (number >= 0) ::close(number);
    number = -1;
  }
  int number;
};

}  // namespace

TEST_CASE("a file is open while a descriptor has it, whatever its name, and a copy of it is another file") {
  const test::Folder folder;
  const std::string path = folder.write("a", "content").string(), copy = folder.write("copy", "content").string();
  const FileStamp file = stamp_of(path);
  REQUIRE(file.inode != 0);
  CHECK_FALSE(has_open(file, -1));
  Descriptor first(path);
  CHECK(has_open(file, -1));
  CHECK_FALSE(has_open(file, first.number));
  CHECK_FALSE(has_open(stamp_of(copy), -1));
  {
    const Descriptor second(path), other(copy);
    CHECK(has_open(file, first.number));
    CHECK(has_open(file, second.number));
    CHECK(has_open(stamp_of(copy), first.number));
    CHECK_FALSE(has_open(stamp_of(copy), other.number));
  }
  CHECK_FALSE(has_open(file, first.number));
  fs::rename(path, path + "-moved");
  fs::create_hard_link(path + "-moved", path + "-link");
  CHECK(has_open(stamp_of(path + "-link"), -1));
  fs::remove(path + "-moved");
  fs::remove(path + "-link");
  CHECK(has_open(file, -1));
  first.close();
  CHECK_FALSE(has_open(file, -1));
}

TEST_CASE("a file counts as open if the system does not tell what is open") {
  const test::Folder folder;
  const FileStamp file = stamp_of(folder.write("a", "content").string());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);  // no descriptor is given any more
  const bool is_open = has_open(file, -1);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(is_open);
  CHECK_FALSE(has_open(file, -1));
}

TEST_CASE("two files that had one inode are told apart by when they were born, if both times are known") {
  const FileIdentity file{.device = 1, .inode = 2, .born_ns = 3}, unknown{.device = 1, .inode = 2};
  CHECK(file.is(file));
  CHECK_FALSE(file.is({.device = 1, .inode = 2, .born_ns = 4}));
  CHECK_FALSE(file.is({.device = 1, .inode = 3, .born_ns = 3}));
  CHECK_FALSE(file.is({.device = 2, .inode = 2, .born_ns = 3}));
  CHECK(file.is(unknown));
  CHECK(unknown.is(file));
}

TEST_CASE("a file keeps its identity when it is moved and written to, and its copy has another") {
  const test::Folder folder;
  const std::string path = folder.write("a", "content").string();
  const FileIdentity before = identity_of(path);
  REQUIRE(before);
  fs::rename(path, path + "-moved");
  CHECK_FALSE(identity_of(path));
  folder.write("a-moved", "more content");
  const Descriptor moved(path + "-moved");
  CHECK(identity_of(path + "-moved").is(before));
  CHECK(identity_of(moved.number).is(before));
  fs::copy_file(path + "-moved", path);
  CHECK_FALSE(identity_of(path).is(before));
}
