// Creates listening sockets for local clients: TCP sockets on loopback addresses, and Unix sockets
// that only their owner can use.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// A listening socket, whose descriptor the caller must close.
struct ListeningSocket {
  int descriptor = -1;
  bool is_v6 = false;  ///< true for TCP over IPv6
  std::uint16_t port = 0;
  std::string address;  ///< "127.0.0.1:7717" with the actual port, or a path
};

/// Listens on an address such as "127.0.0.1:7717", "[::1]:7717", or "localhost:0". Throws
/// ServerError if the address is not a loopback address or is in use.
ListeningSocket listen_tcp(const std::string& listen);
/// Creates the socket file, readable only by its owner, and replaces a stale one. Throws
/// ServerError if a server is listening on it or if a file of another kind exists.
ListeningSocket listen_unix(const std::string& path);

/// Tries to listen on both addresses (unless they are empty), and closes the sockets again. Leaves
/// nothing behind. Throws ServerError on failure.
void check_listening(const std::string& listen, const std::string& unix_path);

}  // namespace muster
