#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/registry/heights.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/run_sql.h"

namespace refusal_test {

using namespace muster;
using namespace muster::test;

namespace {

std::string refusal(const std::string& path, WorldErrorCode code, OpenMode mode = OpenMode::open_or_create) {
  auto file = WorldFile::open(path, {.mode = mode});
  REQUIRE_FALSE(file);
  REQUIRE(file.error().path() == path);
  CHECK(std::string(name(file.error().code())) == name(code));
  return file.error().detail();
}

/// The refusal's text; the file and its directory must be as before.
std::string refused_unchanged(const Directory& directory, const std::string& path, WorldErrorCode code) {
  const std::string before = read_file(path);
  const auto names = directory.names();
  const std::string text = refusal(path, code);
  CHECK(read_file(path) == before);
  CHECK(directory.names() == names);
  return text;
}

/// Whether another process is refused the world as in use, with that text.
bool is_refused_elsewhere(const std::string& path, const std::string& text) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto file = WorldFile::open(path);
    ::_exit(!file && file.error().code() == WorldErrorCode::in_use && file.error().detail() == text ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("an empty file is refused") {
  const Directory directory;
  write_file(directory / "w.muster", "");
  CHECK(refused_unchanged(directory, directory / "w.muster", WorldErrorCode::not_a_world) ==
        "the file is empty, not a world");
}

TEST_CASE("something else than a database is refused") {
  const Directory directory;
  write_file(directory / "w.muster", std::string(5000, 'x'));
  CHECK(refused_unchanged(directory, directory / "w.muster", WorldErrorCode::not_a_world) ==
        "not a world: it does not begin like an SQLite database");
}

TEST_CASE("another application's database is refused") {
  const Directory directory;
  run_sql(directory / "w.muster", "PRAGMA application_id=0x01020304; CREATE TABLE state(a)");
  CHECK(refused_unchanged(directory, directory / "w.muster", WorldErrorCode::not_a_world) ==
        "not a world: an SQLite database of another application (application_id 0x01020304, a world has 0x4d737472)");
}

TEST_CASE("a directory and a path without its directory are refused") {
  const Directory directory;
  CHECK(refusal(directory.path().string(), WorldErrorCode::not_a_world) == "not a world: not a regular file");
  CHECK(refusal(directory / "no/w.muster", WorldErrorCode::missing) ==
        "its directory " + directory.path().string() + "/no does not exist");
  CHECK(directory.names().empty());
}

TEST_CASE("a missing file is refused where one was asked for, and an existing one where none was") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  CHECK(refusal(path, WorldErrorCode::missing, OpenMode::open_existing) == "no such file");
  CHECK(directory.names().empty());
  make_world(path);
  CHECK(refusal(path, WorldErrorCode::exists, OpenMode::create_new) == "exists already; a new world was asked for");
}

TEST_CASE("a newer file format is refused, naming both") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  run_sql(path, "PRAGMA user_version=7");
  CHECK(refused_unchanged(directory, path, WorldErrorCode::newer) ==
        "written in file format 7; this Muster 0.1.0 reads formats up to 3");
}

TEST_CASE("a file cut off is refused with the bytes it has and should have") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  const std::string whole = read_file(path);
  write_file(path, whole.substr(0, 9000));
  CHECK(refused_unchanged(directory, path, WorldErrorCode::damaged) ==
        "cut off: 9000 of " + std::to_string(whole.size()) + " bytes are there");
  write_file(path, whole.substr(0, 50));
  CHECK(refused_unchanged(directory, path, WorldErrorCode::damaged) ==
        "cut off: 50 bytes are there, the header alone has 100");
}

TEST_CASE("a table that is missing or another one is refused by name") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  const std::string whole = read_file(path);
  run_sql(path, "DROP TABLE journal");
  CHECK(refused_unchanged(directory, path, WorldErrorCode::damaged) == "damaged: the table 'journal' is missing");
  write_file(path, whole);
  run_sql(path, "ALTER TABLE state ADD COLUMN more");
  CHECK(refused_unchanged(directory, path, WorldErrorCode::damaged) ==
        "damaged: the table 'state' is not the one of file format 3");
}

TEST_CASE("a changed value in the meta table is refused") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  const std::string whole = read_file(path);
  run_sql(path, "UPDATE meta SET value='8' WHERE name='tick'");
  CHECK(refused_unchanged(directory, path, WorldErrorCode::damaged) ==
        "damaged: in the meta table the checksum does not fit the values");
  write_file(path, whole);
  run_sql(path, "DELETE FROM meta WHERE name='digest'");
  CHECK(refused_unchanged(directory, path, WorldErrorCode::damaged) ==
        "damaged: in the meta table 'digest' is missing");
}

TEST_CASE("a damaged part of a manager refuses the file, saying which, and so does one that is missing") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    EntityRegistry registry;
    heights::Heights heights(registry);
    for (std::uint32_t i = 0; i < 12; ++i) heights.set(i, 1);
    auto file = WorldFile::open(path);
    REQUIRE(file);
    REQUIRE(file->checkpoint({}, [&](StateSink& sink) { registry.save(sink); }));
  }
  const std::string whole = read_file(path);
  const auto load = [&]() -> std::string {
    auto file = WorldFile::open(path);
    REQUIRE(file);
    EntityRegistry registry;
    const auto loaded = file->load([&](StateSource& source) -> std::expected<void, StateError> {
      if (auto done = registry.load(source); !done) return std::unexpected(done.error());
      return {};
    });
    return loaded ? "was loaded" : loaded.error().detail();
  };
  CHECK(load() == "was loaded");
  run_sql(path, "UPDATE state SET bytes = x'00' WHERE section = 16 AND column_ = 2");
  CHECK(load().starts_with("damaged: manager_parts " + std::to_string(heights::Heights::key) +
                           ", part 2: the checksum of its 1 bytes is "));
  write_file(path, whole);
  run_sql(path, "DELETE FROM state WHERE section = 16 AND column_ = 1");
  CHECK(load().starts_with("damaged: the rows are not those of checkpoint 1: "));
}

TEST_CASE("rows of a section that nobody knows refuse the file and stay") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  run_sql(path, "UPDATE state SET section = 17 WHERE id = 1");
  const std::string before = read_file(path);
  const auto read = read_world(path);
  REQUIRE_FALSE(read);
  CHECK(read.error().code() == WorldErrorCode::newer);
  CHECK(read.error().detail() == "holds rows of section 17, which this Muster 0.1.0 does not know");
  CHECK(read_file(path) == before);
}

TEST_CASE("a row that was changed, moved, lost, doubled or brought back from an older checkpoint is found") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Rows rows;
  rows[{StateSection::columns, 3, 0xabcdef01}] = {1, Bytes(2000, std::byte{7})};
  rows[{StateSection::grants, 0, 0}] = {1, Bytes(10, std::byte{8})};
  {
    auto file = WorldFile::open(path);
    REQUIRE(file->checkpoint({}, saving(rows)));
  }
  const std::string whole = read_file(path);
  const auto damage = [&](const std::string& sql) {
    write_file(path, whole);
    run_sql(path, sql);
    const std::string before = read_file(path);
    const auto read = read_world(path);
    REQUIRE_FALSE(read);
    CHECK(read.error().code() == WorldErrorCode::damaged);
    CHECK(read_file(path) == before);
    return read.error().detail();
  };
  using Catch::Matchers::StartsWith;
  CHECK_THAT(damage("UPDATE state SET bytes=zeroblob(2000) WHERE section=8"),
             StartsWith("damaged: columns 3, column 0xabcdef01: the checksum of its 2000 bytes is "));
  CHECK_THAT(damage("UPDATE state SET key=4 WHERE section=8"), StartsWith("damaged: columns 4, column 0xabcdef01: "));
  CHECK_THAT(damage("UPDATE state SET bytes='text' WHERE section=8"),
             StartsWith("damaged: columns 3, column 0xabcdef01: the row is not made like one"));
  CHECK_THAT(damage("UPDATE state SET checkpoint='v' WHERE section=8"),
             StartsWith("damaged: columns 3, column 0xabcdef01: a value that must be a number is none"));
  CHECK_THAT(damage("DELETE FROM state WHERE section=8"),
             StartsWith("damaged: the rows are not those of checkpoint 1: 1 with digest "));
  CHECK_THAT(damage("UPDATE state SET section=70000 WHERE section=8"),
             StartsWith("damaged: a row of section 70000, which cannot be"));

  write_file(path, whole);
  {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    rows[{StateSection::columns, 3, 0xabcdef01}] = {2, Bytes(2000, std::byte{9})};
    REQUIRE(file->checkpoint({}, saving(rows)));
  }
  write_file(directory / "older.muster", whole);
  run_sql(
      path,
      "ATTACH '" + directory / "older.muster" +
          "' AS older; DELETE FROM state WHERE section=8; INSERT INTO state SELECT * FROM older.state WHERE section=8");
  const auto read = read_world(path);
  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().detail(), StartsWith("damaged: the rows are not those of checkpoint 2: 2 with digest "));
}

TEST_CASE("an older copy put in the place of a world is refused until somebody says it is meant") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Rows rows = make_world(path);
  const std::string older = read_file(path);
  {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    REQUIRE(file->checkpoint({}, saving({})));
  }
  write_file(path, older);
  CHECK(refused_unchanged(directory, path, WorldErrorCode::damaged) ==
        "damaged: it holds checkpoint 3, but checkpoint 4 was reported durable: " + path +
            "-wal is missing, or this is an older copy. To go on from here, remove " + path + "-lock");
  // A refusal does not forget: it is the same the second time.
  refused_unchanged(directory, path, WorldErrorCode::damaged);
  ::unlink((path + "-lock").c_str());
  CHECK(read_world(path) == contents(rows));
}

TEST_CASE("another world put in the place of one is no older copy") {
  const Directory directory;
  make_world(directory / "a.muster");
  make_world(directory / "a.muster-lock-unrelated");
  {
    auto file = WorldFile::open(directory / "b.muster");
    REQUIRE(file->checkpoint({}, saving({})));
  }
  write_file(directory / "a.muster", read_file(directory / "b.muster"));
  CHECK(read_world(directory / "a.muster") == Contents{});
}

TEST_CASE("a file or a directory that may not be written is refused") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  const std::string before = read_file(path);
  const auto as_nobody = [&](mode_t file_mode, mode_t directory_mode) {
    ::chmod(path.c_str(), file_mode);
    ::chmod((path + "-lock").c_str(), 0666);
    ::chmod(directory.path().c_str(), directory_mode);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      // Root may do anything: become somebody who may not.
      if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(1);
      auto file = WorldFile::open(path);
      const std::string text = file ? "opened" : file.error().detail();
      ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    char text[500] = {};
    const ssize_t length = ::read(ends[0], text, sizeof text - 1);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    ::chmod(directory.path().c_str(), 0755);
    return std::string(text, static_cast<std::size_t>(length < 0 ? 0 : length));
  };
  CHECK(as_nobody(0666, 0777) == "opened");
  CHECK(as_nobody(0444, 0777) == "the file may not be written: Permission denied");
  CHECK(as_nobody(0666, 0555) ==
        "its directory " + directory.path().string() + " may not be written: Permission denied");
  CHECK(as_nobody(0000, 0777) == "the file may not be written: Permission denied");
  ::chmod(path.c_str(), 0644);
  CHECK(read_file(path) == before);
}

TEST_CASE("a second owner is refused, naming the process that holds the world, by any name of the file") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  REQUIRE(::symlink(path.c_str(), (directory / "link.muster").c_str()) == 0);
  const std::string us = "in use by process " + std::to_string(::getpid());
  auto file = WorldFile::open(path);
  REQUIRE(file);
  CHECK(refusal(path, WorldErrorCode::in_use) == us);
  CHECK(refusal(directory / "link.muster", WorldErrorCode::in_use) == us);
  CHECK(refusal(directory / "../" + directory.path().filename().string() + "/w.muster", WorldErrorCode::in_use) == us);
  // The refused ones took nothing from the holder.
  REQUIRE(load_all(*file));
  REQUIRE(file->checkpoint({}, saving({})));
  CHECK(refusal(path, WorldErrorCode::in_use) == us);
}

TEST_CASE("a world of two names (hard links) is not opened by either, and its owner loses nothing") {
  const Directory directory;
  const std::string path = directory / "w.muster", link = directory / "link.muster";
  const std::string several = "the file has 2 names (hard links), of which another may be in use; a world has one";
  {
    auto file = WorldFile::open(path);
    REQUIRE(file);
    REQUIRE(file->checkpoint({}, saving({})));
    REQUIRE(::link(path.c_str(), link.c_str()) == 0);
    CHECK(refusal(link, WorldErrorCode::in_use) == several);
    CHECK(is_refused_elsewhere(link, several));
    REQUIRE(load_all(*file));
    REQUIRE(file->checkpoint({}, saving({})));
  }
  // Nobody has it open; but a -wal that a crash left beside one name would be unknown to the other.
  CHECK(refused_unchanged(directory, link, WorldErrorCode::in_use) == several);
  CHECK(refused_unchanged(directory, path, WorldErrorCode::in_use) == several);
  ::unlink(path.c_str());
  ::unlink((path + "-lock").c_str());
  auto file = WorldFile::open(link);
  REQUIRE(file);
  CHECK(file->meta().checkpoint == 2);
}

TEST_CASE("a world that is moved while it is open has one owner all the same") {
  const Directory directory;
  const std::string path = directory / "w.muster", moved = directory / "moved.muster";
  for (const bool created : {true, false}) {
    auto file = WorldFile::open(path);
    REQUIRE(file);
    if (created) REQUIRE(file->checkpoint({}, saving({})));
    REQUIRE(::rename(path.c_str(), moved.c_str()) == 0);
    CHECK(is_refused_elsewhere(moved, "in use by another process under another path"));
    REQUIRE(::rename(moved.c_str(), path.c_str()) == 0);
  }
}

TEST_CASE("a creation that was cut off just before its end leaves a world that opens") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  REQUIRE(::link(path.c_str(), (path + "-new").c_str()) == 0);
  REQUIRE(WorldFile::open(path));
  CHECK(directory.names() == std::vector<std::string>{"w.muster", "w.muster-lock"});
}

TEST_CASE("a world that is still to be created has one owner too") {
  const Directory directory;
  auto file = WorldFile::open(directory / "w.muster");
  REQUIRE(file);
  CHECK(refusal(directory / "w.muster", WorldErrorCode::in_use) == "in use by process " + std::to_string(::getpid()));
}

}  // namespace refusal_test
