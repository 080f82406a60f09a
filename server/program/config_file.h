// Reads the configuration file of muster-server, which is written in TOML. Knows the form of the
// file, but not the options of the program.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// Position in the file, counted from 1.
struct ConfigPlace {
  std::uint32_t line = 0, column = 0;
};

struct ConfigValue {
  enum class Kind : std::uint8_t { boolean, integer, real, text };
  Kind kind = Kind::text;
  std::string text;  ///< the value as it would be written on a command line
  ConfigPlace place;
};

/// A key and its values. A key without an array has exactly one value.
struct ConfigEntry {
  std::string key;  ///< in the table of limits, keys of inner tables are joined with dots
  ConfigPlace place;
  bool is_array = false;
  std::vector<ConfigValue> values;
};

struct ConfigFile {
  std::string path;
  /// The keys outside of tables.
  std::vector<ConfigEntry> options;
  std::vector<ConfigEntry> limits;                                      ///< the keys of [limits]
  std::vector<std::pair<ConfigPlace, std::vector<ConfigEntry>>> rules;  ///< each table of [[rule]]
};

/// Limit on the size of the file.
constexpr std::size_t config_bytes_max = 1u << 20;

/// Parses the content of the file `path`. On failure, the error names the file, line and column.
[[nodiscard]] std::expected<ConfigFile, std::string> parse_config(std::string_view text, const std::string& path);
/// Reads a regular file.
[[nodiscard]] std::expected<ConfigFile, std::string> read_config(const std::string& path);

/// Returns the beginning of an error message: "town.toml:3:7: ".
std::string shown_place(const std::string& path, ConfigPlace place);

}  // namespace muster
