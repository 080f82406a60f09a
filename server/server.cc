#include "server/server.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "server/access/address_file.h"
#include "server/desk/desk.h"
#include "server/desk/shared_saves.h"
#include "server/door/listener.h"
#include "server/door/listening.h"
#include "server/page_folder.h"
#include "server/plugins/plugins.h"
#include "server/web/host_rules.h"
#include "server/web/web_address.h"
#include "server/world/time/work_time.h"
#include "server/world/world.h"
#include "system/descriptor_limit.h"
#include "system/mutex.h"
#include "system/percent_encoding.h"
#include "system/real_path.h"

namespace muster {
namespace {

std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  char here[4096];
  return ::getcwd(here, sizeof here) ? std::string(here) + "/" + path : path;
}

bool has_tls(const ServerOptions& options) {
  return options.self_signed || !options.certificate.empty() || !options.key.empty();
}

/// Throws if the options for TLS contradict each other, or if the certificate cannot be read.
void check_tls(const ServerOptions& options) {
  if (options.self_signed && !(options.certificate.empty() && options.key.empty()))
    throw ServerError("a certificate (--cert, --key) and a self-signed one (--self-signed) exclude each other");
  if (has_tls(options) && !is_built_with_tls())
    throw ServerError("this program was built without TLS (option tls of its build)");
  if (has_tls(options) && options.listen.empty()) throw ServerError("TLS needs an address to listen on");
  for (const std::string& proxy : options.proxies)
    if (!is_ip_address(proxy)) throw ServerError("--behind-proxy: '" + proxy + "' is not an IP address");
  if (!options.self_signed) (void)read_identity({options.certificate, options.key});
}

/// Returns the address under which programs on this machine reach a server that listens on all.
std::string local_address(const std::string& address) {
  for (const char* all : {"0.0.0.0:", "[::]:"})
    if (address.starts_with(all)) return "127.0.0.1:" + address.substr(std::string_view(all).size());
  return address;
}

ListenerOptions listening(const ServerOptions& options) {
  if (options.listen.empty() && options.unix_path.empty())
    throw ServerError("neither an address nor a socket path to listen on");
  ListenerOptions made;
  made.listen = options.listen;
  made.unix_path = options.unix_path;
  made.proxies = options.proxies;
  made.rules = options.rules;
  made.private_figures = options.private_figures;
  made.log = options.log;
  made.warn = options.warn;
  if (options.users_file != "none") made.users_file = absolute(options.users_file);
  made.admissions.push_back({options.token, session::Role::admin});
  return made;
}

/// Reads the editor's page. A caller that only checks for an error passes false for `compress`.
PageFiles page_of(const ServerOptions& options, bool compress) {
  const std::string folder = options.page_folder.empty() ? default_page_folder() : options.page_folder;
  if (options.listen.empty() || folder.empty() || options.page_folder == "none") return {};
  auto page = PageFiles::read(folder, compress);
  if (!page) throw ServerError(page.error());
  return std::move(*page);
}

}  // namespace

/// Implements WorldSide, the desk's interface to the world, for one server.
struct Server::Impl final : WorldSide {
  Impl(World& the_world, ServerOptions the_options) : world(the_world), options(std::move(the_options)) {
    const bool is_random = options.token.empty();
    if (is_random) options.token = draw_token();
    if (options.program.empty()) options.program = ::program_invocation_short_name;
    if (options.users_file.empty()) options.users_file = world.beside() + "-users";
    known.hz = world.hz();
    known.world = world.path().substr(world.path().rfind('/') + 1);
    known.program = options.program;
    known.durability = world.durability();
    known.autosave = world.autosave();
    known.watch_thread = true;
    options.limits = fit_to_descriptors(options.limits);
    desk.emplace(world.registry(), *this, options.limits);

    if (const std::string wrong = wrong_rules(options.rules); !wrong.empty()) throw RulesError(wrong);
    ListenerOptions door = listening(options);
    door.world_id = world.id();
    door.displaced = [this] { return world.displaced(); };
    door.keep_own_token = [this, is_random](const std::string& token) { return keep(token, is_random); };
    door.publish_own_token = [this](const std::string& token, std::function<void()> then) {
      set_token(token, std::move(then));
    };
    door.drained = [this] { world.stop(); };
    door.resume_file = world.beside() + "-resume";
    door.page = page_of(options, true);
    has_editor = !door.page.empty();
    // A world that is not in a file has other files on this machine.
    const bool is_file = world.beside() == real_path(world.path());
    const std::string world_path = is_file ? absolute(world.path()) : world.beside();
    door.world_folder = world_path.substr(0, world_path.rfind('/'));
    door.world_file = world_path.substr(world_path.rfind('/') + 1);
    door.tick_hashes = options.tick_hashes;
    check_tls(options);
    door.tls = {absolute(options.certificate), absolute(options.key), options.certificate_asked,
                [this](const TlsIdentity& identity) { renew(identity); }};
    if (options.self_signed) {
      door.tls.certificate = door.tls.key = world.beside() + "-tls.pem";
      if (const auto made = make_self_signed(door.tls.key, hosts_of_self(options.listen)); !made)
        throw ServerError(made.error());
    }
    const auto identity = read_identity(door.tls);
    if (identity) fingerprint = identity->fingerprint();
    listener.emplace(*desk, std::move(door));
    address = listener->address();
    {
      const MutexLock lock(address_mutex);
      entry = {world_path,    local_address(address), absolute(options.unix_path),
               options.token, options.program,        fingerprint};
    }
    if (!address.empty()) browser_address = identity ? "https://" + host_for_browsers(*identity) : "http://" + address;
    publish();
    world.add_visitor(saves);
    world.add_visitor(*desk);
    if (options.sleep_after.count() > 0) look_for_sleep();
  }

  ~Impl() {
    stop();
    world.remove_visitor(*desk);
    world.remove_visitor(saves);
  }

  void stop() {
    {
      const MutexLock lock(address_mutex);
      address_file.reset();
    }
    listener->stop();
  }
  void drain(std::chrono::nanoseconds time, const std::string& resume_at) {
    listener->drain(time, resume_at, [this] { world.stop(); });
  }
  /// Writes the address file.
  void publish() {
    if (!address.empty()) editor_url = browser_address + "/#token=" + escaped(options.token);
    if (options.address_file == "none") return;
    const MutexLock lock(address_mutex);
    entry.token = options.token;
    if (address_file) return address_file->rewrite(entry);
    address_file.emplace(
        absolute(options.address_file.empty() ? world.beside() + "-server.json" : options.address_file), entry);
  }
  std::string wrong_rules(const std::vector<AccessRule>& rules) const {
    if (rules.empty()) return {};
    if (std::string wrong = wrong_types(rules, *desk->types()); !wrong.empty()) return wrong;
    std::vector<std::string> names;
    if (options.users_file != "none") {
      const Users users({}, absolute(options.users_file));
      // Revoked users are among them, so that a revocation makes no rule wrong.
      for (const User& user : users.all()) names.push_back(user.name);
    }
    return wrong_users(rules, names);
  }
  std::string set_rules(std::vector<AccessRule> rules) {
    try {
      if (std::string wrong = wrong_rules(rules); !wrong.empty()) return wrong;
    } catch (const ServerError& error) {
      return error.what();
    }
    desk->at_rest([this, rules = std::move(rules)] {
      world_thread.is_here();
      listener->set_rules(rules);
    });
    return {};
  }
  void set_token(const std::string& token, std::function<void()> then = {}) {
    desk->at_rest([this, token, then = std::move(then)] {
      options.token = token;
      try {
        publish();
      } catch (const ServerError& error) {
        warn(error.what());
      }
      listener->set_own_token(token, then);
    });
  }
  void set_limits(const ServerLimits& limits) { desk->set_limits(fit_to_descriptors(limits)); }

 private:
  /// Stores a new token of the server. Called on a thread that may wait for the disk.
  std::expected<void, UserFault> keep(const std::string& token, bool is_random) const {
    if (options.keep_token) {
      if (auto kept = options.keep_token(token); !kept)
        return std::unexpected(UserFault{"token_file", std::move(kept.error())});
    } else if (!is_random) {
      return std::unexpected(
          UserFault{"token_given", "the program that started this server has given it its token, and keeps it"});
    }
    return {};
  }
  /// Returns the host and port for links. On an address that other machines reach, it is the first
  /// name for which the certificate is valid.
  std::string host_for_browsers(const TlsIdentity& identity) const {
    const std::string port = address.substr(address.rfind(':'));
    if (address.starts_with("127.") || address.starts_with("[::1]")) return address;
    for (const std::string& name : identity.names())
      if (name != "localhost" && !name.starts_with("*")) return name + port;
    return local_address(address);
  }
  /// Tells clients on this machine the fingerprint of a new certificate. Called on the listener's
  /// thread.
  void renew(const TlsIdentity& identity) {
    const MutexLock lock(address_mutex);
    if (!address_file) return;
    entry.fingerprint = identity.fingerprint();
    try {
      address_file->rewrite(entry);
    } catch (const ServerError& error) {
      warn(error.what());
    }
  }
  /// Looks again and again whether the world may sleep. Called on the listener's thread, and first
  /// by the constructor.
  void look_for_sleep() {
    using namespace std::chrono_literals;
    const auto pause = std::clamp<std::chrono::nanoseconds>(options.sleep_after / 8, 10ms, 1s);
    listener->call_in(pause, [this] {
      const auto now = std::chrono::steady_clock::now();
      if (desk->sessions() > 0) needed = now;
      if (now - needed >= options.sleep_after)
        desk->ask_figures([this](const Figures& figures) {
          const Pace pace = world.pace();
          const bool advances = !pace.paused && (world.hz() > 0 || figures.timers > 0);
          if (!advances && figures.sessions == 0 && figures.questions == 0 && figures.carried_bytes == 0) world.stop();
        });
      look_for_sleep();
    });
  }
  ServerLimits fit_to_descriptors(const ServerLimits& limits) {
    const auto descriptors = descriptor_limit();
    if (!descriptors) return limits;
    const ServerLimits fitted = fitted_to(limits, *descriptors);
    if (fitted.sessions_max < limits.sessions_max)
      warn("this process may open " + std::to_string(*descriptors) + " files, so there may be " +
           std::to_string(fitted.sessions_max) + " sessions instead of " + std::to_string(limits.sessions_max) +
           "; raise the limit with ulimit -n");
    return fitted;
  }
  const WorldFacts& facts() const noexcept override { return known; }
  void wake() override { world.wake(); }
  std::uint64_t log_lines_lost() const override { return options.log_lines_lost ? options.log_lines_lost() : 0; }
  bool audits() const noexcept override { return options.audit && options.audits && options.audits(); }
  void audit(std::string line) const override {
    if (options.audit) options.audit(std::move(line));
  }
  std::uint64_t audit_lines_lost() const override { return options.audit_lines_lost ? options.audit_lines_lost() : 0; }
  void while_listener_rests(const std::function<void()>& act) override {
    if (listener) return listener->while_resting(act);
    act();
  }
  void tell_types(const TypeTable& types) override {
    world_thread.is_here();
    if (listener) listener->learn_types(types);
  }
  void wake_in(std::chrono::nanoseconds time) override {
    if (listener) listener->call_in(time, [this] { world.wake(); });
  }
  void warn(const std::string& line) override {
    if (const auto& log = options.warn ? options.warn : options.log) log(line);
  }
  std::uint64_t durable_sequence() const override { return world.durable_sequence(); }
  std::uint64_t saved_sequence() const override { return world.saved_sequence(); }
  std::uint64_t processor_ns() const override { return processor_clock.now_ns(); }
  std::string hang() const override { return world.hang(); }
  bool begin_save(const std::function<void(Saved)>& then) override {
    saves.ask(then);
    return true;
  }
  const std::string* recording_error() const override { return world.recording_error(); }
  const std::string* save_error() const override { return world.autosave_error(); }
  EditHistory* history() override { return &world.history(); }
  std::uint64_t journal_bytes() const override { return world.journal_bytes(); }
  std::string size_warning() const override { return world.size_warning(); }
  std::uint64_t epoch() const override { return world.epoch(); }
  std::uint64_t lineage() const override { return world.lineage(); }
  AppliedRequests* applied_requests() override { return &world.applied_requests(); }
  std::optional<Run> run() const override { return world.run(); }
  void set_run(bool on, RunDone then) override {
    world.at_next_flush([this, on, then = std::move(then)] {
      const auto done = on ? world.play() : world.stop_playing();
      if (done && options.log) options.log(on ? "a run began" : "the run ended; the world is the level again");
      then(done ? std::expected<void, std::string>() : std::unexpected(done.error().detail()));
    });
  }
  std::expected<std::vector<KeptPast>, std::string> past() override {
    auto past = world.past();
    if (!past) return std::unexpected(past.error().detail());
    return std::move(*past);
  }
  void restore(const RestoreTarget& target, PastDone then) override {
    world.at_next_flush([this, target, then = std::move(then)] {
      auto done = world.restore(target);
      if (!done) return then(std::unexpected(done.error().detail()));
      if (options.log) options.log("the state of tick " + std::to_string(done->tick) + " was restored");
      then(std::move(*done));
    });
  }
  std::vector<KeepReport> kept() const override { return world.kept(); }
  std::vector<RunEdit> run_edits(std::uint32_t offset, std::uint32_t limit) const override {
    return world.run_edits(offset, limit);
  }
  std::expected<KeepReport, std::string> keep(const KeepSelection& selection, const Sender& by) override {
    return world.keep(selection, by);
  }
  std::optional<Pace> pace() const override { return world.pace(); }
  std::expected<void, PaceFault> set_pace(const Pace& pace) override { return world.set_pace(pace); }
  std::uint64_t tick() const override { return world.tick(); }
  const TimeCounts* tick_times() const override { return &world.tick_times(); }
  std::vector<std::string> plugins() const override {
    std::vector<std::string> all;
    if (options.plugins)
      for (const auto& [name, build] : options.plugins->list()) all.push_back(name + ": " + build);
    return all;
  }
  std::expected<std::vector<ReloadedPlugin>, std::string> reload(std::string_view which) override {
    if (!options.plugins) return WorldSide::reload(which);
    // Until this call, the recorded code is that of the previous build.
    world.set_code(options.plugins->code(options.program));
    std::vector<std::string> opened_again;  // descriptions of the types that would be converted
    std::expected<std::vector<ReloadedPlugin>, std::string> done =
        options.plugins->reload(world.registry(), which, options.open_again ? &opened_again : nullptr);
    if (!opened_again.empty())
      if (const auto saved = world.try_save(); !saved)
        done = std::unexpected(std::string("the world cannot be saved before it is reopened: ") + saved.error().what());
    if (done && opened_again.empty()) world.set_code(options.plugins->code(options.program));
    if (options.log && !done) options.log("not reloaded: " + done.error());
    if (options.log && done)
      for (const ReloadedPlugin& each : *done)
        options.log((opened_again.empty() ? "reloaded " : "to be reloaded ") + each.name + ": " + each.build_before +
                    " -> " + each.build);
    if (done && !opened_again.empty()) {
      for (const std::string& change : opened_again)
        if (options.log) options.log("the world is reopened to convert " + change);
      options.open_again();
    }
    return done;
  }

 public:
  World& world;
  SharedSaves saves{{.begin =
                         [this](const SharedSaves::Then& then) {
                           return world.begin_save([then](const std::expected<CheckpointReport, WorldError>& saved) {
                             then(saved ? Saved() : std::unexpected(std::string(saved.error().what())));
                           });
                         },
                     .sequence = [this] { return world.registry().sequence(); },
                     .saved = [this] { return world.saved_sequence(); }}};
  ServerOptions options;
  WorldFacts known;
  mutable FrequentProcessorClock processor_clock;
  std::optional<Desk> desk;
  std::optional<Listener> listener;  // destroyed before the desk
  Mutex address_mutex;
  std::optional<AddressFile> address_file MUSTER_GUARDED_BY(address_mutex);
  AddressEntry entry MUSTER_GUARDED_BY(address_mutex);
  std::string address, browser_address, editor_url, fingerprint;
  // When there was a session most recently.
  std::chrono::steady_clock::time_point needed = std::chrono::steady_clock::now();
  bool has_editor = false;
};

Server::Server(World& world, ServerOptions options) : impl_(std::make_unique<Impl>(world, std::move(options))) {}
Server::~Server() = default;
void Server::check(const ServerOptions& options) {
  (void)page_of(options, false);
  const ListenerOptions door = listening(options);
  check_tls(options);
  check_listening(door.listen, options.unix_path, has_tls(options));
  (void)Users(door.admissions, door.users_file);
}
const std::string& Server::address() const noexcept { return impl_->address; }
const std::string& Server::unix_path() const noexcept { return impl_->options.unix_path; }
const std::string& Server::fingerprint() const noexcept { return impl_->fingerprint; }
const std::string& Server::token() const noexcept { return impl_->options.token; }
bool Server::has_editor() const noexcept { return impl_->has_editor; }
const char* Server::editor_url() const noexcept { return impl_->editor_url.c_str(); }
std::uint32_t Server::sessions() const noexcept { return impl_->desk->sessions(); }
void Server::set_limits(const ServerLimits& limits) { impl_->set_limits(limits); }
std::string Server::set_rules(std::vector<AccessRule> rules) { return impl_->set_rules(std::move(rules)); }
void Server::set_token(const std::string& token) { impl_->set_token(token); }
void Server::drain(std::chrono::nanoseconds time, const std::string& resume_at) { impl_->drain(time, resume_at); }
void Server::stop() { impl_->stop(); }

}  // namespace muster
