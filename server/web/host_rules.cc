#include "server/web/host_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "server/web/web_address.h"

namespace muster {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Returns the last element of a list that several proxies may have extended, and removes it.
std::string_view take_last(std::string_view& list) {
  const std::size_t comma = list.rfind(',');
  const std::string_view last = list.substr(comma == list.npos ? 0 : comma + 1);
  list = list.substr(0, comma == list.npos ? 0 : comma);
  return trimmed(last);
}

/// An IPv4 address may arrive in the form of an IPv6 address.
std::string_view without_mapping(std::string_view address) {
  constexpr std::string_view mapped = "::ffff:";
  return address.starts_with(mapped) && address.find('.') != address.npos ? address.substr(mapped.size()) : address;
}

/// Returns true if both texts are the same address. An IPv6 address can be written in several ways.
bool is_same_address(const std::string& one, const std::string& other) {
  const int family = one.find(':') == one.npos ? AF_INET : AF_INET6;
  std::array<unsigned char, 16> first{}, second{};
  return ::inet_pton(family, one.c_str(), first.data()) == 1 &&
         ::inet_pton(family, other.c_str(), second.data()) == 1 && first == second;
}

}  // namespace

bool is_ip_address(const std::string& text) {
  unsigned char address[16];
  return ::inet_pton(AF_INET, text.c_str(), address) == 1 || ::inet_pton(AF_INET6, text.c_str(), address) == 1;
}

bool HostRules::is_own(std::string_view host) const {
  if (!is_secure) return is_own_host(host, port);
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && (bracket == host.npos || colon > bracket);
  if ((has_port ? host.substr(colon + 1) : "443") != std::to_string(port)) return false;
  std::string name(has_port ? host.substr(0, colon) : host);
  if (name == "localhost") return true;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  return is_ip_address(name) || (is_certified && is_certified(name));
}

bool HostRules::is_proxy(std::string_view address) const {
  return std::ranges::any_of(proxies, [wanted = without_mapping(address)](const std::string& proxy) {
    return is_same_address(std::string(without_mapping(proxy)), std::string(wanted));
  });
}

RequestSource source_of(HttpRequest& request, const std::string& address, const HostRules& rules) {
  RequestSource source{std::string(without_mapping(address)), rules.is_secure, false};
  if (!rules.is_proxy(address)) return source;
  source.is_forwarded = true;
  // The proxy appends the client's address to what the client itself may have sent.
  source.address = "behind " + source.address;
  for (std::string_view list = request.forwarded_for; !list.empty();) {
    const std::string one(without_mapping(take_last(list)));
    if (!is_ip_address(one)) break;
    source.address = one;
    if (!rules.is_proxy(one)) break;
  }
  if (std::string_view list = request.forwarded_proto; !list.empty()) source.is_secure = take_last(list) == "https";
  if (std::string_view list = request.forwarded_host; !list.empty() && request.hosts.size() == 1)
    request.hosts.front() = take_last(list);
  return source;
}

}  // namespace muster
