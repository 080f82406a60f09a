// The address to which a server sends its clients when it drains.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Returns the reason why clients cannot connect to this address, which is not looked up, or an
/// empty string. An address is "HOST:PORT", "tls:HOST:PORT", or one of these and "/WORLD". An empty
/// address is accepted.
inline std::string wrong_resume_address(std::string_view address) {
  if (address.empty()) return {};
  const auto refuse = [](const char* why) {
    return std::string(why) + "; expected HOST:PORT, tls:HOST:PORT or tls:HOST:PORT/WORLD";
  };
  if (address.size() > 255) return refuse("an address has at most 255 bytes");
  if (std::ranges::any_of(address, [](unsigned char c) { return c <= 0x20 || c == 0x7f; }))
    return refuse("an address has no spaces or control characters");
  if (address.starts_with("tls:")) address.remove_prefix(4);
  address = address.substr(0, address.find('/'));
  const std::size_t colon = address.rfind(':');
  if (colon == address.npos || colon == 0) return refuse("the address has no port, or no host");
  const std::string_view text = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0)
    return refuse("the port of the address is not a number from 1 to 65535");
  return {};
}

}  // namespace muster
