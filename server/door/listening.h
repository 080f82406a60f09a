// Creates listening sockets for local clients: TCP on loopback addresses, and Unix sockets for
// their owner.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// A listening socket. The caller must close the descriptor.
struct ListeningSocket {
  int descriptor = -1;
  bool is_v6 = false;  ///< TCP over IPv6
  std::uint16_t port = 0;
  std::string address;  ///< "127.0.0.1:7717" with the real port, or a path
};

/// Listens on "127.0.0.1:7717", "[::1]:7717" or "localhost:0". Throws ServerError if the address is
/// not a loopback address or is in use.
ListeningSocket listen_tcp(const std::string& listen);
/// Creates the socket file, readable by its owner only, and replaces a stale one. Throws
/// ServerError if a server is listening there or another file exists.
ListeningSocket listen_unix(const std::string& path);

/// Tries to listen on both addresses, unless empty, and closes the sockets. Leaves nothing behind.
/// Throws ServerError.
void check_listening(const std::string& listen, const std::string& unix_path);

}  // namespace muster
