#include "server/program/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <utility>

#include "messages/json_writer.h"
#include "server/access/resume_address.h"
#include "server/access/suggestion.h"
#include "server/postgres/pg_address.h"
#include "server/program/config_file.h"
#include "server/program/rule_settings.h"

namespace muster {
namespace {

constexpr const char* read_again = "Options that SIGHUP reads again from the configuration file";

// The only table of options.
void add_options(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", "muster-server " MUSTER_VERSION);
  app.add_option(
      "WORLD", arguments.world,
      "the world file, such as town.muster, or postgres://HOST/DATABASE/WORLD; created if it does not exist");
  app.add_option("--config", arguments.config,
                 "TOML file with options: the key of --token-file is token-file, the key of WORLD is world, and the "
                 "limits are in a table [limits]; the command line takes precedence");
  app.add_flag("--check-config", arguments.check_config, "print what holds and exit, or report what is wrong");
  app.add_option("--schema", arguments.schemas,
                 "types of the game: a .bfbs, or a .fbs if flatc is installed; repeatable");
  app.add_option("-I,--include", arguments.include_folders,
                 "folder in which .fbs files look for those they include; repeatable")
      ->allow_extra_args(false);
  app.add_option("--plugin", arguments.plugins, "a shared library with handlers; repeatable");
  app.add_option("--listen", arguments.listen,
                 "address and port, which without TLS is a loopback address; port 0: any free one; \"\": no TCP, "
                 "which requires --unix")
      ->capture_default_str();
  app.add_option("--cert", arguments.certificate,
                 "file in PEM format with the certificate for TLS and those of its issuers; read again on SIGHUP, and "
                 "when it changes");
  app.add_option("--key", arguments.key, "file in PEM format with the private key of the certificate");
  app.add_flag("--self-signed", arguments.self_signed,
               "TLS with a certificate of its own, kept in WORLD-tls.pem, whose fingerprint clients must know");
  app.add_option("--behind-proxy", arguments.proxies,
                 "ADDR[,ADDR]: addresses of reverse proxies whose X-Forwarded-... fields are believed")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--unix", arguments.unix_path, "Unix socket to listen on as well");
  app.add_option("--page", arguments.page,
                 "a folder with the editor's page instead of the one that was installed; \"none\": serve none");
  app.add_option("--hz", arguments.hz, "ticks per second; 0: the world advances when something arrives")
      ->check(CLI::Range(0.0, 10'000.0))
      ->capture_default_str();
  app.add_flag("--paused", arguments.paused, "start with a paused clock: see muster clock");
  app.add_flag("--level", arguments.level,
               "open the world as a level that is built: the clock is paused until muster play, and a run that was on "
               "is ended");
  app.add_option(
         "--durability", arguments.durability,
         "what a crash or power failure loses: each_flush: a few ms; batched: a tenth of a second plus the time of a "
         "write; checkpoint: everything since the last save")
      ->check(CLI::IsMember({"each_flush", "batched", "checkpoint"}))
      ->capture_default_str();
  app.add_option("--autosave", arguments.autosave_s,
                 "seconds between saves, if there is anything new; 0: only on request and at the end")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_option("--journal-max", arguments.journal_mib,
                 "limit in MiB on the journal after the last save: at four fifths the world is saved, regardless of "
                 "--autosave; 0: "
                 "no limit")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option(
         "--preserved-max", arguments.preserved_mib,
         "limit in MiB on copies of data that changes before a save has written it: beyond it, the save starts again")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option(
         "--history", arguments.history_bytes,
         "limit in bytes on the steps that users can undo and redo, and on the past states that `muster restore` "
         "can reach: beyond it, the oldest are dropped; 0: nothing can be undone or restored")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--disk-lags", arguments.disk_lags,
                 "what the world does if the disk is too slow: wait for it, or go-on: "
                 "then nothing is recorded and edits are refused until a save succeeds")
      ->check(CLI::IsMember({"wait", "go-on"}))
      ->capture_default_str();
  app.add_option("--watchdog", arguments.watchdog_s,
                 "seconds after which a handler that does not return is reported; 0: never")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_option("--cascade-time", arguments.cascade_ms,
                 "limit in ms on the messages that handlers post to each other, for each tick: what is left is carried "
                 "over to the next one; 0: no limit")
      ->check(CLI::Range(0.0, 60'000.0))
      ->capture_default_str();
  app.add_option("--carried-messages", arguments.carried_messages,
                 "limit on the messages carried over: beyond it, the newest are dropped; saved with the world, and "
                 "10000000 in a new one")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
  app.add_option("--carried-max", arguments.carried_mib,
                 "limit in MiB on the bytes of the messages carried over, like --carried-messages; 256 in a new world")
      ->check(CLI::Range(1u, 1u << 20));
  app.add_option("--skip", arguments.skip,
                 "number of an input to skip, before which the world is stopped because its process died there "
                 "repeatedly; the world is saved without it, and continues")
      ->check(CLI::Range(std::uint64_t{1}, ~std::uint64_t{0}));
  app.add_option("--sleep-after", arguments.sleep_after_s,
                 "seconds without sessions and work after which the server saves and ends, as a muster-host asks; 0: "
                 "never")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_flag("--synctest", arguments.synctest,
               "do every tick twice, and log values that differ, with the handler at fault");
  app.add_option("--tick-hashes", arguments.tick_hashes,
                 "a file to which hashes of what each tick changed are appended: see muster replay --hashes");
  app.add_option("--workers", arguments.workers,
                 "threads for passes, with the same results as one thread; 0: one per processor")
      ->check(CLI::Range(0u, 256u))
      ->each([&arguments](const std::string&) { arguments.workers_given = true; })
      ->capture_default_str();
  app.add_option(
      "--token-file", arguments.token_file,
      "file with the token for everything; it is made with a new token if it does not exist. Without this option, "
      "each start draws a token");
  app.add_flag("--token-fixed", arguments.token_fixed,
               "'muster token rotate' may not exchange the token of --token-file, because other programs use the file");
  app.add_option("--limit", arguments.limits,
                 "NAME=NUMBER: a limit on what sessions may do and send; \"--limit ?\" lists the names; repeatable")
      ->allow_extra_args(false)
      ->group(read_again);
  app.add_option("--log-file", arguments.log_file, "file for the log, instead of stderr; it is appended to")
      ->group(read_again);
  app.add_option(
         "--audit-log", arguments.audit_log,
         "file for a line of JSON about each login, change of users, edit, and act of a session, also those that "
         "are refused")
      ->group(read_again);
  app.add_flag("--private-figures", arguments.private_figures,
               "/metrics and /health require a token, also from this machine");
  app.add_option("--drain-time", arguments.drain_s,
                 "seconds that sessions have after SIGUSR2 before the server stops; it stops earlier if none are left")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str()
      ->group(read_again);
  app.add_option("--drain-to", arguments.drain_to,
                 "HOST:PORT or tls:HOST:PORT: the address at which clients resume their sessions after SIGUSR2, if the "
                 "world moves to another server")
      ->check([](const std::string& text) { return wrong_resume_address(text); })
      ->group(read_again);
  add_replay_options(app, arguments.replaying);
  auto* make_new = app.add_flag("--new", arguments.make_new, "the world must not exist yet");
  app.add_flag("--existing", arguments.must_exist, "the world must exist")->excludes(make_new);
  app.add_flag("--stop-at-eof", arguments.stops_at_eof,
               "stop when standard input ends, which it does when a program that started the server dies");
  app.add_flag("--quiet", arguments.quiet, "log warnings and errors only; the token is then in the address file")
      ->group(read_again);
  app.footer(
      "While it runs, WORLD-server.json next to the world gives clients of the same user the address and the token.\n"
      "SIGTERM and SIGINT stop it after a save; a second one stops it immediately, without a save. SIGHUP does the "
      "same, unless --config, --log-file, --audit-log or TLS is used: then the server reads these files and the "
      "certificate again. SIGUSR1 "
      "opens the log files again, and SIGUSR2 tells the sessions that it will stop after --drain-time.\n"
      "Exit codes: 0 stopped and saved, 2 usage, 3 schema, 4 plugin, 5 world cannot be opened, 6 cannot listen, 7 not "
      "saved, 8 stopped before an input at which its process died (see --skip), 9 ended by code of a plugin, 10 "
      "--synctest found a difference.");
}

constexpr const char* description =
    "Serves a world: clients edit and watch it over TCP, WebSockets and Unix sockets while it runs, including an "
    "editor in the browser.";

/// Parses arguments, without the name of the program.
void parse(CLI::App& app, const std::vector<std::string>& given) {
  std::vector<std::string> reversed(given.rbegin(), given.rend());
  app.parse(std::move(reversed));
}

NoSettings refusal(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream text;
  const bool asked = app.exit(error, text, text) == 0;
  std::string said = std::move(text).str();
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return {asked ? exit_done : exit_usage, std::move(said)};
}

/// Adds a limit of the form NAME=NUMBER. On failure, returns a sentence that begins with `shown`.
std::string add_limit(ServerLimits& limits, const std::string& given, const std::string& shown) {
  const std::size_t equals = std::min(given.find('='), given.size());
  const std::string name = given.substr(0, equals), number = given.substr(std::min(equals + 1, given.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (whole && set_limit(limits, name, value)) return {};
  if (const std::uint64_t least = least_of_limit(name); whole && value < least)
    return shown + name + " is at least " + std::to_string(least);
  std::string known;
  for (const std::string_view limit : limit_names()) known += " " + std::string(limit);
  return shown + "expected NAME=NUMBER within the number's range; names are" + known;
}

bool is_key(const CLI::Option& option) {
  static constexpr std::string_view no_keys[] = {"help", "version", "config",    "check-config", "limit", "replay",
                                                 "to",   "check",   "any-build", "slice",        "json",  "hashes"};
  return std::ranges::find(no_keys, option.get_single_name()) == std::end(no_keys);
}
std::string key_of(const CLI::Option& option) {
  return option.get_positional() ? std::string("world") : option.get_single_name();
}
bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }
bool takes_several(const CLI::Option& option) { return option.get_items_expected_max() > 1; }
bool takes_number(const CLI::Option& option) { return !is_flag(option) && !option.get_type_name().starts_with("TEXT"); }

/// Throws the error message as a string.
[[noreturn]] void refuse(const ConfigFile& file, ConfigPlace place, const std::string& text) {
  throw shown_place(file.path, place) + text;
}

/// Returns the option as arguments of a command line. Throws if the value has the wrong form or if
/// the option refuses it.
std::vector<std::string> arguments_of(const ConfigFile& file, const ConfigEntry& entry, const CLI::Option& option) {
  if (entry.is_array && !takes_several(option)) refuse(file, entry.place, entry.key + " takes one value, not an array");
  std::vector<std::string> made;
  for (const ConfigValue& value : entry.values) {
    using Kind = ConfigValue::Kind;
    const bool is_number = value.kind == Kind::integer || value.kind == Kind::real;
    const char* const wanted = is_flag(option)        ? (value.kind != Kind::boolean ? "true or false" : nullptr)
                               : takes_number(option) ? (is_number ? nullptr : "a number")
                                                      : (value.kind != Kind::text ? "a text" : nullptr);
    if (wanted) refuse(file, value.place, entry.key + " takes " + wanted + ", and this is " + value.text);
    if (option.get_positional()) {
      made.insert(made.end(), {"--", value.text});
    } else if (value.text.empty()) {
      made.insert(made.end(), {"--" + entry.key, ""});
    } else {
      made.push_back("--" + entry.key + "=" + value.text);
    }
    CLI::App alone;
    Arguments ignored;
    add_options(alone, ignored);
    try {
      parse(alone, made);
    } catch (const CLI::ParseError& error) {
      refuse(file, value.place, error.what());
    }
  }
  return made;
}

std::string toml_of(const CLI::Option& option, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values)
    text += (text.empty() ? "" : ", ") + (is_flag(option) || takes_number(option) ? value : json_string(value));
  return takes_several(option) ? "[" + text + "]" : text;
}

std::vector<std::string> values_of(const CLI::Option& option) {
  if (is_flag(option)) {
    const bool on = option.count() > 0 && option.results().back() != "false";
    return {on ? "true" : "false"};
  }
  if (option.count() > 0) return option.results();
  if (takes_several(option)) return {};
  const std::string& standard = option.get_default_str();
  if (standard.empty() && takes_number(option)) return {};
  return {standard};
}

Settings settings_of(int argc, const char* const* argv) {
  Settings made;
  CLI::App line(description), whole(description);
  Arguments of_line;
  add_options(line, of_line);
  add_options(whole, made.arguments);
  std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  parse(line, given);

  ConfigFile file;
  std::vector<std::string> from_file, world, keys;
  std::vector<std::pair<std::string, std::string>> origins;  // of keys and limits
  for (const CLI::Option* const option : line.get_options())
    if (is_key(*option)) keys.push_back(key_of(*option));
  if (!of_line.config.empty()) {
    auto read = read_config(of_line.config);
    if (!read) throw read.error();
    file = std::move(*read);
  }
  for (const ConfigEntry& entry : file.options) {
    const CLI::Option* const option = line.get_option_no_throw(entry.key == "world" ? "WORLD" : "--" + entry.key);
    if (!option || !is_key(*option) || std::ranges::find(keys, entry.key) == keys.end()) {
      std::vector<std::string> known = keys;
      known.insert(known.end(), {"limits", "rule"});
      refuse(file, entry.place, "there is no option " + entry.key + suggestion(entry.key, known));
    }
    const std::vector<std::string> added = arguments_of(file, entry, *option);
    const auto excluded = option->get_excludes();
    if (option->count() > 0 || std::ranges::any_of(excluded, [](const auto* other) { return other->count() > 0; }))
      continue;
    if (is_flag(*option) && entry.values.front().text == "false") {
      // This is the default, and a flag must not exclude others if it is false.
    } else if (!option->get_positional()) {
      from_file.insert(from_file.end(), added.begin(), added.end());
    } else if (of_line.world.empty()) {
      world = added;
    }
    const std::string place = shown_place(file.path, entry.place);
    origins.emplace_back(entry.key, place.substr(0, place.size() - 2));
  }
  auto rules = rules_of(file);
  if (!rules) throw rules.error();
  made.rules = std::move(*rules);
  const std::vector<std::string_view> views = limit_names();
  const std::vector<std::string> limit_keys(views.begin(), views.end());
  for (const ConfigEntry& entry : file.limits) {
    if (std::ranges::find(limit_keys, entry.key) == limit_keys.end())
      refuse(file, entry.place, "there is no limit " + entry.key + suggestion(entry.key, limit_keys));
    if (entry.is_array || entry.values.front().kind != ConfigValue::Kind::integer)
      refuse(file, entry.place, "the limit " + entry.key + " is one integer");
    const std::string& number = entry.values.front().text;
    if (number.starts_with("-")) refuse(file, entry.values.front().place, "the limit " + entry.key + " is negative");
    ServerLimits alone;
    const std::string shown = shown_place(file.path, entry.values.front().place);
    if (std::string wrong = add_limit(alone, entry.key + "=" + number, shown); !wrong.empty()) {
      if (number.size() > 9) wrong = shown + number + " is too large for the limit " + entry.key;
      throw wrong;
    }
    from_file.push_back("--limit=" + entry.key + "=" + number);
    origins.emplace_back("limits." + entry.key, shown.substr(0, shown.size() - 2));
  }

  from_file.insert(from_file.end(), given.begin(), given.end());
  from_file.insert(from_file.end(), world.begin(), world.end());
  parse(whole, from_file);
  const bool only_lists = std::ranges::find(made.arguments.limits, "?") != made.arguments.limits.end();
  if (made.arguments.world.empty() && !only_lists) throw std::string("WORLD is required; --help lists the options");
  if (is_pg_address(made.arguments.world)) {
    const Arguments& of = made.arguments;
    if (const auto address = read_pg_address(of.world); !address)
      throw shown_pg_address(of.world) + ": " + address.error();
    if (of.synctest || !of.tick_hashes.empty() || of.replaying.wanted)
      throw std::string("--synctest, --tick-hashes and --replay need a world file; `muster copy` makes one");
  }
  for (const std::string& limit : made.arguments.limits)
    if (std::string wrong = add_limit(made.limits, limit, "--limit " + limit + ": "); !wrong.empty()) throw wrong;

  const auto origin_of = [&](const std::string& key, bool on_line) {
    if (on_line) return std::string("the command line");
    const auto at = std::ranges::find(origins, key, &std::pair<std::string, std::string>::first);
    return at == origins.end() ? std::string() : at->second;
  };
  for (const CLI::Option* const option : whole.get_options()) {
    if (!is_key(*option)) continue;
    const CLI::Option* const on_line = line.get_option_no_throw(option->get_name(option->get_positional()));
    OptionSetting setting;
    setting.key = key_of(*option);
    setting.values = values_of(*option);
    setting.toml = toml_of(*option, setting.values);
    setting.origin = origin_of(setting.key, on_line && on_line->count() > 0);
    setting.takes_effect_at_reload = option->get_group() == read_again;
    made.all.push_back(std::move(setting));
  }
  // If a limit is given several times, the last one counts.
  for (const std::string& limit : made.arguments.limits) {
    const std::string key = "limits." + limit.substr(0, limit.find('='));
    std::erase_if(made.all, [&](const OptionSetting& each) { return each.key == key; });
    const std::string number = limit.substr(limit.find('=') + 1);
    const bool on_line = std::ranges::any_of(
        of_line.limits, [&](const std::string& each) { return each.starts_with(key.substr(7) + "="); });
    made.all.push_back({.key = key,
                        .values = {number},
                        .toml = number,
                        .origin = origin_of(key, on_line),
                        .takes_effect_at_reload = true});
  }
  return made;
}

}  // namespace

std::expected<Settings, NoSettings> read_settings(int argc, const char* const* argv) {
  try {
    return settings_of(argc, argv);
  } catch (const CLI::ParseError& error) {
    CLI::App app(description);
    Arguments ignored;
    add_options(app, ignored);
    return std::unexpected(refusal(app, error));
  } catch (const std::string& wrong) {
    return std::unexpected(NoSettings{exit_usage, wrong});
  }
}

std::string shown_settings(const Settings& settings) {
  std::string text;
  const auto add = [&](const OptionSetting& each, const std::string& key) {
    std::string line = each.toml.empty() ? "# " + key + " is not set" : key + " = " + each.toml;
    if (!each.origin.empty()) line += std::string(line.size() < 38 ? 38 - line.size() : 1, ' ') + "# " + each.origin;
    text += line + "\n";
  };
  for (const OptionSetting& each : settings.all)
    if (!each.key.starts_with("limits.")) add(each, each.key);
  bool first = true;
  for (const OptionSetting& each : settings.all) {
    if (!each.key.starts_with("limits.")) continue;
    if (std::exchange(first, false)) text += "\n[limits]\n";
    add(each, each.key.substr(7));
  }
  for (const AccessRule& rule : settings.rules) text += shown_rule(rule);
  return text;
}

std::vector<std::string> changes(const Settings& before, const Settings& after) {
  std::vector<std::string> told;
  const auto find = [](const Settings& in, const std::string& key) {
    const auto at = std::ranges::find(in.all, key, &OptionSetting::key);
    return at == in.all.end() ? nullptr : &*at;
  };
  const auto tell = [&](const OptionSetting& any, const OptionSetting* old, const OptionSetting* now) {
    const std::string is_standard = "the default";
    told.push_back(any.key + ": " + (old ? old->toml : is_standard) + " -> " + (now ? now->toml : is_standard) +
                   (any.takes_effect_at_reload ? "" : ", after a restart"));
  };
  for (const OptionSetting& now : after.all)
    if (const OptionSetting* const old = find(before, now.key); !old || old->values != now.values) tell(now, old, &now);
  for (const OptionSetting& old : before.all)
    if (!find(after, old.key)) tell(old, &old, nullptr);
  return told;
}

}  // namespace muster
