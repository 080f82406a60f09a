// Another program that keeps a world's file from being written, or as it was.
#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <string>

namespace muster::test {

/// While it lives, nobody else writes to the file. Who tries to waits for 2 s.
class WriteLock {
 public:
  explicit WriteLock(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &connection_) == SQLITE_OK);
    REQUIRE(sqlite3_exec(connection_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  ~WriteLock() { sqlite3_close(connection_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  sqlite3* connection_ = nullptr;
};

/// While it lives, what the file was when it came stays to be read.
class ReadLock {
 public:
  explicit ReadLock(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &connection_) == SQLITE_OK);
    REQUIRE(sqlite3_exec(connection_, "BEGIN; SELECT count(*) FROM meta", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  ~ReadLock() { sqlite3_close(connection_); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  sqlite3* connection_ = nullptr;
};

}  // namespace muster::test
