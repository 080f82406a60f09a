// The address file, with which clients on the same machine find the server of a world.
// muster-server writes it beside the world file.
//
//   town.muster-server.json   {"world": ..., "address": "127.0.0.1:7717", "unix": ..., "token": ..., "pid": ..., "server": ...}
//
// It is readable by its owner only, and removed on a clean stop. A file left by a killed server
// names a process that does not exist.
#pragma once

#include <cstdint>
#include <string>

#include "client/cpp/result.h"

namespace muster {

struct ServerAddress {
  std::string world;      ///< absolute path of the world file
  std::string address;    ///< "127.0.0.1:7717", empty without TCP
  std::string unix_path;  ///< empty without a Unix socket
  std::string token;
  std::int64_t pid = 0;

  /// Returns the address for ClientOptions::address: the Unix socket if there is one.
  std::string best() const { return unix_path.empty() ? address : "unix:" + unix_path; }
};

/// Returns the path of the address file for a world's path.
std::string address_file_of(const std::string& world_path);
/// Reads the address file of a world. Fails with kind `lost` if there is no file or its server has
/// ended, and with `mistaken` if the file is unreadable, invalid, or readable by other users.
[[nodiscard]] Result<ServerAddress> read_address_file(const std::string& world_path);

}  // namespace muster
