#include "server/web/web_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster {
namespace {

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& letter : small)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return small;
}

bool is_number(std::string_view text, std::uint16_t expected) {
  std::uint16_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc{} && end == text.data() + text.size() && number == expected;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool can_be_a_part(std::string_view part) {
  if (part.empty() || part.front() == '.') return false;
  return std::ranges::none_of(part, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || c == '/' || c == '\\';
  });
}

}  // namespace

bool is_own_host(std::string_view host, std::uint16_t port) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (!is_number(has_port ? host.substr(colon + 1) : "80", port)) return false;
  const std::string name = in_small_letters(has_port ? host.substr(0, colon) : host);
  if (name == "localhost" || name == "[::1]") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

std::optional<std::vector<std::string>> path_of(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  if (target.empty() || target.front() != '/') return std::nullopt;
  std::vector<std::string> parts;
  if (target == "/") return parts;
  while (!target.empty()) {
    target.remove_prefix(1);
    const std::string_view escaped = target.substr(0, target.find('/'));
    target.remove_prefix(escaped.size());
    std::string part;
    for (std::size_t i = 0; i < escaped.size(); ++i) {
      if (escaped[i] != '%') {
        part += escaped[i];
        continue;
      }
      if (i + 2 >= escaped.size()) return std::nullopt;
      const int high = hex_digit(escaped[i + 1]), low = hex_digit(escaped[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      part += static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (!can_be_a_part(part)) return std::nullopt;
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string suffix_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string() : in_small_letters(name.substr(dot + 1));
}

std::string_view media_type_of(std::string_view suffix) {
  static constexpr std::pair<std::string_view, std::string_view> types[] = {
      {"html", "text/html; charset=utf-8"},
      {"js", "text/javascript; charset=utf-8"},
      {"css", "text/css; charset=utf-8"},
      {"json", "application/json"},
      {"map", "application/json"},
      {"txt", "text/plain; charset=utf-8"},
      {"svg", "image/svg+xml"},
      {"png", "image/png"},
      {"jpg", "image/jpeg"},
      {"jpeg", "image/jpeg"},
      {"webp", "image/webp"},
      {"ico", "image/x-icon"},
      {"ktx2", "image/ktx2"},
      {"woff2", "font/woff2"},
      {"wasm", "application/wasm"},
      {"gltf", "model/gltf+json"},
      {"glb", "model/gltf-binary"},
  };
  for (const auto& [known, type] : types)
    if (known == suffix) return type;
  return "application/octet-stream";
}

}  // namespace muster
