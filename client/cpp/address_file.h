// Reads the address file, which lets clients on the same machine find the server of a world.
// muster-server writes the address file next to the world file.
//
//   town.muster-server.json   {"world": ..., "address": "127.0.0.1:7717", "unix": ..., "token": ..., "pid": ..., "server": ...}
//
// If the server uses TLS, "tls" is the fingerprint of its certificate.
// The file is readable only by its owner, and is removed on a clean shutdown. A file left behind by
// a server that was killed contains the id of a process that no longer exists.
#pragma once

#include <cstdint>
#include <string>

#include "client/cpp/result.h"

namespace muster {

struct ServerAddress {
  std::string world;      ///< absolute path of the world file
  std::string address;    ///< "127.0.0.1:7717"; empty if the server does not use TCP
  std::string unix_path;  ///< empty if the server does not use a Unix socket
  std::string token;
  std::int64_t pid = 0;
  std::string fingerprint = {};  ///< value for ClientOptions::fingerprint; empty without TLS

  /// Returns the preferred value for ClientOptions::address: the Unix socket, if there is one.
  std::string best() const {
    if (!unix_path.empty()) return "unix:" + unix_path;
    return fingerprint.empty() ? address : "tls:" + address;
  }
};

/// Returns the path of the address file that belongs to the world file at `world_path`.
std::string address_file_of(const std::string& world_path);
/// Reads the address file of a world. Fails with kind `lost` if there is no such file or the server
/// is no longer running, and with `mistaken` if the file is unreadable, invalid, or readable by
/// other users.
[[nodiscard]] Result<ServerAddress> read_address_file(const std::string& world_path);

}  // namespace muster
