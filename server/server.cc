#include "server/server.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>

#include "server/desk/desk.h"
#include "server/door/address_file.h"
#include "server/door/listener.h"
#include "server/door/listening.h"
#include "server/page_folder.h"
#include "server/plugins/plugins.h"
#include "server/web/web_address.h"
#include "server/world/time/work_time.h"
#include "server/world/world.h"
#include "system/real_path.h"

namespace muster {
namespace {

std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  char here[4096];
  return ::getcwd(here, sizeof here) ? std::string(here) + "/" + path : path;
}

ListenerOptions listening(const ServerOptions& options) {
  if (options.listen.empty() && options.unix_path.empty())
    throw ServerError("neither an address nor a socket path to listen on");
  ListenerOptions made;
  made.listen = options.listen;
  made.unix_path = options.unix_path;
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
    if (options.token.empty()) options.token = draw_token();
    if (options.program.empty()) options.program = ::program_invocation_short_name;
    if (options.users_file.empty()) options.users_file = real_path(world.path()) + "-users";
    known.hz = world.hz();
    known.world = world.path().substr(world.path().rfind('/') + 1);
    known.program = options.program;
    known.durability = world.durability();
    known.autosave = world.autosave();
    known.watch_thread = true;
    fit_to_descriptors();
    desk.emplace(world.registry(), *this, options.limits);

    ListenerOptions door = listening(options);
    door.world_id = world.id();
    door.displaced = [this] { return world.displaced(); };
    door.resume_file = real_path(world.path()) + "-resume";
    door.page = page_of(options, true);
    has_editor = !door.page.empty();
    const std::string world_path = absolute(world.path());
    door.world_folder = world_path.substr(0, world_path.rfind('/'));
    door.world_file = known.world;
    listener.emplace(*desk, std::move(door));
    address = listener->address();
    if (options.address_file != "none")
      address_file.emplace(
          absolute(options.address_file.empty() ? real_path(world.path()) + "-server.json" : options.address_file),
          AddressEntry{world_path, address, absolute(options.unix_path), options.token, options.program});
    if (!address.empty()) editor_url = "http://" + address + "/#token=" + escaped(options.token);
    world.add_visitor(*desk);
  }

  ~Impl() {
    stop();
    world.remove_visitor(*desk);
  }

  void stop() {
    address_file.reset();
    listener->stop();
  }

 private:
  void fit_to_descriptors() {
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
    const ServerLimits fitted = fitted_to(options.limits, descriptors.rlim_cur);
    if (fitted.sessions_max < options.limits.sessions_max)
      warn("this process may open " + std::to_string(descriptors.rlim_cur) + " files, so there may be " +
           std::to_string(fitted.sessions_max) + " sessions instead of " + std::to_string(options.limits.sessions_max) +
           "; raise the limit with ulimit -n");
    options.limits = fitted;
  }
  const WorldFacts& facts() const noexcept override { return known; }
  void wake() override { world.wake(); }
  std::uint64_t log_lines_lost() const override { return options.log_lines_lost ? options.log_lines_lost() : 0; }
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
    return world.begin_save([then](const std::expected<CheckpointReport, WorldError>& saved) {
      then(saved ? Saved() : std::unexpected(std::string(saved.error().what())));
    });
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
  ServerOptions options;
  WorldFacts known;
  mutable FrequentProcessorClock processor_clock;
  std::optional<Desk> desk;
  std::optional<Listener> listener;  // destroyed before the desk
  std::optional<AddressFile> address_file;
  std::string address, editor_url;
  bool has_editor = false;
};

Server::Server(World& world, ServerOptions options) : impl_(std::make_unique<Impl>(world, std::move(options))) {}
Server::~Server() = default;
void Server::check(const ServerOptions& options) {
  (void)page_of(options, false);
  const ListenerOptions door = listening(options);
  check_listening(door.listen, options.unix_path);
  (void)Users(door.admissions, door.users_file);
}
const std::string& Server::address() const noexcept { return impl_->address; }
const std::string& Server::unix_path() const noexcept { return impl_->options.unix_path; }
const std::string& Server::token() const noexcept { return impl_->options.token; }
bool Server::has_editor() const noexcept { return impl_->has_editor; }
const char* Server::editor_url() const noexcept { return impl_->editor_url.c_str(); }
std::uint32_t Server::sessions() const noexcept { return impl_->desk->sessions(); }
void Server::stop() { impl_->stop(); }

}  // namespace muster
