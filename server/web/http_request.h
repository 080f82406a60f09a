// Defines the parts of an HTTP request that the site uses. The parts have not been validated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster {

struct HttpRequest {
  /// The method and target of the request, such as "GET" and "/assets/x.js?y".
  std::string method, target;
  /// The values of all Host fields; see http_wire.cc.
  std::vector<std::string> hosts;
  std::vector<std::string> origins;                           ///< one per Origin field
  std::string authorization, accept_encoding, if_none_match;  ///< empty if the field is absent
  /// The values of the fields X-Forwarded-For, -Proto and -Host; several fields are joined by
  /// commas. Only a proxy may be believed; see server/web/host_rules.h.
  std::string forwarded_for, forwarded_proto, forwarded_host;

  /// The values of the fields Sec-WebSocket-Key and Sec-WebSocket-Version.
  std::string web_key, web_version;
  bool upgrades = false;  ///< true if the request asks for an upgrade to a WebSocket

  /// True if the request has a body.
  bool has_body = false;
  /// The length of the body if it was announced, 0 if there is none.
  std::optional<std::uint64_t> body_bytes = 0;
  bool keeps_alive = false;  ///< true if another request may follow on the connection
};

/// Returns true if a connection that begins with the given bytes (at least four) speaks HTTP. The
/// connection speaks HTTP if the bytes look like the beginning of a method. In the first frame of a
/// session, the third and fourth bytes are 0.
inline bool begins_http(std::span<const std::byte> first) noexcept {
  for (std::size_t i = 0; i < 4; ++i) {
    const char letter = static_cast<char>(first[i]);
    if ((letter < 'A' || letter > 'Z') && !(letter == ' ' && i == 3)) return false;
  }
  return true;
}

/// Returns true if a connection that begins with the given bytes (at least two) begins a handshake
/// of TLS. The first byte of a frame is a multiple of 16.
inline bool begins_tls(std::span<const std::byte> first) noexcept {
  return first[0] == std::byte{22} && first[1] == std::byte{3};
}

}  // namespace muster
