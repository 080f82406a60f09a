#include "server/program/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

// toml++ 3.3 checks some properties of a file, such as the character after "[", with assertions
// only. Without them, its behavior is undefined.
namespace muster {
struct FailedTomlCheck {};
}  // namespace muster
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? void() : throw muster::FailedTomlCheck())
#include <toml++/toml.h>

namespace muster {
namespace {

ConfigPlace place_of(const toml::source_region& region) { return {region.begin.line, region.begin.column}; }

const char* kind_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time: return "a date or time";
    default: return "a value";
  }
}

/// Thrown and caught in this file only.
struct Wrong {
  ConfigPlace place;
  std::string text;
};

ConfigValue value_of(const toml::node& node, const std::string& key) {
  ConfigValue value;
  value.place = place_of(node.source());
  if (const auto* text = node.as_string()) {
    value.text = text->get();
    if (value.text.find('\0') != std::string::npos) throw Wrong{value.place, key + " contains a zero byte"};
  } else if (const auto* integer = node.as_integer()) {
    value.kind = ConfigValue::Kind::integer;
    value.text = std::to_string(integer->get());
  } else if (const auto* real = node.as_floating_point()) {
    value.kind = ConfigValue::Kind::real;
    if (!std::isfinite(real->get())) throw Wrong{value.place, key + " is not a finite number"};
    char written[32];
    value.text.assign(written, std::to_chars(std::begin(written), std::end(written), real->get()).ptr);
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = ConfigValue::Kind::boolean;
    value.text = boolean->get() ? "true" : "false";
  } else {
    throw Wrong{value.place, key + " cannot be " + kind_name(node.type())};
  }
  return value;
}

ConfigEntry entry_of(const toml::key& key, const toml::node& node, const std::string& prefix = {}) {
  ConfigEntry entry{.key = prefix + std::string(key.str()), .place = place_of(key.source()), .values = {}};
  if (const toml::array* const array = node.as_array()) {
    entry.is_array = true;
    for (const toml::node& each : *array) entry.values.push_back(value_of(each, entry.key));
  } else {
    entry.values.push_back(value_of(node, entry.key));
  }
  return entry;
}

void add_limits(const toml::table& table, const std::string& prefix, std::vector<ConfigEntry>& to) {
  for (const auto& [key, node] : table) {
    if (const toml::table* const inner = node.as_table(); inner && prefix.empty())
      add_limits(*inner, std::string(key.str()) + ".", to);
    else
      to.push_back(entry_of(key, node, prefix));
  }
}

/// Returns the place at which a check of toml++ must have failed: a "[" that no name follows.
ConfigPlace bad_header(std::string_view text) {
  ConfigPlace place;
  while (!text.empty()) {
    ++place.line;
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == line.npos || line[first] != '[') continue;
    const std::size_t name =
        line.find_first_not_of(" \t", line[std::min(first + 1, line.size() - 1)] == '[' ? first + 2 : first + 1);
    const bool is_named = name != line.npos && (std::isalnum(static_cast<unsigned char>(line[name])) ||
                                                std::string_view("_-\"'").contains(line[name]));
    place.column = static_cast<std::uint32_t>(first + 1);
    if (!is_named) return place;
  }
  return {1, 1};
}

}  // namespace

std::string shown_place(const std::string& path, ConfigPlace place) {
  return path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
}

std::expected<ConfigFile, std::string> parse_config(std::string_view text, const std::string& path) {
  if (text.size() > config_bytes_max)
    return std::unexpected(path + ": the configuration has " + std::to_string(text.size()) + " bytes; at most " +
                           std::to_string(config_bytes_max) + " are allowed");
  ConfigFile config;
  config.path = path;
  try {
    const toml::table root = toml::parse(text);
    for (const auto& [key, node] : root) {
      if (key.str() == "limits") {
        const toml::table* const limits = node.as_table();
        if (!limits) throw Wrong{place_of(node.source()), "limits is a table: [limits]"};
        add_limits(*limits, "", config.limits);
      } else if (key.str() == "rule") {
        const toml::array* const rules = node.as_array();
        if (!rules) throw Wrong{place_of(node.source()), "each rule is a table of its own: [[rule]]"};
        for (const toml::node& each : *rules) {
          const toml::table* const rule = each.as_table();
          if (!rule) throw Wrong{place_of(each.source()), "each rule is a table of its own: [[rule]]"};
          auto& entries = config.rules.emplace_back(place_of(rule->source()), std::vector<ConfigEntry>()).second;
          for (const auto& [name, value] : *rule) entries.push_back(entry_of(name, value));
        }
      } else {
        config.options.push_back(entry_of(key, node));
      }
    }
  } catch (const toml::parse_error& error) {
    return std::unexpected(shown_place(path, place_of(error.source())) + std::string(error.description()));
  } catch (const FailedTomlCheck&) {
    return std::unexpected(shown_place(path, bad_header(text)) +
                           "this is not TOML, for example because no name follows [");
  } catch (const Wrong& wrong) {
    return std::unexpected(shown_place(path, wrong.place) + wrong.text);
  }
  // The library sorts keys by name. An error is easier to find if it is the first one in the file.
  const auto in_file = [](const ConfigEntry& entry) { return std::pair(entry.place.line, entry.place.column); };
  std::ranges::sort(config.options, {}, in_file);
  std::ranges::sort(config.limits, {}, in_file);
  for (auto& [place, entries] : config.rules) std::ranges::sort(entries, {}, in_file);
  return config;
}

std::expected<ConfigFile, std::string> read_config(const std::string& path) {
  // A configuration may be a symbolic link, for example to a file in a checkout.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const auto fail = [&](const std::string& why) {
    if (file >= 0) ::close(file);
    return std::unexpected(path + ": the configuration cannot be read: " + why);
  };
  if (file < 0) return fail(std::strerror(errno));
  struct stat found{};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return fail("not a regular file");
  std::string text;
  char block[4096];
  while (text.size() <= config_bytes_max) {
    const ssize_t bytes = ::read(file, block, sizeof block);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return fail(std::strerror(errno));
    if (bytes == 0) break;
    text.append(block, static_cast<std::size_t>(bytes));
  }
  ::close(file);
  return parse_config(text, path);
}

}  // namespace muster
