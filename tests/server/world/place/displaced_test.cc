// A world's file, or its -wal, is moved, deleted, replaced, cut off or written over while the world is open.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "server/world/place/left_behind.h"
#include "tests/server/world/made_up_groups.h"
#include "tests/server/world/run_sql.h"

using namespace muster;
using namespace muster::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace fs = std::filesystem;

namespace {

Rows some_rows() {
  Rows rows;
  for (std::uint64_t i = 0; i < 20; ++i) {
    std::mt19937_64 random(i);
    rows[{StateSection::columns, i, 1}] = {1, random_bytes(random, 20'000)};
  }
  return rows;
}

/// A world that is open, and what is told to be durable of it.
struct Open {
  Open() {
    {
      auto made = WorldFile::open(path);
      REQUIRE(made);
      REQUIRE(made->save({.sequence = 100, .tick = 9}, saving(some_rows())));
    }
    file.emplace(WorldFile::open(path).value());
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
  }
  std::expected<void, WorldError> append() {
    JournalGroup group = made_up_group(told + 1);
    auto done = file->append(group);
    if (done) ++told;
    return done;
  }
  /// The sentence of the refusal; nothing is durable any more, whatever is tried.
  std::string refused() {
    const auto done = append();
    REQUIRE_FALSE(done);
    CHECK(done.error().code() == WorldErrorCode::displaced);
    REQUIRE(file->displaced());
    CHECK(done.error().detail() == *file->displaced());
    const auto again = append();
    REQUIRE_FALSE(again);
    CHECK(again.error().detail() == done.error().detail());
    const auto saved = file->save({.sequence = 200}, saving(some_rows()));
    REQUIRE_FALSE(saved);
    CHECK(saved.error().code() == WorldErrorCode::displaced);
    return done.error().detail();
  }
  /// How many groups a world at `place` gives.
  static std::uint64_t groups_of(const std::string& place) {
    const auto read = read_journal(place);
    if (!read) FAIL(read.error().what());
    return read->groups;
  }
  const Directory directory;
  const std::string path = directory / "w.muster", wal = path + "-wal", moved = directory / "moved.muster";
  std::optional<WorldFile> file;
  std::uint64_t told = 0;
};

void overwrite(const std::string& path, const std::string& bytes, off_t at) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(::pwrite(fd, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size()));
  ::close(fd);
}

}  // namespace

TEST_CASE("after its file was moved nothing is told durable, and with its -wal it has what was") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  fs::rename(world.path, world.moved);
  CHECK(world.refused() ==
        world.path +
            " was moved or deleted while this process had the world open. Nothing is written to that file anymore");
  const std::string wal = read_file(world.wal), file = read_file(world.moved);
  world.file.reset();
  CHECK(read_file(world.moved) == file);
  CHECK(read_file(world.wal) == wal);
  // What lies there refuses a start, and a new world.
  for (const OpenMode mode : {OpenMode::open_or_create, OpenMode::create_new, OpenMode::open_existing}) {
    const auto opened = WorldFile::open(world.path, {.mode = mode});
    REQUIRE_FALSE(opened);
    CHECK(opened.error().detail() == left_behind(world.path));
    CHECK_THAT(opened.error().detail(),
               StartsWith("no such file, but a world that was here left these behind: " + world.wal));
    CHECK(read_file(world.wal) == wal);
  }
  fs::rename(world.wal, world.moved + "-wal");
  CHECK(Open::groups_of(world.moved) == 5);
}

TEST_CASE("a file that is moved before its world is closed has what was durable, though nobody looked in between") {
  Open world;
  for (int i = 0; i < 3; ++i) REQUIRE(world.append());
  const std::string wal = read_file(world.wal);
  fs::rename(world.path, world.moved);
  world.file.reset();
  REQUIRE(fs::exists(world.wal));
  CHECK(read_file(world.wal) == wal);
  fs::rename(world.wal, world.moved + "-wal");
  CHECK(Open::groups_of(world.moved) == 3);
}

TEST_CASE(
    "another world that is written over the file before its world is closed is left as it is, and so is the -wal") {
  Open world;
  for (int i = 0; i < 3; ++i) REQUIRE(world.append());
  {
    // As large: SQLite merges nothing into a file that is much too small.
    auto made = WorldFile::open(world.moved);
    REQUIRE(made->save({.sequence = 100, .tick = 9}, saving(some_rows())));
  }
  const std::string other = read_file(world.moved), wal = read_file(world.wal);
  overwrite(world.path, other, 0);
  fs::resize_file(world.path, other.size());
  world.file.reset();
  CHECK(read_file(world.path) == other);
  REQUIRE(fs::exists(world.wal));
  CHECK(read_file(world.wal) == wal);
}

TEST_CASE("what stands at the place of the -wal when a world is closed is left there if it is not the world's") {
  Open world;
  for (int i = 0; i < 3; ++i) REQUIRE(world.append());
  fs::rename(world.wal, world.moved + "-wal");
  write_file(world.wal, "somebody's");
  world.file.reset();
  REQUIRE(fs::exists(world.wal));
  CHECK(read_file(world.wal) == "somebody's");
}

TEST_CASE("after another file was put in its place that one and the -wal are left alone, also at the end") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  make_world(world.directory / "other.muster");
  fs::rename(world.directory / "other.muster", world.path);
  const std::string other = read_file(world.path), wal = read_file(world.wal);
  CHECK_THAT(world.refused(), StartsWith("another file was put in the place of " + world.path + " while "));
  world.file.reset();
  CHECK(read_file(world.path) == other);
  CHECK(read_file(world.wal) == wal);
  const auto opened = WorldFile::open(world.path);
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().detail(),
             StartsWith("another file was put in the place of the one that " + world.wal + " belongs to."));
  CHECK(read_file(world.path) == other);
  CHECK(read_file(world.wal) == wal);
  // The way on that it names.
  fs::remove(world.wal);
  fs::remove(world.path + "-lock");
  CHECK(read_world(world.path));
}

TEST_CASE("after its file was cut off or written over nothing is told durable") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  SECTION("in the middle") {
    overwrite(world.path, std::string(5000, 'x'), 50'000);
    CHECK_THAT(world.refused(), StartsWith(world.path + " was written over or cut off by another program ("));
  }
  SECTION("cut off") {
    fs::resize_file(world.path, 30'000);
    CHECK_THAT(world.refused(), StartsWith(world.path + " was cut off while "));
  }
  SECTION("cut off to nothing") {
    fs::resize_file(world.path, 0);
    CHECK_THAT(world.refused(), StartsWith(world.path + " was cut off or written over while "));
  }
  const std::string file = read_file(world.path), wal = read_file(world.wal);
  world.file.reset();
  CHECK(read_file(world.path) == file);
  CHECK(read_file(world.wal) == wal);
  CHECK_FALSE(read_journal(world.path));
  CHECK(read_file(world.path) == file);
  CHECK(read_file(world.wal) == wal);
}

TEST_CASE("after its -wal was deleted, replaced, cut off or written over nothing is told durable") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  const std::string wal = read_file(world.wal);
  std::string says;
  SECTION("deleted") {
    fs::remove(world.wal);
    says = world.wal + " was moved or deleted while ";
  }
  SECTION("replaced by a copy") {
    write_file(world.wal + "2", wal);
    fs::rename(world.wal + "2", world.wal);
    says = "another file was put in the place of " + world.wal + " while ";
  }
  SECTION("cut off") {
    fs::resize_file(world.wal, wal.size() / 2);
    says = world.wal + " was written over or cut off by another program (";
  }
  SECTION("cut off to nothing") {
    fs::resize_file(world.wal, 0);
    says = world.wal + " was written over or cut off by another program (";
  }
  SECTION("a byte in the middle") {
    overwrite(world.wal, "?", static_cast<off_t>(wal.size() / 2));
    says = world.wal + " was written over or cut off by another program (";
  }
  CHECK_THAT(world.refused(), StartsWith(says));
}

TEST_CASE("a -wal that is cut off between two writes of one group is found before the group is told durable") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  // As if it had come right behind the look before the group: there is a hole then.
  FileWatch watch(world.path, world.path, ::open(world.path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(watch.begin().empty());
  REQUIRE(world.append());
  const std::string whole = read_file(world.wal);
  bool differs = false;
  const std::uint64_t frames = (whole.size() - 32) / 4120;
  for (const std::size_t cut : {0, 31, 4000, 9000}) {
    std::string holed = whole;
    std::fill(holed.begin() + static_cast<std::ptrdiff_t>(cut), holed.end() - 4120, '\0');
    overwrite(world.wal, holed, 0);
    CHECK(watch.committed(frames, differs) == world.wal + " was cut off or written over");
    overwrite(world.wal, whole, 0);
  }
  CHECK(watch.committed(frames, differs).empty());
}

TEST_CASE(
    "what becomes of a file or its -wal between the look before a group and its commit is found behind the commit") {
  Open world;
  REQUIRE(world.append());
  FileWatch watch(world.path, world.path, ::open(world.path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(watch.begin().empty());
  REQUIRE(world.append());
  const std::uint64_t frames = (fs::file_size(world.wal) - 32) / 4120;
  bool differs = false;
  SECTION("moved") {
    for (const std::string& each : {world.path, world.wal}) {
      fs::rename(each, world.moved);
      CHECK(watch.committed(frames, differs) == each + " was moved or deleted");
      fs::rename(world.moved, each);
    }
  }
  SECTION("replaced by a copy") {
    for (const std::string& each : {world.path, world.wal}) {
      fs::rename(each, world.moved);
      fs::copy_file(world.moved, each);
      CHECK(watch.committed(frames, differs) == "another file was put in the place of " + each);
      fs::rename(world.moved, each);
    }
  }
  SECTION("the file is written over") {
    CHECK(watch.committed(frames, differs).empty());
    CHECK_FALSE(differs);
    overwrite(world.path, "?", 50'000);
    CHECK(watch.committed(frames, differs).empty());
    CHECK(differs);
  }
}

TEST_CASE("whatever does not change its content leaves a world durable") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  const auto holds = [&] {
    const auto done = world.append();
    if (!done) FAIL(done.error().what());
    CHECK_FALSE(world.file->displaced());
    REQUIRE(world.file->still_there());
  };
  for (const std::string& each : {world.path, world.wal}) {
    ::chmod(each.c_str(), 0600);
    holds();
    REQUIRE(::utimensat(AT_FDCWD, each.c_str(), nullptr, 0) == 0);
    holds();
  }
  REQUIRE(::link(world.path.c_str(), (world.directory / "link.muster").c_str()) == 0);
  CHECK_FALSE(WorldFile::open(world.directory / "link.muster"));
  holds();
  fs::remove(world.directory / "link.muster");
  holds();
  for (const char* part : {"", "-wal"})
    write_file(world.directory / ("backup" + std::string(part)), read_file(world.path + part));
  holds();
  CHECK(run_sql(world.path, "SELECT count(*) FROM journal") == std::to_string(world.told) + "\n");
  holds();
  run_sql(world.path, "CREATE TABLE IF NOT EXISTS notes(text)");
  holds();
  run_sql(world.path, "INSERT INTO notes VALUES('a'); PRAGMA wal_checkpoint(PASSIVE)");
  holds();
  run_sql(world.path, "INSERT INTO notes VALUES('b'); PRAGMA wal_checkpoint(RESTART); INSERT INTO notes VALUES('c')");
  holds();
  run_sql(world.path, "PRAGMA wal_checkpoint(TRUNCATE)");
  holds();
  world.file.reset();
  CHECK(Open::groups_of(world.path) == world.told);
}

TEST_CASE("a link in its place, and a -shm that is gone, displace a world") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  SECTION("a link to the file, which has no -wal beside it") {
    fs::rename(world.path, world.moved);
    fs::create_symlink(world.moved, world.path);
    CHECK_THAT(world.refused(), StartsWith("another file was put in the place of " + world.path + " while "));
    world.file.reset();
    fs::rename(world.wal, world.moved + "-wal");
    CHECK(Open::groups_of(world.moved) == 5);
  }
  SECTION("no -shm: other programs and this one do not see each other's writes any more") {
    fs::remove(world.path + "-shm");
    CHECK_THAT(world.refused(), StartsWith(world.path + "-shm was moved or deleted while "));
    world.file.reset();
    CHECK(Open::groups_of(world.path) == 5);
  }
}

TEST_CASE("a world that was given by a link is displaced when the link leads elsewhere") {
  const Directory directory;
  const std::string real = directory / "real.muster", link = directory / "link.muster";
  make_world(real);
  make_world(directory / "other.muster");
  fs::create_symlink(real, link);
  auto file = WorldFile::open(link);
  REQUIRE(file);
  CHECK(file->still_there());
  fs::remove(link);
  fs::create_symlink(directory / "other.muster", link);
  const auto there = file->still_there();
  REQUIRE_FALSE(there);
  CHECK_THAT(there.error().detail(), StartsWith(link + " no longer leads to " + real));
}

TEST_CASE("a copy that was written over the file is found though the -wal has the pages in which they differ") {
  Open world;
  const std::string older = world.directory / "older.muster";
  REQUIRE(world.file->save({.sequence = 100, .tick = 9}, saving(some_rows())));
  world.file.reset();
  const bool same_world = GENERATE(true, false);
  if (same_world)
    fs::copy(world.path, older);
  else
    make_world(older);
  // A further save, which is merged at the end.
  {
    auto file = WorldFile::open(world.path).value();
    REQUIRE(load_all(file));
    Groups groups;
    REQUIRE(take_all(file, groups));
    REQUIRE(file.save({.sequence = 101, .tick = 10}, saving(some_rows())));
  }
  auto file = WorldFile::open(world.path).value();
  REQUIRE(load_all(file));
  Groups groups;
  REQUIRE(take_all(file, groups));
  // All that changes at a save is in the -wal now.
  REQUIRE(file.save({.sequence = 102, .tick = 11}, saving(some_rows())));
  fs::resize_file(world.path, fs::file_size(older));
  overwrite(world.path, read_file(older), 0);
  const auto there = file.still_there();
  REQUIRE_FALSE(there);
  CHECK(there.error().code() == WorldErrorCode::displaced);
  CHECK_THAT(there.error().detail(), StartsWith(world.path + " was "));
}

TEST_CASE("a rescue leaves alone what lies at its names") {
  Open world;
  REQUIRE(world.append());
  const std::string stem = world.directory / "w-rescued";
  for (const char* name : {"-new.muster", "-new.muster-wal", ".muster-wal", "-2.muster-users"})
    write_file(stem + name, "somebody's");
  REQUIRE(::chmod(world.path.c_str(), 0600) == 0);
  fs::remove(world.path);
  REQUIRE_FALSE(world.file->still_there());
  const auto rescued = world.file->rescue({.sequence = 200}, saving(some_rows()));
  REQUIRE(rescued);
  CHECK(*rescued == stem + "-3.muster");
  for (const char* name : {"-new.muster", "-new.muster-wal", ".muster-wal", "-2.muster-users"})
    CHECK(read_file(stem + name) == "somebody's");
  struct stat made{};
  REQUIRE(::stat(rescued->c_str(), &made) == 0);
  CHECK((made.st_mode & 0777) == 0600);
}

TEST_CASE("the state of a displaced world is written beside it, as the same world, and opens in its place") {
  Open world;
  for (int i = 0; i < 5; ++i) REQUIRE(world.append());
  fs::rename(world.path, world.moved);
  (void)world.refused();
  const std::string id = world.file->meta().world;
  write_file(world.directory / "w-rescued.muster", "somebody's");
  Rows rows = some_rows();
  rows.erase(rows.begin());
  const auto rescued = world.file->rescue({.sequence = 300, .tick = 12}, saving(rows));
  if (!rescued) FAIL(rescued.error().what());
  CHECK(*rescued == world.directory / "w-rescued-2.muster");
  world.file.reset();
  CHECK(world.directory.names() == std::vector<std::string>{"moved.muster", "w-rescued-2.muster", "w-rescued.muster",
                                                            "w.muster-lock", "w.muster-shm", "w.muster-wal"});
  fs::rename(world.wal, world.moved + "-wal");
  fs::rename(*rescued, world.path);
  CHECK(read_world(world.path) == contents(rows));
  const auto opened = WorldFile::open(world.path);
  REQUIRE(opened);
  CHECK(opened->meta().world == id);
  CHECK(opened->meta().checkpoint == 2);
  CHECK(opened->meta().sequence == 300);
}
