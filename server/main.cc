// The program muster-server, which serves one world. This file creates all objects and connects
// them; see `muster-server --help`.
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "registry/host.h"
#include "schema/muster.h"
#include "server/access/users.h"
#include "server/log_queue.h"
#include "server/plugins/plugins.h"
#include "server/plugins/schema_file.h"
#include "server/postgres/pg_address.h"
#include "server/process_ends.h"
#include "server/program/differences.h"
#include "server/program/opening_lines.h"
#include "server/program/service.h"
#include "server/program/service_manager.h"
#include "server/program/settings.h"
#include "server/program/world_choice.h"
#include "server/server.h"
#include "server/session/audit_line.h"
#include "server/token_file.h"
#include "server/world/world.h"
#include "system/descriptor_limit.h"
#include "system/standard_descriptors.h"

namespace {

using namespace muster;

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

// Number of times that SIGHUP asked for the certificate to be read again.
std::atomic<std::uint64_t> hangups = 0;

/// Stops the world once standard input has ended.
void stop_at_eof() {
  std::thread([] {
    char room[256];
    while (true) {
      const ssize_t got = ::read(STDIN_FILENO, room, sizeof room);
      if (got == 0 || (got < 0 && errno != EINTR)) break;
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
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

/// Reads the token file, and creates it if it does not exist. If no token file is used, returns an
/// empty token.
std::expected<std::string, std::string> token_of(const std::string& path) {
  if (path.empty()) return std::string();
  const auto made = make_token_file(path);
  if (!made) return std::unexpected(made.error());
  if (*made) spdlog::info("{}: a new token, which later starts will use", path);
  return read_token_file(path);
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

/// Adds the types of the schemas, and installs the plugins. Throws if that fails.
Handlers install_all(const Arguments& arguments, const Schemas& schemas, Plugins& plugins, EntityRegistry& registry) {
  for (std::size_t i = 0; i < schemas.size(); ++i)
    if (auto added = registry.types().add_schema(schemas[i]); !added)
      throw std::runtime_error(arguments.schemas[i] + ": " + added.error().text());
  return plugins.install(registry);
}

/// Returns an install function whose plugins are loaded again, with new static variables.
ReplayInstall install_again(const Arguments& arguments, const Schemas& schemas) {
  auto plugins = load_plugins(arguments);
  if (!plugins) throw std::runtime_error(plugins.error().text);
  return [&, loaded = std::shared_ptr<Plugins>(std::move(*plugins))](EntityRegistry& registry) {
    return install_all(arguments, schemas, *loaded, registry);
  };
}

/// A world and the objects on which it depends. They are created at startup and again whenever the
/// world is reopened.
struct Served {
  explicit Served(const Arguments& given) : arguments(given) {}

  const Arguments& arguments;
  Schemas schemas;
  std::unique_ptr<Plugins> plugins;  // must outlive the world, whose registry destroys instances
  std::optional<World> world;
  Differences differences{arguments.world, arguments.tick_hashes};  // that were found by --synctest
  bool recovery_differs = false;

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
      options.on_warning = [path = shown_pg_address(arguments.world)](const std::string& what) {
        spdlog::warn("{}: {}", path, what);
      };
      options.on_failure = [](const std::string& what) { spdlog::error("{}", what); };
      options.on_hang = options.on_warning;
      options.durability = durability_of(arguments.durability);
      options.autosave = std::chrono::nanoseconds(static_cast<std::int64_t>(arguments.autosave_s * 1e9));
      options.journal_bytes_max = std::uint64_t{arguments.journal_mib} << 20;
      options.disk_lags = arguments.disk_lags == "wait" ? DiskLags::wait : DiskLags::go_on;
      options.preserved_bytes_max = std::uint64_t{arguments.preserved_mib} << 20;
      options.history_bytes = arguments.history_bytes;
      if (arguments.synctest)
        options.registry.on_sync_difference = [this](const SyncDifference& found) {
          differences.note(found, world->tick());
        };
      options.past_bytes = arguments.history_bytes;
      options.open = again                  ? OpenMode::open_existing
                     : arguments.make_new   ? OpenMode::create_new
                     : arguments.must_exist ? OpenMode::open_existing
                                            : OpenMode::open_or_create;
      choose_store(options, arguments.world);
      options.code = plugins->code(program_name);
      if (!again && (arguments.synctest || !arguments.tick_hashes.empty()))
        recovery_differs = check_recovery(
            arguments.world,
            [&](EntityRegistry& registry) { return install_all(arguments, schemas, *plugins, registry); },
            {.code = options.code,
             .check = arguments.synctest,
             .workers = arguments.workers,
             .install_again = [&] { return install_again(arguments, schemas); }},
            arguments.tick_hashes);
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
      // A journal that does not fit the state is the trace of a result that was another one.
      if (error.detail().starts_with("the journal is refused") && !is_pg_address(arguments.world))
        (void)write_differing_slice(arguments.world, arguments.tick_hashes, 0, 0, false);
      return std::unexpected(Failure{error.code() == WorldErrorCode::setup     ? exit_plugin
                                     : error.code() == WorldErrorCode::stopped ? exit_usage
                                                                               : exit_world,
                                     error.what()});
    }
    if (!again) warn_of_others(*world);
    warn_of_mended(*world);
    tell_of_recovery(*world);
    tell_of_run(*world);
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
  // Only several workers show results that depend on their order.
  const bool spreads = command.options.check && !arguments.workers_given && std::thread::hardware_concurrency() > 1;
  command.options.workers = spreads ? 2 : arguments.workers;
  command.options.install_again = [&] { return install_again(arguments, schemas); };
  command.options.code = plugins.code(program_name);
  return run_replay(command,
                    [&](EntityRegistry& registry) { return install_all(arguments, schemas, plugins, registry); });
}

/// The two files of lines that a server writes.
struct Logs {
  LogQueue& log;
  LineQueue& audit;

  /// Returns an error as a sentence, in which case both files are as before.
  std::string open(const Arguments& before, const Arguments& arguments) const {
    std::string error = audit.set_path(arguments.audit_log);
    if (error.empty()) {
      error = log.set_path(arguments.log_file);
      if (!error.empty()) (void)audit.set_path(before.audit_log);
    }
    if (error.empty()) spdlog::set_level(arguments.quiet ? spdlog::level::warn : spdlog::level::info);
    return error;
  }
  /// Opens both files again, for example after logrotate has renamed them.
  void reopen() const {
    for (const std::string& error : {audit.reopen(), log.reopen()})
      if (!error.empty()) spdlog::error("the previous file is kept: {}", error);
  }
};

/// The settings of the running server, which the service's thread changes.
class LiveSettings {
 public:
  LiveSettings(int argc, const char* const* argv, Settings settings, const Logs& logs)
      : argc_(argc), argv_(argv), logs_(logs), settings_(std::move(settings)) {}

  /// Reads the configuration file again and applies what can change while the server runs. After an
  /// error, everything is as before.
  void reload() {
    const std::lock_guard lock(mutex_);
    auto read = read_settings(argc_, argv_);
    std::string error = read ? std::string() : read.error().text;
    std::string token;
    if (error.empty() && !settings_.arguments.token_file.empty()) {
      auto current = read_token_file(settings_.arguments.token_file);
      if (!current) error = current.error();
      if (current && *current != token_) token = std::move(*current);
    }
    if (error.empty()) error = logs_.open(settings_.arguments, read->arguments);
    if (error.empty() && server_) {
      error = server_->set_rules(read->rules);
      if (!error.empty()) (void)logs_.open(read->arguments, settings_.arguments);
    }
    AuditLine line("reload");
    if (!error.empty()) {
      spdlog::error("nothing is reloaded, and the previous settings still hold: {}", error);
      logs_.audit.put(std::move(line.add("refused", "settings").add("why", error)).text());
      return;
    }
    const std::vector<std::string> changed = changes(settings_, *read);
    for (const std::string& each : changed) spdlog::info("reloaded: {}", each);
    if (!settings_.rules.empty() || !read->rules.empty()) spdlog::info("reloaded: {} rules", read->rules.size());
    if (changed.empty()) spdlog::info("reloaded: no setting has changed");
    logs_.audit.put(std::move(line.add("changes", changed.size())).text());
    settings_ = std::move(*read);
    if (server_) server_->set_limits(settings_.limits);
    if (token.empty()) return;
    spdlog::info("reloaded: the token in {} has changed; sessions with the old one end",
                 settings_.arguments.token_file);
    logs_.audit.put(AuditLine("own_token_replaced").text());
    token_ = std::move(token);
    if (server_) server_->set_token(token_);
  }
  /// Writes a new token into the token file, if there is one.
  std::expected<void, std::string> keep_token(const std::string& token) {
    const std::lock_guard lock(mutex_);
    if (!settings_.arguments.token_file.empty())
      if (auto written = write_token_file(settings_.arguments.token_file, token); !written) return written;
    token_ = token;
    return {};
  }
  /// Sets the server's own token, so that a later reload notices a change.
  void set_token(std::string token) {
    const std::lock_guard lock(mutex_);
    token_ = std::move(token);
  }
  /// Tells all sessions that the server will stop, and stops it.
  void drain() {
    const std::lock_guard lock(mutex_);
    if (!server_) return;
    const double seconds = settings_.arguments.drain_s;
    spdlog::info("no further sessions are accepted; stopping in {} s, or when no sessions are left", seconds);
    const std::string& resume_at = settings_.arguments.drain_to;
    logs_.audit.put(AuditLine("drain").add("seconds", seconds).add("resume_at", resume_at).text());
    server_->drain(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)),
                   resume_at);
  }
  /// Sets the server to which changes are applied, and gives it those since it was made. Null means
  /// none.
  void attach(Server* server) {
    const std::lock_guard lock(mutex_);
    server_ = server;
    if (!server_) return;
    server_->set_limits(settings_.limits);
    if (const std::string error = server_->set_rules(settings_.rules); !error.empty()) spdlog::error("{}", error);
  }

 private:
  const int argc_;
  const char* const* const argv_;
  const Logs& logs_;
  std::mutex mutex_;
  Settings settings_;
  std::string token_;
  Server* server_ = nullptr;
};

std::string status_of(const Server& server, const World& world) {
  const std::uint32_t sessions = server.sessions();
  const std::string hang = world.hang();
  return std::to_string(sessions) + (sessions == 1 ? " session" : " sessions") + ", durable to input " +
         std::to_string(world.durable_sequence()) + (hang.empty() ? "" : "; " + hang);
}

/// Returns true if SIGHUP reloads settings, log files and the certificate instead of stopping the
/// server.
bool reloads(const Arguments& arguments) {
  return arguments.self_signed || !arguments.certificate.empty() || !arguments.config.empty() ||
         !arguments.log_file.empty() || !arguments.audit_log.empty();
}

/// Checks what can be checked without opening the world: the schemas and the list of users.
std::string wrong_settings(const Settings& settings) {
  const auto schemas = read_schemas(settings.arguments);
  if (!schemas) return schemas.error().text;
  try {
    (void)Users({}, path_beside(settings.arguments.world) + "-users");
  } catch (const ServerError& error) {
    return error.what();
  }
  return {};
}

int serve(const Settings& settings, const Logs& logs, LiveSettings& live, Service& service) {
  const Arguments& arguments = settings.arguments;
  handle_faults();
  raise_descriptor_limit();
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
  listening.certificate = arguments.certificate;
  listening.key = arguments.key;
  listening.self_signed = arguments.self_signed;
  listening.certificate_asked = [] { return hangups.load(); };
  listening.proxies = arguments.proxies;
  listening.token = *token;
  listening.page_folder = arguments.page;
  if (!arguments.token_fixed) listening.keep_token = [&live](const std::string& own) { return live.keep_token(own); };
  listening.users_file = path_beside(arguments.world) + "-users";
  listening.tick_hashes = arguments.tick_hashes;
  listening.program = "muster-server " MUSTER_VERSION;
  listening.log_lines_lost = [&logs] { return logs.log.lost(); };
  listening.audit = [&logs](std::string line) { logs.audit.put(std::move(line)); };
  listening.audits = [&logs] { return logs.audit.writes(); };
  listening.audit_lines_lost = [&logs] { return logs.audit.lost(); };
  listening.log = [](const std::string& line) { spdlog::info("session: {}", line); };
  listening.warn = [](const std::string& line) { spdlog::warn("{}", line); };
  listening.plugins = served.plugins.get();
  listening.limits = settings.limits;
  listening.sleep_after = std::chrono::nanoseconds(static_cast<std::int64_t>(arguments.sleep_after_s * 1e9));
  listening.rules = settings.rules;
  listening.private_figures = arguments.private_figures;
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
  handle_signals(on_signal, reloads(arguments));
  service.start(reloads(arguments));
  if (arguments.stops_at_eof) stop_at_eof();

  for (bool first = true;; first = false) {
    std::optional<Server> server;
    try {
      server.emplace(*world, listening);
    } catch (const RulesError& error) {
      running = nullptr;
      return complain(exit_usage, error.what());
    } catch (const ServerError& error) {
      running = nullptr;
      return complain(arguments, error);
    }
    // Keep the address, so that clients find a reopened world.
    if (!server->address().empty()) listening.listen = server->address();

    // A log that is kept must not contain the token.
    const bool is_kept = logs.log.writes_file() || std::getenv("JOURNAL_STREAM");
    const std::string editor = server->editor_url();
    if (server->has_editor()) spdlog::info("editor {}", is_kept ? editor.substr(0, editor.find('#')) : editor);
    spdlog::info("{}: {} entities, {} types, {}", world->path(), world->registry().entity_count(),
                 world->registry().types().types().size(), is_new && first ? "a new world" : "opened");
    if (!server->address().empty()) spdlog::info("listening on {}", server->address());
    if (!server->fingerprint().empty()) spdlog::info("fingerprint {}", server->fingerprint());
    if (!server->unix_path().empty()) spdlog::info("listening on {}", server->unix_path());
    spdlog::info("token {}", is_kept ? "in " + world->path() + "-server.json" : server->token());
    live.set_token(server->token());
    live.attach(&*server);
    service.attach(*world, [&] { return status_of(*server, *world); });
    if (first) service.tell_ready();

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
    if (!again || was_signalled || world->stopped()) notify_service_manager("STOPPING=1");
    live.attach(nullptr);
    service.detach();
    listening.token = server->token();
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
  served.differences.finish();
  return served.differences.any() || served.recovery_differs ? exit_differs : exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  if (const int error = occupy_standard_descriptors(); error != 0) {
    std::fprintf(stderr, "muster-server: /dev/null cannot be opened: %s\n", std::strerror(error));
    return exit_usage;
  }
  const auto settings = read_settings(argc, argv);
  if (!settings) {
    const NoSettings& why = settings.error();
    std::fprintf(why.code == exit_done ? stdout : stderr, "%s\n", why.text.c_str());
    return why.code;
  }
  if (settings->arguments.check_config) {
    const std::string wrong = wrong_settings(*settings);
    if (wrong.empty()) return std::fputs(shown_settings(*settings).c_str(), stdout) >= 0 ? exit_done : exit_usage;
    std::fprintf(stderr, "%s\n", wrong.c_str());
    return exit_usage;
  }
  Service::hold_signals(reloads(settings->arguments));
  LogQueue log("muster-server");
  spdlog::set_pattern("%H:%M:%S.%e %^%l%$ %v");
  constexpr std::size_t audit_bytes_max = 4u << 20;
  const auto lost_line = [](std::uint64_t lost, int error) {
    const char* const why = error != 0 ? std::strerror(error) : "the disk was too slow";
    return AuditLine("lost").add("lines", lost).add("why", why).text();
  };
  LineQueue audit(false, audit_bytes_max, lost_line, [](const std::string& trouble) { spdlog::error("{}", trouble); });
  const Logs logs{log, audit};
  LiveSettings live(argc, argv, *settings, logs);
  int code = exit_usage;
  if (const std::string error = logs.open({}, settings->arguments); error.empty()) {
    Service service;
    service.at_reopen([&] { logs.reopen(); });
    service.at_reload([&] {
      hangups.fetch_add(1);
      live.reload();
    });
    service.at_drain([&] { live.drain(); });
    code = serve(*settings, logs, live, service);
  } else {
    spdlog::error("{}", error);
  }
  permit_exit();
  // If stderr is not read, the process ends without the remaining lines.
  const bool all_written = audit.drain(std::chrono::seconds(1));
  if (!log.drain(std::chrono::seconds(1)) || !all_written) end_process(code);
  return code;
}
