// Decides which hosts and origins an HTTP request may name, and from which address it comes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/web/http_request.h"

namespace muster {

/// Returns true for an IPv4 address such as "10.0.0.7" and an IPv6 address such as "fd00::7".
bool is_ip_address(const std::string& text);

struct HostRules {
  HostRules(std::uint16_t the_port = 0) : port(the_port) {}  // NOLINT(google-explicit-constructor)
  std::uint16_t port;
  bool is_secure = false;  ///< true if the port needs TLS
  /// Returns true if the server's certificate is for the name. May be null.
  std::function<bool(const std::string& name)> is_certified = {};
  /// Addresses of reverse proxies, such as "10.0.0.7". Requests from others that have fields
  /// X-Forwarded-... are judged as if they had none.
  std::vector<std::string> proxies = {};
  bool private_figures = false;  ///< true if /metrics and /health always require a token

  /// Returns true if a Host field names this server. On a port without TLS, only names of the
  /// loopback interface do, because a name of another site may resolve to any address. With TLS,
  /// the names in the certificate and all IP addresses do as well.
  bool is_own(std::string_view host) const;
  bool is_proxy(std::string_view address) const;
};

/// The client of a request, as the proxy in front of the server describes it, or as it is.
struct RequestSource {
  std::string address;        ///< address of the client
  bool is_secure = false;     ///< true if the client uses TLS
  bool is_forwarded = false;  ///< true if a proxy sent the request
  /// True if the request was sent by a program on this machine.
  bool is_local() const noexcept { return address.starts_with("127.") || address == "::1"; }
};

/// Returns the client of a request that arrived from `address`. If a proxy sent the request, and
/// says for which host, replaces the request's host.
RequestSource source_of(HttpRequest& request, const std::string& address, const HostRules& rules);

}  // namespace muster
