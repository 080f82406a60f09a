// A -wal that a killed process left is used if it belongs to the file; otherwise it is refused and
// stays byte for byte as it was.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/server/world/made_up_groups.h"
#include "tests/server/world/run_sql.h"

using namespace muster;
using namespace muster::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace fs = std::filesystem;

namespace {

Rows some_rows(std::uint64_t seed) {
  Rows rows;
  for (std::uint64_t i = 0; i < 10; ++i) {
    std::mt19937_64 random(seed * 100 + i);
    rows[{StateSection::columns, i, 1}] = {seed, random_bytes(random, 20'000)};
  }
  return rows;
}

void die() { ::kill(::getpid(), SIGKILL); }

/// `work` in a process of its own, which dies at its end.
template <class F>
void killed_after(F&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(9);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
}

/// A world with one checkpoint in the file and `groups` in the -wal that a killed process left.
void make_killed(const std::string& path, std::uint64_t groups, std::uint64_t seed = 1) {
  {
    auto made = WorldFile::open(path);
    const Rows rows = some_rows(seed);
    if (!made || !made->save({.sequence = 100, .tick = 9}, saving(rows))) std::abort();
  }
  killed_after([&] {
    auto file = WorldFile::open(path);
    Groups read;
    if (!file || !load_all(*file) || !take_all(*file, read)) ::_exit(1);
    for (std::uint64_t id = 1; id <= groups; ++id) {
      JournalGroup group = made_up_group(id);
      if (!file->append(group)) ::_exit(2);
    }
    die();
  });
  REQUIRE(fs::file_size(path + "-wal") > 0);
}

void copy(const std::string& from, const std::string& to, std::initializer_list<const char*> parts) {
  for (const char* part : parts) fs::copy_file(from + part, to + part, fs::copy_options::overwrite_existing);
}

struct Two {
  const Directory directory;
  const std::string path = directory / "w.muster", other = directory / "other.muster", wal = path + "-wal";
  /// The refusal's sentence; file and -wal stay as they are, and are refused again.
  std::string refused() const {
    const std::string file = read_file(path), left = read_file(wal);
    std::string text;
    for (int i = 0; i < 2; ++i) {
      const auto read = read_journal(path);
      if (read) FAIL("it was opened");
      text = read.error().detail();
      CHECK(read_file(path) == file);
      CHECK(read_file(wal) == left);
    }
    return text;
  }
};

}  // namespace

TEST_CASE(
    "a new world is not made where one that is gone left its -wal, its marks or its users, and a lock is no "
    "hindrance") {
  const Two two;
  make_killed(two.path, 3);
  fs::remove(two.path);
  const std::string left = read_file(two.wal);
  for (const OpenMode mode : {OpenMode::open_or_create, OpenMode::create_new}) {
    const auto file = WorldFile::open(two.path, {.mode = mode});
    REQUIRE_FALSE(file);
    CHECK(file.error().code() == WorldErrorCode::left_behind);
    CHECK(file.error().detail() ==
          "no such file, but a world that was here left these behind: " + two.wal +
              ". If it was moved, put it back, or move them to its new name; if it is gone for good, move them away");
    CHECK(read_file(two.wal) == left);
  }
  fs::remove(two.wal);
  for (const char* companion : {"-work", "-users"}) {
    write_file(two.path + companion, "something");
    const auto file = WorldFile::open(two.path);
    REQUIRE_FALSE(file);
    CHECK_THAT(file.error().detail(), Contains(two.path + companion));
    CHECK(read_file(two.path + companion) == "something");
    fs::remove(two.path + companion);
  }
  REQUIRE(fs::exists(two.path + "-lock"));
  auto file = WorldFile::open(two.path);
  REQUIRE(file);
  REQUIRE(file->save({.sequence = 100}, saving({})));
}

TEST_CASE("another world in the place of one that was killed does not get its -wal") {
  const Two two;
  make_killed(two.path, 3);
  make_world(two.other);
  SECTION("moved there") {
    fs::rename(two.other, two.path);
    CHECK_THAT(two.refused(), StartsWith("another file was put in the place of the one that " + two.wal +
                                         " belongs to. Put that one back, or move it and its -wal to another name"));
  }
  SECTION("written over it") {
    copy(two.other, two.path, {""});
    CHECK_THAT(two.refused(), StartsWith("it is another world than the one that " + two.wal + " and " + two.path +
                                         "-lock belong to. Put that one back. To open the file without it, move "));
  }
  SECTION("without a lock file") {
    fs::rename(two.other, two.path);
    fs::remove(two.path + "-lock");
    CHECK_THAT(two.refused(), Contains("move " + two.wal));
  }
}

TEST_CASE("a -wal of another world, or of another time, under the name of a world is refused") {
  const Two two;
  make_killed(two.path, 3);
  make_killed(two.other, 5, 2);
  SECTION("of another world") {
    copy(two.other, two.path, {"-wal"});
    CHECK_THAT(two.refused(), StartsWith(two.wal + " is not the one that the last process here wrote, as " + two.path +
                                         "-lock says."));
  }
  SECTION("of an earlier time") {
    const std::string left = read_file(two.wal);
    {
      auto file = WorldFile::open(two.path);
      REQUIRE(load_all(*file));
      Groups groups;
      REQUIRE(take_all(*file, groups));
      REQUIRE(file->save({.sequence = made_up_group(3).last}, saving(some_rows(3))));
    }
    write_file(two.wal, left);
    CHECK_THAT(two.refused(), Contains(two.wal));
  }
}

TEST_CASE("a -wal that makes a world another one is refused where no lock file says whose it is") {
  const Two two;
  make_world(two.path);
  make_world(two.other);
  killed_after([&] {
    auto file = WorldFile::open(two.other);
    if (!file || !load_all(*file)) ::_exit(1);
    if (!file->save({.sequence = 500}, saving(some_rows(4)))) ::_exit(2);
    die();
  });
  fs::remove(two.path + "-lock");
  copy(two.other, two.path, {"-wal"});
  CHECK_THAT(two.refused(), StartsWith(two.wal + " is of another world than the file"));
}

TEST_CASE("an older copy in the place of a world that was killed is refused, or has all that was durable") {
  const Two two;
  make_killed(two.path, 3);
  {
    auto file = WorldFile::open(two.path);
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    REQUIRE(file->save({.sequence = made_up_group(3).last}, saving(some_rows(3))));
  }
  copy(two.path, two.other, {""});
  killed_after([&] {
    auto file = WorldFile::open(two.path);
    if (!file || !load_all(*file)) ::_exit(1);
    if (!file->save({.sequence = 500}, saving(some_rows(4)))) ::_exit(2);
    file->begin_merge();
    file->merge_beside();
    file->end_merge();
    // Began anew: the file alone has most of the last checkpoint.
    Rows rows = some_rows(4);
    rows.erase(rows.begin());
    if (!file->save({.sequence = 600}, saving(rows))) ::_exit(3);
    die();
  });
  SECTION("moved there") {
    fs::rename(two.other, two.path);
    CHECK_THAT(two.refused(), StartsWith("another file was put in the place of"));
  }
  SECTION("restored in place") {
    copy(two.other, two.path, {""});
    CHECK_THAT(two.refused(), Contains("which may belong to another file or another time of this one"));
  }
}

TEST_CASE("a world that was killed opens where it is, in a copy of its folder, and with its -wal alone") {
  const Two two;
  make_killed(two.path, 7);
  SECTION("where it is") { CHECK(read_journal(two.path)->groups == 7); }
  SECTION("a copy of the folder") {
    copy(two.path, two.other, {"", "-wal", "-lock"});
    CHECK(read_journal(two.other)->groups == 7);
    fs::remove(two.other + "-wal");
    CHECK_FALSE(read_journal(two.other));
  }
  SECTION("file and -wal") {
    copy(two.path, two.other, {"", "-wal"});
    CHECK(read_journal(two.other)->groups == 7);
    auto file = WorldFile::open(two.other);
    // Not before it was read whole.
    const auto early = file->save({.sequence = 300}, saving({}));
    REQUIRE_FALSE(early);
    CHECK(early.error().code() == WorldErrorCode::setup);
    REQUIRE(load_all(*file));
    Groups groups;
    REQUIRE(take_all(*file, groups));
    REQUIRE(file->save({.sequence = made_up_group(7).last}, saving({})));
  }
  SECTION("with a lock file of an earlier version") {
    std::string lock = read_file(two.path + "-lock");
    lock.resize(lock.find("file "));
    write_file(two.path + "-lock", lock);
    CHECK(read_journal(two.path)->groups == 7);
  }
  SECTION("killed between the first write to a -wal that began anew and the mark of it") {
    std::string lock = read_file(two.path + "-lock");
    const std::size_t at = lock.find("wal ") + 4;
    const unsigned long salt = std::stoul(lock.substr(at, 10));
    char text[11];
    std::snprintf(text, sizeof text, "%010lu", salt - 1);
    write_file(two.path + "-lock", lock.replace(at, 10, text, 10));
    CHECK(read_journal(two.path)->groups == 7);
    std::snprintf(text, sizeof text, "%010lu", salt - 2);
    write_file(two.path + "-lock", lock.replace(at, 10, text, 10));
    CHECK_THAT(two.refused(), StartsWith(two.wal + " is not the one that"));
  }
}

TEST_CASE("a file that was given the inode of the one that a -wal belongs to is told from it by its birth") {
  const Two two;
  make_killed(two.path, 7);
  // Which inode a new file gets is for the file system to say; so the lock names one of another birth.
  const auto born_earlier = [&](const char* line) {
    std::string lock = read_file(two.path + "-lock");
    const std::size_t at = lock.find(line) + std::string_view(line).size() + 2 * 21;
    const unsigned long long born = std::stoull(lock.substr(at, 20));
    char text[21];
    std::snprintf(text, sizeof text, "%020llu", born - 1);
    write_file(two.path + "-lock", lock.replace(at, 20, text, 20));
    return born != 0;
  };
  if (!born_earlier("\nfile ")) return;  // this file system keeps no births
  SECTION("of the file") {
    CHECK_THAT(two.refused(),
               StartsWith("another file was put in the place of the one that " + two.wal + " belongs to"));
  }
  SECTION("of the lock file too: the folder is a copy") {
    born_earlier("\nlock ");
    CHECK(read_journal(two.path)->groups == 7);
  }
}

TEST_CASE("what another program left in a -wal of its own is read") {
  const Two two;
  make_journal(two.path, 3);
  killed_after([&] {
    sqlite3* connection = nullptr;
    sqlite3_open(two.path.c_str(), &connection);
    sqlite3_exec(connection, "CREATE TABLE notes(text); INSERT INTO notes VALUES('a')", nullptr, nullptr, nullptr);
    die();
  });
  REQUIRE(fs::file_size(two.wal) > 0);
  CHECK(read_journal(two.path)->groups == 3);
}
