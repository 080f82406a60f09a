// The program muster-server, which serves one world. This file creates all objects and connects
// them; see `muster-server --help`.
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "registry/host.h"
#include "registry/moments/synctest.h"
#include "schema/muster.h"
#include "server/log_queue.h"
#include "server/plugins/plugins.h"
#include "server/plugins/schema_file.h"
#include "server/process_ends.h"
#include "server/replay_command.h"
#include "server/server.h"
#include "server/token_file.h"
#include "server/world/world.h"
#include "system/real_path.h"
#include "system/standard_descriptors.h"

namespace {

using namespace muster;

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
  std::string token_file;
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
  std::uint64_t skip = 0;
  double watchdog_s = 5;
  double cascade_ms = 100;
  std::uint64_t carried_messages = 0;
  std::uint32_t carried_mib = 0;
  bool make_new = false, must_exist = false, quiet = false, synctest = false;
  std::string tick_hashes;
  ReplayCommand replaying;
};

constexpr const char* program_name = "muster-server " MUSTER_VERSION;

World* running = nullptr;  // used only by the signal handler

// Records a signal, because `running` is null while the world is being reopened.
volatile std::sig_atomic_t was_signalled = 0;
/// The first signal asks the world to stop, which it does between two inputs. A second signal ends
/// the process immediately; the file then contains the last save.
void on_signal(int) {
  was_signalled = 1;
  if (running) running->stop();
}

int complain(ExitCode code, const std::string& text) {
  spdlog::error("{}", text);
  return code;
}
int complain(const Arguments& arguments, const ServerError& error) {
  if (!error.port_in_use()) return complain(exit_listen, error.what());
  return complain(exit_listen, "cannot listen on " + arguments.listen +
                                   ": Address already in use. End the server that has this port, or choose another "
                                   "port with --listen; 0 takes any free one");
}

/// Parses strings of the form NAME=NUMBER. On failure, the error is a human-readable message.
std::expected<ServerLimits, std::string> limits_of(const std::vector<std::string>& given) {
  ServerLimits limits;
  for (const std::string& each : given) {
    const std::size_t equals = std::min(each.find('='), each.size());
    const std::string name = each.substr(0, equals), number = each.substr(std::min(equals + 1, each.size()));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool whole = error == std::errc() && end == number.data() + number.size();
    if (whole && set_limit(limits, name, value)) continue;
    if (const std::uint64_t least = least_of_limit(name); whole && value < least)
      return std::unexpected("--limit " + each + ": " + name + " is at least " + std::to_string(least));
    std::string known;
    for (const std::string_view limit : limit_names()) known += " " + std::string(limit);
    return std::unexpected("--limit " + each + ": expected NAME=NUMBER within the number's range; names are" + known);
  }
  return limits;
}

/// Reads the token file, and creates it if it does not exist. If no token file is used, returns an
/// empty token.
std::expected<std::string, std::string> token_of(const std::string& path) {
  if (path.empty()) return std::string();
  const auto made = make_token_file(path);
  if (!made) return std::unexpected(made.error());
  if (*made) spdlog::info("{}: a new token, which later starts will use", path);
  return read_token_file(path);
}

/// Raises the limit on file descriptors as far as the system allows for this user. Each session
/// needs a descriptor, and on many systems, the initial limit is 1024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Warns if other users of the machine can read the world, or put files next to it.
void warn_of_others(const World& world) {
  const std::string file = real_path(world.path());
  struct stat found{};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & 077) != 0)
    spdlog::warn("{}: other users of this machine can open it (mode {:04o}); chmod 600 makes it private", file,
                 found.st_mode & 07777);
  std::string folder = file.substr(0, file.rfind('/') + 1);
  if (folder.empty()) folder = ".";
  if (::stat(folder.c_str(), &found) == 0 && (found.st_mode & 022) != 0)
    spdlog::warn("{}: other users of this machine can put files into its folder (mode {:04o}); chmod 700 prevents it",
                 file, found.st_mode & 07777);
}

/// Warns that handlers of muster.Update are not called if the world has no ticks.
void warn_of_idle(const World& world, double hz) {
  if (hz > 0) return;
  std::string names;
  std::size_t count = 0;
  for (const Handler* handler : world.registry().host().handlers().handlers()) {
    if (handler->message != TypeTraits<Update>::id) continue;
    constexpr std::size_t named_max = 3;
    if (++count <= named_max)
      names += (names.empty() ? "" : ", ") + (handler->name.empty() ? "unnamed" : handler->name);
  }
  if (count == 0) return;
  spdlog::warn("{}: {} handlers of muster.Update ({}{}) are not called: the world does not tick; start it with --hz 60",
               world.path(), count, names, count > 3 ? ", ..." : "");
}
/// Lists the values in the file that were invalid for their field and have been corrected. Such
/// values originate from plugin code.
void warn_of_mended(const World& world) {
  const LoadReport& report = world.load_report();
  for (const MendedState& mended : report.listed) spdlog::warn("{}: put right: {}", world.path(), mended.text());
  if (report.mended > report.listed.size())
    spdlog::warn("{}: {} values were put right, of which {} are listed", world.path(), report.mended,
                 report.listed.size());
  for (const std::string& type : report.converted) spdlog::info("{}: converted: {}", world.path(), type);
  if (report.lost_requests > 0)
    spdlog::warn("{}: {} requests to start or end handlers were dropped: they belonged to another process",
                 world.path(), report.lost_requests);
}

/// Logs the result of replaying the journal.
void tell_of_recovery(const World& world) {
  const RecoveryReport& report = world.recovery_report();
  const std::string text = report.text();
  if (text.empty()) return;
  const auto level = report.exact() && report.failed == 0 ? spdlog::level::info : spdlog::level::warn;
  spdlog::log(level, "{}: recovered up to sequence {}, tick {}. {}", world.path(), world.registry().sequence(),
              world.tick(), text);
  for (const std::string& each : report.listed) spdlog::warn("{}: lost: {}", world.path(), each);
  if (report.failed > report.listed.size())
    spdlog::warn("{}: {} edits were lost, of which {} are listed", world.path(), report.failed, report.listed.size());
}

Durability durability_of(const std::string& name) {
  return name == "each_flush" ? Durability::each_flush
         : name == "batched"  ? Durability::batched
                              : Durability::checkpoint;
}

struct Failure {
  ExitCode code;
  std::string text;
};
using Schemas = std::vector<std::vector<std::byte>>;

std::expected<Schemas, Failure> read_schemas(const Arguments& arguments) {
  Schemas schemas;
  for (const std::string& path : arguments.schemas) {
    auto schema = read_schema_file(path, arguments.include_folders);
    if (!schema) return std::unexpected(Failure{exit_schema, schema.error()});
    schemas.push_back(std::move(*schema));
  }
  return schemas;
}

std::expected<std::unique_ptr<Plugins>, Failure> load_plugins(const Arguments& arguments) {
  auto plugins = std::make_unique<Plugins>();
  try {
    for (const std::string& path : arguments.plugins) plugins->load(path);
  } catch (const PluginError& error) {
    return std::unexpected(Failure{exit_plugin, error.what()});
  }
  return plugins;
}

/// A world and the objects on which it depends. They are created at startup and again whenever the
/// world is reopened.
struct Served {
  explicit Served(const Arguments& given) : arguments(given) {}

  const Arguments& arguments;
  Schemas schemas;
  std::unique_ptr<Plugins> plugins;  // must outlive the world, whose registry destroys instances
  std::optional<World> world;
  std::set<std::string> differing;  // values of which a difference was logged (--synctest)

  /// Logs the first difference of each value of each handler.
  void note_difference(const SyncDifference& found) {
    const std::string value = found.handler + ' ' + found.message + ' ' + found.component + ' ' + found.field;
    constexpr std::size_t logged_max = 100;
    if (differing.size() < logged_max && differing.insert(value).second)
      spdlog::error("{}: tick {}: {}", world->path(), world->tick(), found.text());
  }

  std::expected<void, Failure> open(bool again) {
    std::string schema_error;
    try {
      WorldOptions options;
      options.hz = arguments.hz;
      options.workers = arguments.workers;
      options.skip = again ? 0 : arguments.skip;
      options.level = !again && arguments.level;
      options.watchdog = std::chrono::nanoseconds(static_cast<std::int64_t>(arguments.watchdog_s * 1e9));
      options.registry.cascade_ns_max = static_cast<std::uint64_t>(arguments.cascade_ms * 1e6);
      options.carried_messages_max = arguments.carried_messages;
      options.carried_bytes_max = std::uint64_t{arguments.carried_mib} << 20;
      options.on_warning = [path = arguments.world](const std::string& what) { spdlog::warn("{}: {}", path, what); };
      options.on_failure = [](const std::string& what) { spdlog::error("{}", what); };
      options.on_hang = options.on_warning;
      options.durability = durability_of(arguments.durability);
      options.autosave = std::chrono::nanoseconds(static_cast<std::int64_t>(arguments.autosave_s * 1e9));
      options.journal_bytes_max = std::uint64_t{arguments.journal_mib} << 20;
      options.disk_lags = arguments.disk_lags == "wait" ? DiskLags::wait : DiskLags::go_on;
      options.preserved_bytes_max = std::uint64_t{arguments.preserved_mib} << 20;
      options.history_bytes = arguments.history_bytes;
      if (arguments.synctest)
        options.registry.on_sync_difference = [this](const SyncDifference& found) { note_difference(found); };
      options.open = again                  ? OpenMode::open_existing
                     : arguments.make_new   ? OpenMode::create_new
                     : arguments.must_exist ? OpenMode::open_existing
                                            : OpenMode::open_or_create;
      options.code = plugins->code(program_name);
      world.emplace(
          arguments.world,
          [&](EntityRegistry& registry) -> Handlers {
            for (std::size_t i = 0; i < schemas.size(); ++i)
              if (auto added = registry.types().add_schema(schemas[i]); !added) {
                schema_error = arguments.schemas[i] + ": " + added.error().text();
                throw std::runtime_error(schema_error);
              }
            return plugins->install(registry);
          },
          options);
    } catch (const WorldError& error) {
      if (!schema_error.empty()) return std::unexpected(Failure{exit_schema, schema_error});
      return std::unexpected(Failure{error.code() == WorldErrorCode::setup     ? exit_plugin
                                     : error.code() == WorldErrorCode::stopped ? exit_usage
                                                                               : exit_world,
                                     error.what()});
    }
    if (!again) warn_of_others(*world);
    warn_of_mended(*world);
    tell_of_recovery(*world);
    warn_of_idle(*world, arguments.hz);
    return {};
  }

  /// Saves and destroys the world, rereads the schemas and plugins, and reopens the world. If that
  /// fails, reopens the world with the previous schemas and plugins.
  std::expected<void, Failure> open_again() {
    const Pace pace = world->pace();
    if (const auto saved = world->try_save(); !saved)
      return std::unexpected(Failure{exit_save, std::string("not saved: ") + saved.error().what()});
    world.reset();
    std::expected<void, Failure> opened;
    auto new_schemas = read_schemas(arguments);
    auto new_plugins = load_plugins(arguments);
    if (new_schemas && new_plugins) {
      schemas.swap(*new_schemas);
      plugins.swap(*new_plugins);
      opened = open(true);
      if (!opened) {
        schemas.swap(*new_schemas);
        plugins.swap(*new_plugins);
      }
    } else {
      opened = std::unexpected(new_schemas ? new_plugins.error() : new_schemas.error());
    }
    if (!opened) {
      spdlog::error("the previous build continues: {}", opened.error().text);
      opened = open(true);
    }
    if (opened) (void)world->set_pace({.speed = pace.speed, .paused = pace.paused});
    return opened;
  }
};

int complain(const Failure& failure) { return complain(failure.code, failure.text); }

/// Does the inputs of a file again (--replay).
int replay_file(const Arguments& arguments, const Schemas& schemas, Plugins& plugins) {
  ReplayCommand command = arguments.replaying;
  command.file = arguments.world;
  command.options.workers = arguments.workers;
  command.options.code = plugins.code(program_name);
  const auto end = run_replay(command, [&](EntityRegistry& registry) {
    for (std::size_t i = 0; i < schemas.size(); ++i)
      if (auto added = registry.types().add_schema(schemas[i]); !added)
        throw std::runtime_error(arguments.schemas[i] + ": " + added.error().text());
    return plugins.install(registry);
  });
  // The codes of `muster`, which runs this: 1 refused, 4 bad file, 5 output not written.
  if (!end) return replay_refused(command, end.error().what());
  if (std::fflush(stdout) != 0) return 5;
  return *end == ReplayEnd::same ? 0 : 1;
}

int serve(const Arguments& arguments, const LogQueue& log) {
  handle_faults();
  raise_descriptor_limit();
  const auto limits = limits_of(arguments.limits);
  if (!limits) return complain(exit_usage, limits.error());
  const auto refuse = [&](const Failure& failure) {
    return arguments.replaying.wanted ? replay_refused(arguments.replaying, failure.text) : complain(failure);
  };
  auto schemas = read_schemas(arguments);
  if (!schemas) return refuse(schemas.error());
  auto token = token_of(arguments.replaying.wanted ? std::string() : arguments.token_file);
  if (!token) return complain(exit_usage, token.error());
  auto plugins = load_plugins(arguments);
  if (!plugins) return refuse(plugins.error());
  refuse_exit(exit_by_plugin);
  if (arguments.replaying.wanted) return replay_file(arguments, *schemas, **plugins);

  Served served(arguments);
  served.schemas = std::move(*schemas);
  served.plugins = std::move(*plugins);
  if (const auto opened = served.open(false); !opened) return complain(opened.error());
  std::optional<World>& world = served.world;

  bool again = false;
  ServerOptions listening;
  listening.listen = arguments.listen;
  listening.unix_path = arguments.unix_path;
  listening.token = *token;
  listening.page_folder = arguments.page;
  listening.users_file = real_path(arguments.world) + "-users";
  listening.program = "muster-server " MUSTER_VERSION;
  listening.log_lines_lost = [&log] { return log.lost(); };
  listening.log = [](const std::string& line) { spdlog::info("session: {}", line); };
  listening.warn = [](const std::string& line) { spdlog::warn("{}", line); };
  listening.plugins = served.plugins.get();
  listening.limits = *limits;
  listening.open_again = [&] {
    again = true;
    world->stop();
  };
  try {  // before a new world is created
    Server::check(listening);
  } catch (const ServerError& error) {
    return complain(arguments, error);
  }

  if (const std::string* const why = world->stopped()) spdlog::error("{}: stopped: {}", world->path(), *why);
  if (arguments.paused) (void)world->set_pace({.paused = true});
  const bool is_new = world->is_new();
  if (is_new) {
    try {
      served.plugins->begin(world->registry());
      world->save();
    } catch (const PluginError& error) {
      return complain(exit_plugin, error.what());
    } catch (const WorldError& error) {
      return complain(exit_save, error.what());
    }
  }

  running = &*world;
  handle_signals(on_signal);

  for (bool first = true;; first = false) {
    std::optional<Server> server;
    try {
      server.emplace(*world, listening);
    } catch (const ServerError& error) {
      running = nullptr;
      return complain(arguments, error);
    }
    // Keep the address and token, so that clients find a reopened world.
    listening.token = server->token();
    if (!server->address().empty()) listening.listen = server->address();

    if (server->has_editor()) spdlog::info("editor {}", server->editor_url());
    spdlog::info("{}: {} entities, {} types, {}", world->path(), world->registry().entity_count(),
                 world->registry().types().types().size(), is_new && first ? "a new world" : "opened");
    if (!server->address().empty()) spdlog::info("listening on {}", server->address());
    if (!server->unix_path().empty()) spdlog::info("listening on {}", server->unix_path());
    spdlog::info("token {}", server->token());

    std::optional<TickHashLog> hashes;
    try {
      if (!arguments.tick_hashes.empty()) hashes.emplace(world->registry(), arguments.tick_hashes);
    } catch (const WorldError& error) {
      running = nullptr;
      return complain(exit_world, error.what());
    }
    while (const auto frame = world->next_frame()) {
      if (hashes) hashes->made_tick(frame.tick);
      world->registry().push(Update{.dt = frame.dt});
    }
    hashes.reset();

    spdlog::info("stopping");
    server->stop();
    server.reset();
    running = nullptr;
    if (!again || was_signalled || world->stopped()) break;
    again = false;
    if (const auto opened = served.open_again(); !opened) return complain(opened.error());
    listening.plugins = served.plugins.get();
    running = &*world;
    if (was_signalled) world->stop();
  }
  restore_signals();
  if (const std::string* const why = world->stopped()) {
    return complain(exit_stopped, world->path() + ": stopped: " + *why);
  }
  const auto saved = world->try_save();
  if (!saved) return complain(exit_save, std::string("not saved: ") + saved.error().what());
  spdlog::info("saved at sequence {}: {} rows written", saved->sequence, saved->rows_written);
  return served.differing.empty() ? exit_done : exit_differs;
}

}  // namespace

int main(int argc, char** argv) {
  if (const int error = occupy_standard_descriptors(); error != 0) {
    std::fprintf(stderr, "muster-server: /dev/null cannot be opened: %s\n", std::strerror(error));
    return exit_usage;
  }
  CLI::App app(
      "Serves a world: clients edit and watch it over TCP, WebSockets and Unix sockets while it runs, including an "
      "editor in "
      "the browser.");
  app.set_version_flag("--version", "muster-server " MUSTER_VERSION);
  Arguments arguments;
  app.add_option("WORLD", arguments.world, "the world file, such as town.muster; created if it does not exist")
      ->required();
  app.add_option("--schema", arguments.schemas,
                 "types of the game: a .bfbs, or a .fbs if flatc is installed; repeatable");
  app.add_option("-I", arguments.include_folders, "folder in which .fbs files look for those they include; repeatable")
      ->allow_extra_args(false);
  app.add_option("--plugin", arguments.plugins, "a shared library with handlers; repeatable");
  app.add_option("--listen", arguments.listen, "loopback address and port; port 0: any free one; empty: no TCP")
      ->capture_default_str();
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
  app.add_option("--history", arguments.history_bytes,
                 "limit in bytes on the steps that users can undo and redo: beyond it, the oldest are dropped; 0: "
                 "nothing can be undone")
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
  app.add_flag("--synctest", arguments.synctest,
               "do every tick twice, and log values that differ, with the handler at fault");
  app.add_option("--tick-hashes", arguments.tick_hashes,
                 "a file to which hashes of what each tick changed are appended: see muster replay --hashes");
  app.add_option("--workers", arguments.workers,
                 "threads for passes, with the same results as one thread; 0: one per processor")
      ->check(CLI::Range(0u, 256u))
      ->capture_default_str();
  app.add_option(
      "--token-file", arguments.token_file,
      "file with the token for everything; it is made with a new token if it does not exist. Without this option, "
      "each start draws a token");
  app.add_option("--limit", arguments.limits,
                 "NAME=NUMBER: a limit on what sessions may do and send; \"--limit ?\" lists the names; repeatable")
      ->allow_extra_args(false);
  add_replay_options(app, arguments.replaying);
  auto* make_new = app.add_flag("--new", arguments.make_new, "the world must not exist yet");
  app.add_flag("--existing", arguments.must_exist, "the world must exist")->excludes(make_new);
  app.add_flag("--quiet", arguments.quiet, "log warnings and errors only; the token is then in the address file");
  app.footer(
      "While it runs, WORLD-server.json next to the world gives clients of the same user the address and the token.\n"
      "SIGTERM, SIGINT and SIGHUP stop it after a save; a second one stops it immediately, without a save.\n"
      "Exit codes: 0 stopped and saved, 2 usage, 3 schema, 4 plugin, 5 world cannot be opened, 6 cannot listen, 7 not "
      "saved, 8 stopped before an input at which its process died (see --skip), 9 ended by code of a plugin, 10 "
      "--synctest found "
      "a difference.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? exit_done : exit_usage;
  }
  const LogQueue log("muster-server");
  spdlog::set_pattern("%H:%M:%S.%e %^%l%$ %v");
  if (arguments.quiet) spdlog::set_level(spdlog::level::warn);
  const int code = serve(arguments, log);
  permit_exit();
  // If stderr is not read, the process ends without the remaining lines.
  if (!log.drain(std::chrono::seconds(1))) ::_exit(code);
  return code;
}
