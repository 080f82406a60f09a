// Worlds from strangers, and other programs and users who reach the files of a world.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "server/file_program/backup.h"
#include "server/file_program/verify.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/run_sql.h"

namespace foreign_file_test {

using namespace muster;
using namespace muster::test;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat file{};
  REQUIRE(::stat(path.c_str(), &file) == 0);
  return file.st_mode & 0777;
}

std::string refusal(const std::string& path, WorldErrorCode code) {
  const auto file = WorldFile::open(path);
  REQUIRE_FALSE(file);
  CHECK(std::string(name(file.error().code())) == name(code));
  return file.error().detail();
}

/// Takes a read lock, as anyone who can read the file can.
int read_lock(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct flock whole{};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  REQUIRE(::fcntl(file, F_OFD_SETLK, &whole) == 0);
  return file;
}

}  // namespace

TEST_CASE("a world with an index that is not Muster's is refused before the index runs", "[foreign]") {
  const auto [sql, index] = GENERATE(table<std::string, std::string>({
      {"CREATE INDEX theirs ON state(length(hex(bytes)))", "theirs"},
      {"CREATE UNIQUE INDEX one ON journal(1)", "one"},
      {"CREATE INDEX some ON meta(value) WHERE value LIKE '%a%a%'", "some"},
      {"CREATE TABLE notes(a); CREATE INDEX \"of notes\" ON notes(abs(a))", "of notes"},
  }));
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  run_sql(path, sql);
  const std::string before = read_file(path);
  CHECK(refusal(path, WorldErrorCode::damaged) == "it has an index that is not Muster's, '" + index +
                                                      "', which would run with every write. Remove it: DROP INDEX");
  CHECK_FALSE(verify(path));
  CHECK(read_file(path) == before);
  run_sql(path, "DROP INDEX \"" + index + "\"");
  CHECK(WorldFile::open(path));
}

TEST_CASE("a world with another program's table that runs code is refused, and one with a plain table is left alone",
          "[foreign]") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  SECTION("code") {
    const auto [sql, word] = GENERATE(table<std::string, std::string>({
        {"CREATE TABLE t(a CHECK(length(a) < 5))", "CHECK"},
        {"CREATE TABLE t(a, b AS (hex(a)))", "AS"},
        {"CREATE TABLE t(a, b INT generated always as (a + 1) STORED)", "GENERATED"},
        {"CREATE TABLE t(a /* plain */, -- plain\n Check (a))", "CHECK"},
    }));
    run_sql(path, sql);
    CHECK(refusal(path, WorldErrorCode::damaged) ==
          "it has a table that is not Muster's, 't', which runs code when it is read (" + word +
              "). Remove it: DROP TABLE");
  }
  SECTION("plain") {
    run_sql(path,
            "CREATE TABLE t(\"check\" DEFAULT 'AS CHECK', [as], `virtual` /* CHECK */, checked, a_as UNIQUE); "
            "INSERT INTO t DEFAULT VALUES; CREATE VIEW v AS SELECT * FROM t; "
            "CREATE TRIGGER r AFTER INSERT ON state BEGIN DELETE FROM t; END");
    auto file = WorldFile::open(path);
    REQUIRE(file);
    Rows rows;
    CHECK(file->save({.sequence = 9, .tick = 9}, saving(rows)));
    CHECK(run_sql(path, "SELECT count(*) FROM t") == "1\n");
  }
}

TEST_CASE("the check of a file's structure ends after a number of steps, and the file is refused", "[foreign]") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  // Each of the small rows lacks many columns, each of which the check looks at.
  std::string columns;
  for (int i = 0; i < 1900; ++i) columns += ",c" + std::to_string(i) + " NOT NULL DEFAULT 0";
  run_sql(path,
          "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
          "INSERT INTO t SELECT 1 FROM n; PRAGMA writable_schema = ON; "
          "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a" +
              columns + ")' WHERE name = 't'");
  CHECK(refusal(path, WorldErrorCode::damaged) ==
        "damaged: checking its structure takes longer than a file of this size needs");
  CHECK_FALSE(verify(path));
  run_sql(path, "DROP TABLE t");
  CHECK(WorldFile::open(path));
}

TEST_CASE("a lock file that is a symbolic link is refused, and the file behind it stays as it was", "[foreign]") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  ::unlink((path + "-lock").c_str());
  write_file(directory / "victim", "precious");
  REQUIRE(::symlink((directory / "victim").c_str(), (path + "-lock").c_str()) == 0);
  const auto verified = verify(path);
  REQUIRE_FALSE(verified);
  CHECK(verified.error().detail() == "its lock file " + path + "-lock cannot be opened: it is a symbolic link");
  CHECK(read_file(directory / "victim") == "precious");
  CHECK(refusal(path, WorldErrorCode::denied) == verified.error().detail());
}

TEST_CASE("the files of a new world belong to its owner alone, and a backup keeps the mode of the world", "[foreign]") {
  const mode_t umask_before = ::umask(0);
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    auto file = WorldFile::open(path);
    REQUIRE(file);
    Rows rows;
    REQUIRE(file->save({.sequence = 1, .tick = 1}, saving(rows)));
    for (const char* part : {"", "-wal", "-shm", "-lock"}) {
      INFO(part);
      CHECK(mode_of(path + part) == 0600);
    }
  }
  for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0664}}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const std::string copy = directory / ("copy" + std::to_string(mode));
    REQUIRE(back_up(path, copy));
    CHECK(mode_of(copy) == mode);
  }
  ::umask(umask_before);
}

TEST_CASE("another program's read lock is named, and the world opens once it is gone", "[foreign]") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  const int lock = read_lock(path + "-lock");
  CHECK(refusal(path, WorldErrorCode::in_use) == "another program holds a read lock of " + path +
                                                     "-lock. End that program, or remove " + path +
                                                     "-lock after making sure that nothing has the world open");
  ::unlink((path + "-lock").c_str());
  CHECK(WorldFile::open(path));
  ::close(lock);
  const int of_file = read_lock(path);
  CHECK(refusal(path, WorldErrorCode::in_use) == "another program holds a read lock of the file. End that program");
  ::close(of_file);
  CHECK(WorldFile::open(path));
}

}  // namespace foreign_file_test
