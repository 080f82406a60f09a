// A request as it came, as far as anybody here asks for it. Nothing in it has been judged.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace muster {

struct HttpRequest {
  std::string method, target;        ///< "GET", "/assets/x.js?y"
  std::vector<std::string> hosts;    ///< of every Host there is; the one of a whole address in place of it
  std::vector<std::string> origins;  ///< of every Origin
  std::string authorization, accept_encoding, if_none_match;  ///< empty where there is none
  std::string web_key, web_version;                           ///< Sec-WebSocket-Key, Sec-WebSocket-Version
  bool upgrades = false;                                      ///< it asks for a WebSocket
  bool has_body = false;                                      ///< something follows that belongs to it
  bool keeps_alive = false;                                   ///< a further one may follow
};

/// Whether a connection whose first bytes are these (at least four) speaks HTTP: they begin like a method, as those of no frame that
/// may come first do, whose third and fourth bytes are 0.
inline bool begins_http(std::span<const std::byte> first) noexcept {
  for (std::size_t i = 0; i < 4; ++i) {
    const char letter = static_cast<char>(first[i]);
    if ((letter < 'A' || letter > 'Z') && !(letter == ' ' && i == 3)) return false;
  }
  return true;
}

}  // namespace muster
