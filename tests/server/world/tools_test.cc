// The file is an SQLite database for everybody: SQL tools open it, also while a world runs, and may write to it.
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/server/world/made_up_rows.h"

namespace tools_test {

using namespace muster;
using namespace muster::test;

namespace {

std::string sqlite3_says(const std::string& path, const std::string& sql) {
  FILE* pipe = ::popen(("sqlite3 '" + path + "' \"" + sql + "\" 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  ::pclose(pipe);
  return text;
}

}  // namespace

TEST_CASE("the sqlite3 program opens a world, closed or running") {
  if (sqlite3_says(":memory:", "select 1") != "1\n") {
    WARN("no sqlite3 program here");
    return;
  }
  const Directory directory;
  const std::string path = directory / "w.muster";
  const Rows rows = make_world(path);
  const std::string count = std::to_string(rows.size()) + "\n";
  CHECK(sqlite3_says(path, "PRAGMA integrity_check") == "ok\n");
  CHECK(sqlite3_says(path, "SELECT count(*) FROM state") == count);
  CHECK(sqlite3_says(path, "SELECT value FROM meta WHERE name='checkpoint'") == "3\n");
  CHECK(sqlite3_says(path, "SELECT name FROM section_names WHERE section=8") == "columns\n");
  auto file = WorldFile::open(path);
  REQUIRE(load_all(*file));
  CHECK(sqlite3_says(path, "SELECT count(*) FROM state JOIN section_names USING(section)") == count);
  REQUIRE(file->save({}, saving({})));
  CHECK(sqlite3_says(path, "SELECT count(*) FROM state") == "0\n");
}

TEST_CASE("what another program writes into the state of a running world is written over by the next checkpoint") {
  if (sqlite3_says(":memory:", "select 1") != "1\n") return;
  const Directory directory;
  const std::string path = directory / "w.muster";
  Rows rows = make_world(path);
  auto file = WorldFile::open(path);
  REQUIRE(load_all(*file));
  CHECK(sqlite3_says(path,
                     "DELETE FROM state WHERE id % 2; VACUUM; CREATE TABLE notes(text); "
                     "INSERT INTO notes VALUES('mine')") == "");
  const auto report = file->save({}, saving(rows));
  REQUIRE(report);
  CHECK(report->rows_written == rows.size());
  REQUIRE(load_all(*file) == contents(rows));
  CHECK(sqlite3_says(path, "SELECT text FROM notes") == "mine\n");
}

TEST_CASE(
    "what was copied for a checkpoint does not do where another program wrote since; the next one writes everything") {
  if (sqlite3_says(":memory:", "select 1") != "1\n") return;
  const Directory directory;
  const std::string path = directory / "w.muster";
  Rows rows = make_world(path);
  auto file = WorldFile::open(path);
  REQUIRE(load_all(*file));
  REQUIRE(file->save({}, saving(rows)));
  const StateCopy copied = copied_rows(*file, saving_changes(rows));
  CHECK(sqlite3_says(path, "DELETE FROM state WHERE id % 2") == "");
  const auto stale = file->save({}, copied);
  REQUIRE(stale);
  CHECK_FALSE(*stale);
  const auto report = file->save({}, saving_changes(rows));
  REQUIRE(report);
  CHECK(report->rows_written == rows.size());
  REQUIRE(load_all(*file) == contents(rows));
}

TEST_CASE("a program that holds a write transaction delays a checkpoint, and is named as the reason if it stays") {
  if (sqlite3_says(":memory:", "select 1") != "1\n") return;
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  auto file = WorldFile::open(path);
  REQUIRE(load_all(*file));
  FILE* holder = ::popen(("sqlite3 '" + path + "' >/dev/null 2>&1").c_str(), "w");
  REQUIRE(holder != nullptr);
  std::fputs("BEGIN IMMEDIATE;\n.shell sleep 4\nROLLBACK;\n", holder);
  std::fflush(holder);
  ::usleep(500000);
  const auto report = file->save({}, saving({}));
  REQUIRE_FALSE(report);
  CHECK(report.error().code() == WorldErrorCode::in_use);
  CHECK(report.error().detail() == "another program holds the database while writing a checkpoint");
  ::pclose(holder);
  REQUIRE(file->save({}, saving({})));
}

}  // namespace tools_test
