// Another program that reads and writes a world file with SQL.
#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

namespace muster::test {

/// The values of all rows, one a line.
inline std::string run_sql(const std::string& path, const std::string& sql) {
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &connection) == SQLITE_OK);
  // A world that writes all the time holds the lock most of the time. SQLite's own handler sleeps
  // for so long between its attempts that it may never find the lock free.
  int attempts = 60'000;
  sqlite3_busy_handler(
      connection,
      [](void* left, int) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return static_cast<int>(--*static_cast<int*>(left) > 0);
      },
      &attempts);
  std::string text;
  char* error = nullptr;
  sqlite3_exec(
      connection, sql.c_str(),
      [](void* to, int count, char** values, char**) {
        for (int i = 0; i < count; ++i) *static_cast<std::string*>(to) += std::string(values[i]) + '\n';
        return 0;
      },
      &text, &error);
  REQUIRE((error == nullptr ? std::string() : std::string(error)) == "");
  sqlite3_close(connection);
  return text;
}

}  // namespace muster::test
