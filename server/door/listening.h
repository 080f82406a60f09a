// Sockets that listen, made so that only the right clients reach them: TCP on loopback, and Unix
// sockets of their owner.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// A socket that listens. The descriptor is the caller's to close.
struct ListeningSocket {
  int descriptor = -1;
  bool is_v6 = false;  ///< TCP over IPv6
  std::uint16_t port = 0;
  std::string address;  ///< "127.0.0.1:7717", with the real port; of a Unix socket its path
};

/// `listen`: "127.0.0.1:7717", "[::1]:7717", "localhost:0". Throws ServerError if it is not a
/// loopback address, or is taken.
ListeningSocket listen_tcp(const std::string& listen);
/// Makes the socket file, readable for its owner only. A stale one is replaced. Throws ServerError
/// where a server listens there, or something else lies there.
ListeningSocket listen_unix(const std::string& path);

/// Tries both (empty: neither) and stops again at once; leaves nothing. Throws ServerError.
void check_listening(const std::string& listen, const std::string& unix_path);

}  // namespace muster
