#include "server/postgres/pg_address.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "messages/utf8.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 2> schemes = {"postgres://", "postgresql://"};
constexpr std::size_t name_bytes_max = 63;  // of PostgreSQL's names

std::string_view scheme_of(std::string_view text) noexcept {
  for (const std::string_view scheme : schemes)
    if (text.starts_with(scheme)) return scheme;
  return {};
}

/// Replaces each %XX. Returns false if a % is not followed by two hexadecimal digits.
bool decode(std::string_view text, std::string& decoded) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(at + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return false;
    decoded += static_cast<char>(byte);
    at += 2;
  }
  return true;
}

}  // namespace

bool is_pg_address(std::string_view text) noexcept { return !scheme_of(text).empty(); }

std::string shown_pg_address(std::string_view text) {
  const std::string_view scheme = scheme_of(text);
  if (scheme.empty()) return std::string(text);
  const std::string_view rest = text.substr(scheme.size());
  const std::string_view place = rest.substr(0, rest.find('?'));
  const std::string_view server = place.substr(0, place.find('/'));
  const std::size_t at = server.rfind('@');
  const std::string_view user = server.substr(0, at == server.npos ? 0 : std::min(at, server.find(':')));
  return std::string(schemes[0]) + std::string(user) + std::string(place.substr(at == server.npos ? 0 : at));
}

std::expected<PgAddress, std::string> read_pg_address(std::string_view text) {
  const std::string_view scheme = scheme_of(text);
  const std::string form = "it must be postgres://HOST/DATABASE/WORLD";
  if (scheme.empty()) return std::unexpected(form);
  const std::string_view rest = text.substr(scheme.size());
  const std::size_t question = rest.find('?');
  const std::string_view place = rest.substr(0, question);
  const std::string_view options = question == rest.npos ? std::string_view() : rest.substr(question);
  const std::size_t before_database = place.find('/');
  const std::size_t before_world = before_database == place.npos ? place.npos : place.find('/', before_database + 1);
  if (before_world == place.npos || before_world == before_database + 1) return std::unexpected(form);
  const std::string_view server = place.substr(0, before_database);
  const std::string_view database = place.substr(before_database, before_world - before_database);
  const std::string_view world = place.substr(before_world + 1);
  PgAddress address;
  if (!decode(world, address.world)) return std::unexpected("in the world's name, a % is not followed by two digits");
  const std::string& name = address.world;
  if (name.empty()) return std::unexpected("the world's name is missing: " + form);
  if (world.find('/') != world.npos) return std::unexpected("a / in the world's name must be written %2F");
  if (name.size() > name_bytes_max)
    return std::unexpected("the world's name has " + std::to_string(name.size()) + " bytes; it may have " +
                           std::to_string(name_bytes_max));
  if (!text_fault(name).empty()) return std::unexpected("the world's name is not UTF-8");
  if (name.starts_with("pg_") || name == "information_schema" || name == "public")
    return std::unexpected("PostgreSQL itself uses the name " + name);
  address.connection =
      std::string("postgresql://") + std::string(server) + std::string(database) + std::string(options);
  address.shown = shown_pg_address(text);
  return address;
}

std::string beside_of(const PgAddress& address) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string name;
  for (const char c : address.world) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-' || (c == '.' && !name.empty()))
      name += c;
    else
      name += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return name + ".muster";
}

}  // namespace muster
