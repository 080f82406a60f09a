// Knows which tokens open which worlds. The host's own token opens all worlds.
#pragma once

#include <sys/stat.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "messages/session.h"
#include "server/access/users.h"
#include "server/host/world_folders.h"
#include "system/mutex.h"

namespace muster::hosting {

/// Reads the lists of users next to the worlds, which the servers of the worlds write, and reads a
/// list again after it has changed. Thread-safe. opens() waits for the disk.
class Admissions {
 public:
  Admissions(const WorldFolders& folders, const std::string& token);

  bool is_hosts(std::string_view token) const;
  /// Returns true if the token opens the world, which need not exist.
  bool opens(const std::string& world, std::string_view token);
  /// Returns true if the token allows editing the world.
  bool edits(const std::string& world, std::string_view token);
  /// Returns true if the token allows controlling the world.
  bool controls(const std::string& world, std::string_view token);
  /// Returns true if the client knows a token that opens the world.
  bool opens(const std::string& world, const session::Hello& hello);
  bool is_hosts(const session::Hello& hello) const;

 private:
  struct List {
    struct timespec changed{};
    off_t bytes = 0;
    ino_t inode = 0;
    std::shared_ptr<const Users> users;  // null if the list cannot be read
  };
  bool may(const std::string& world, std::string_view token, RemoteRight right);
  std::shared_ptr<const Users> users_of(const std::string& world);

  const WorldFolders folders_;
  const Users own_;
  Mutex mutex_;
  std::map<std::string, List> lists_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::hosting
