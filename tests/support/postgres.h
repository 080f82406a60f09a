// A PostgreSQL server of a test's own, in a folder of its own, reached by a Unix socket only. It
// syncs as any other, to a memory disk if there is one.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/folder.h"

namespace muster::test {

class Postgres {
 public:
  /// Makes a database and starts it. Throws std::runtime_error with what went wrong.
  Postgres();
  ~Postgres();
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  /// The address of a world there.
  std::string address(const std::string& world) const;
  /// Runs SQL by psql, as an administrator would, and returns what it prints. Throws if it fails.
  std::string sql(const std::string& text) const;
  /// Starts the server again after kill().
  void start();
  /// Ends the server at once, without a checkpoint of its own.
  void kill();

 private:
  std::string program(const std::string& name) const;
  Folder folder_{memory_disk()};
  pid_t server_ = 0;
};

}  // namespace muster::test
