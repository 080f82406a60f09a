// Reads the options of muster-server from its command line and from its configuration file. Both
// use the same table, from which --help is made as well.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/access/access_rules.h"
#include "server/program/replay_command.h"
#include "server/session/server_limits.h"

namespace muster {

/// Exit codes for scripts. They are also listed in --help.
enum ExitCode {
  exit_done = 0,
  exit_usage = 2,
  exit_schema = 3,
  exit_plugin = 4,
  exit_world = 5,
  exit_listen = 6,
  exit_save = 7,
  exit_stopped = 8,
  exit_by_plugin = 9,
  exit_differs = 10
};

struct Arguments {
  std::string world;
  std::vector<std::string> schemas, include_folders, plugins, limits;
  std::string listen = "127.0.0.1:7717";
  std::string unix_path;
  std::string certificate, key;
  bool self_signed = false;
  std::vector<std::string> proxies;
  std::string token_file;
  bool token_fixed = false;
  std::string page;
  double hz = 0;
  bool paused = false, level = false;
  std::string durability = "batched";
  double autosave_s = 2;
  std::uint32_t journal_mib = 256;
  std::uint32_t preserved_mib = 256;
  std::uint64_t history_bytes = 256u << 20;
  std::string disk_lags = "wait";
  std::uint32_t workers = 1;
  bool workers_given = false;
  std::uint64_t skip = 0;
  double watchdog_s = 5;
  double cascade_ms = 100;
  std::uint64_t carried_messages = 0;
  std::uint32_t carried_mib = 0;
  double sleep_after_s = 0;
  bool make_new = false, must_exist = false, quiet = false, stops_at_eof = false, synctest = false;
  std::string tick_hashes;
  ReplayCommand replaying;
  std::string config;  // the configuration file, or empty
  bool check_config = false;
  std::string log_file, audit_log;
  bool private_figures = false;
  double drain_s = 30;
  std::string drain_to;
};

/// An option, its values in the form of the command line, and their origin.
struct OptionSetting {
  std::string key;  ///< name in the configuration file
  std::vector<std::string> values;
  std::string toml;    ///< the values as the configuration file would give them
  std::string origin;  ///< "the command line", "town.toml:3:1", or empty for the default
  bool takes_effect_at_reload = false;
};

struct Settings {
  Arguments arguments;
  ServerLimits limits;
  std::vector<AccessRule> rules;
  std::vector<OptionSetting> all;  ///< in the order of --help
};

/// The reason why the program ends without serving: the user asked for a text such as --help, or an
/// option is wrong.
struct NoSettings {
  ExitCode code = exit_usage;
  std::string text;
};

/// Reads the command line and, if it names one, the configuration file. An option of the command
/// line takes precedence over the file. `limits` are added to those of the file.
[[nodiscard]] std::expected<Settings, NoSettings> read_settings(int argc, const char* const* argv);

/// Returns what holds, in the form of a configuration file. Each line ends with its origin.
std::string shown_settings(const Settings& settings);

/// Returns a sentence for each option that differs, with its old and new value. Those that take
/// effect only at a restart say so.
std::vector<std::string> changes(const Settings& before, const Settings& after);

}  // namespace muster
