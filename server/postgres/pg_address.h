// The address of a world in PostgreSQL: postgres://USER:PASSWORD@HOST:PORT/DATABASE/WORLD?OPTIONS.
// Every part but the database and the world may be missing. The options are those of libpq, such as
// host=/run/postgresql for a Unix socket, or sslmode=verify-full.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace muster {

struct PgAddress {
  std::string connection;  ///< the address of the database, for libpq
  std::string world;       ///< the world's name, which is the name of its schema in the database
  std::string shown;       ///< the address without its password, for messages
};

/// Returns true if `text` begins like such an address.
bool is_pg_address(std::string_view text) noexcept;

/// Returns the address without its password and its options, for messages. Returns any other text
/// as it is. The address need not be valid.
std::string shown_pg_address(std::string_view text);

/// Parses an address. In the world's name, %XX stands for a byte. On failure, returns the reason. A
/// name has 1 to 63 bytes of UTF-8, and is not one that PostgreSQL uses itself.
[[nodiscard]] std::expected<PgAddress, std::string> read_pg_address(std::string_view text);

/// Returns the name of a file that stands for the world on this machine: its name with ".muster",
/// in which each byte that is no letter, digit, '.', '_' or '-' is written as %XX.
std::string beside_of(const PgAddress& address);

}  // namespace muster
