// Creates listening sockets: TCP sockets, on loopback addresses only unless they use TLS, and Unix
// sockets that only their owner can use.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// A listening socket. The caller must close its descriptor.
struct ListeningSocket {
  int descriptor = -1;
  bool is_v6 = false;  ///< true for TCP over IPv6
  std::uint16_t port = 0;
  std::string address;  ///< "127.0.0.1:7717" with the actual port, or a path
};

/// Listens on an address such as "127.0.0.1:7717", "[::1]:7717", or "localhost:0". Throws
/// ServerError if the address is in use, or is not a loopback address although `has_tls` is false.
ListeningSocket listen_tcp(const std::string& listen, bool has_tls = false);
/// Creates the socket file, which only its owner can use, and replaces a stale one. Throws
/// ServerError if a server is already listening on it or if the path refers to a file that is not a
/// socket.
ListeningSocket listen_unix(const std::string& path);

/// Checks whether the server can listen on both addresses, skipping an empty one. Closes and
/// removes the sockets again. Throws ServerError on failure.
void check_listening(const std::string& listen, const std::string& unix_path, bool has_tls = false);

}  // namespace muster
