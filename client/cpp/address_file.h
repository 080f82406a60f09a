// How clients on the same machine find the server of a world: a file that muster-server keeps beside it.
//
//   town.muster-server.json   {"world": ..., "address": "127.0.0.1:7717", "unix": ..., "token": ..., "pid": ..., "server": ...}
//
// Readable by its owner only; removed on a clean stop. One that a killed server left is told by its process being gone.
#pragma once

#include <cstdint>
#include <string>

#include "client/cpp/result.h"

namespace muster {

struct ServerAddress {
  std::string world;      ///< absolute path of the world file
  std::string address;    ///< "127.0.0.1:7717", empty without TCP
  std::string unix_path;  ///< empty without
  std::string token;
  std::int64_t pid = 0;

  /// For ClientOptions::address: the Unix socket where there is one.
  std::string best() const { return unix_path.empty() ? address : "unix:" + unix_path; }
};

/// The file's path for a world's path.
std::string address_file_of(const std::string& world_path);
/// Where the world is served. Fails with kind `lost` where no file is there or its server is gone, and with `mistaken` where the
/// file is not readable, is no such file, or can be read by others.
[[nodiscard]] Result<ServerAddress> read_address_file(const std::string& world_path);

}  // namespace muster
