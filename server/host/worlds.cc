#include "server/host/worlds.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "server/host/hello.h"
#include "server/host/world_name.h"
#include "system/held_lock.h"
#include "system/open_file.h"

namespace muster::hosting {
namespace {

constexpr std::chrono::milliseconds first_pause(1), pause_max(20);
// Time for which a world that another process holds is tried again, because the process of an
// earlier host may still be saving.
constexpr std::chrono::seconds held_time(10);
// A world whose process has failed is not woken again at once.
constexpr std::chrono::milliseconds first_rest(250);
constexpr std::chrono::seconds rest_max(30);
// A process that has served for this long ends a series of failures.
constexpr std::chrono::seconds healthy_time(10);
constexpr std::chrono::hours purge_every(1);
// Time for a process to save and end, before it is killed.
constexpr std::chrono::seconds ending_time(60);

/// Returns true if a process serves the world file (see server/world/file/lock.h).
bool is_held(const std::string& file) {
  const int lock = open_file((file + "-lock").c_str(), O_RDONLY);
  if (lock < 0) return false;
  const bool held = is_write_locked(lock);
  ::close(lock);
  return held;
}

/// Returns true once the server of a world file listens. Before that, it tries for a moment whether
/// it can listen on its socket.
bool is_listening(const std::string& file) { return ::access((file + "-server.json").c_str(), F_OK) == 0; }

/// Connects to a Unix socket without waiting. Returns -1 if there is no server.
int connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
  ::close(made);
  return -1;
}

session::Fault failed_fault(std::string text) {
  return ending_fault(session::FaultCode::failed, "world_failed", std::move(text));
}

std::int64_t now_s() { return static_cast<std::int64_t>(::time(nullptr)); }

}  // namespace

const char* text_of(WorldState state) {
  switch (state) {
    case WorldState::asleep: return "asleep";
    case WorldState::waking: return "waking";
    case WorldState::awake: return "awake";
    case WorldState::falling_asleep: return "falling asleep";
  }
  return "";
}

struct Worlds::Entry {
  std::string name;
  WorldState state = WorldState::asleep;
  std::unique_ptr<ChildProcess> process = {};
  std::uint64_t number = 0;  // of the process
  std::string socket = {};
  std::vector<Woken> waiting = {};
  std::vector<std::move_only_function<void()>> when_asleep = {};
  bool is_locked = false;  // being deleted
  std::uint32_t visitors = 0;
  std::uint64_t wakes = 0, failures = 0;
  std::uint32_t in_a_row = 0;  // failures
  std::string error = {}, last_line = {};
  Clock::time_point began = {}, rests_until = {}, left = {};
};

/// A world that is being created or copied by a program.
struct Worlds::Making {
  std::uint64_t number = 0;
  std::string name, folder, socket;
  std::unique_ptr<ChildProcess> process = {};
  std::string copied_from = {};  // empty if the world is created
  std::string last_line = {};
  Done then;
};

Worlds::Worlds(boost::asio::io_context& io, Loop& loop, const WorldFolders& folders, WorldsOptions options)
    : io_(io), loop_(loop), folders_(folders), options_(std::move(options)) {
  purge();
}

Worlds::~Worlds() { *alive_ = false; }

Worlds::Entry& Worlds::entry(const std::string& name) {
  auto& made = entries_[name];
  if (!made) {
    made = std::make_unique<Entry>();
    made->name = name;
  }
  return *made;
}

void Worlds::count_visitor(const std::string& name, int change) {
  Entry& world = entry(name);
  world.visitors += static_cast<std::uint32_t>(change);
  if (world.visitors == 0) world.left = Clock::now();
}

void Worlds::wake(const std::string& name, Woken then) {
  Entry& world = entry(name);
  if (stopping_) return then(std::unexpected(ending_fault(session::FaultCode::stopping, "stopping", "the host stops")));
  if (world.is_locked)
    return then(std::unexpected(ending_fault(session::FaultCode::not_found, "no_world",
                                             "the world " + shown_name(name) + " is being deleted")));
  if (world.state == WorldState::awake) {
    if (const int made = connected_to(world.socket); made >= 0) return then(made);
    // The process is ending by itself.
    world.state = WorldState::falling_asleep;
  }
  world.waiting.push_back(std::move(then));
  if (world.state != WorldState::asleep || world.waiting.size() > 1) return;
  const auto now = Clock::now();
  if (now < world.rests_until)
    return fail(world, failed_fault("the world " + shown_name(name) + " failed " + std::to_string(world.in_a_row) +
                                    " times in a row, and is tried again in a moment: " + world.error));
  if (processes_ >= options_.awake_max && !make_room())
    return fail(world, ending_fault(session::FaultCode::limit_exceeded, "awake_max",
                                    "this host has " + std::to_string(options_.awake_max) +
                                        " worlds awake, as many as it may have"));
  world.began = now;
  prepare(world);
}

bool Worlds::make_room() {
  Entry* longest = nullptr;
  for (const auto& [name, world] : entries_)
    if (world->state == WorldState::awake && world->visitors == 0 && (!longest || world->left < longest->left))
      longest = world.get();
  if (!longest) return false;
  put_to_sleep(longest->name, [](const auto&) {});
  return true;
}

/// Reads the world's own arguments, and waits until no other process serves the world.
void Worlds::prepare(Entry& world) {
  world.state = WorldState::waking;
  struct Read {
    std::expected<std::vector<std::string>, std::string> arguments;
    bool is_held = false;
  };
  auto read = std::make_shared<Read>();
  loop_.run_beside(
      Loop::Beside::files,
      [read, folders = folders_, name = world.name] {
        read->is_held = is_held(folders.file_of(name));
        read->arguments = folders.options_of(name);
      },
      [this, &world, read, alive = alive_] {
        if (!*alive) return;
        if (stopping_ || !world.when_asleep.empty())
          return give_up(world, ending_fault(session::FaultCode::stopping, "stopping", "the world is put to sleep"));
        if (!read->arguments) return give_up(world, failed_fault(read->arguments.error()));
        if (!read->is_held) return launch(world, *read->arguments);
        if (Clock::now() - world.began < held_time)
          return loop_.call_in(std::chrono::milliseconds(50), [this, &world, alive] {
            if (*alive) prepare(world);
          });
        give_up(world, failed_fault("the world " + shown_name(world.name) + " is served by another process"));
      });
}

void Worlds::launch(Entry& world, const std::vector<std::string>& own_arguments) {
  world.number = next_++;
  world.socket = options_.socket_folder + "/" + std::to_string(world.number);
  std::vector<std::string> arguments = {options_.server_program,
                                        folders_.file_of(world.name),
                                        "--existing",
                                        "--listen",
                                        "",
                                        "--unix",
                                        world.socket,
                                        "--token-file",
                                        options_.token_file,
                                        "--token-fixed",
                                        "--quiet",
                                        "--stop-at-eof",
                                        "--sleep-after",
                                        std::to_string(options_.sleep_after_s)};
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  arguments.insert(arguments.end(), own_arguments.begin(), own_arguments.end());
  world.last_line.clear();
  // Left over if the world's process was killed.
  ::unlink((folders_.file_of(world.name) + "-server.json").c_str());
  auto process = ChildProcess::start(io_, arguments,
                                     {[this, &world](const std::string& line) {
                                        world.last_line = line;
                                        if (options_.log) options_.log(world.name + ": " + line);
                                      },
                                      [this, &world](const ProcessEnd& end) { ended(world, end); }});
  if (!process) return give_up(world, failed_fault(process.error()));
  world.process = std::move(*process);
  ++world.wakes;
  ++processes_;
  connect_when_ready(world, world.number, first_pause);
}

/// Tries to connect until the server listens.
void Worlds::connect_when_ready(Entry& world, std::uint64_t process, std::chrono::milliseconds pause) {
  if (world.number != process || world.state != WorldState::waking) return;
  int made = is_listening(folders_.file_of(world.name)) ? connected_to(world.socket) : -1;
  if (made < 0)
    return loop_.call_in(pause, [this, &world, process, pause, alive = alive_] {
      if (*alive) connect_when_ready(world, process, std::min(pause * 2, pause_max));
    });
  world.state = WorldState::awake;
  world.left = Clock::now();
  std::vector<Woken> waiting = std::exchange(world.waiting, {});
  for (Woken& each : waiting) {
    if (made < 0) made = connected_to(world.socket);
    if (made >= 0)
      each(std::exchange(made, -1));
    else
      each(std::unexpected(failed_fault("the world " + shown_name(world.name) + " does not accept connections")));
  }
  if (made >= 0) ::close(made);
}

void Worlds::ended(Entry& world, const ProcessEnd& end) {
  const auto now = Clock::now();
  const bool was_starting = world.state == WorldState::waking;
  ::unlink(world.socket.c_str());
  world.process.reset();
  world.state = WorldState::asleep;
  --processes_;
  if (!end.is_clean() || was_starting) {
    if (now - world.began > healthy_time) world.in_a_row = 0;
    ++world.failures;
    ++world.in_a_row;
    world.error = "its server ended with " + end.text() + (world.last_line.empty() ? "" : ": " + world.last_line);
    const auto rest = first_rest * (std::int64_t{1} << std::min(world.in_a_row - 1, 10u));
    world.rests_until = now + std::min<Clock::duration>(rest, rest_max);
    if (options_.warn) options_.warn(world.name + ": " + world.error);
  } else {
    world.in_a_row = 0;
    world.error.clear();
  }
  for (auto& each : std::exchange(world.when_asleep, {})) each();
  if (stopping_ || was_starting)
    fail(world, stopping_ ? ending_fault(session::FaultCode::stopping, "stopping", "the host stops")
                          : failed_fault("the world " + shown_name(world.name) + " cannot be opened: " + world.error));
  if (world.state == WorldState::asleep && !world.waiting.empty() && !world.is_locked) {
    world.began = now;
    prepare(world);
  }
  check_stopped();
}

/// Lets a world sleep that was to be woken.
void Worlds::give_up(Entry& world, const session::Fault& fault) {
  world.state = WorldState::asleep;
  for (auto& each : std::exchange(world.when_asleep, {})) each();
  fail(world, fault);
}

void Worlds::fail(Entry& world, const session::Fault& fault) {
  for (Woken& each : std::exchange(world.waiting, {})) each(std::unexpected(fault));
}

void Worlds::put_to_sleep(const std::string& name, Done then) {
  Entry& world = entry(name);
  if (world.state == WorldState::asleep) return then({});
  world.when_asleep.push_back([then = std::move(then)]() mutable { then({}); });
  if (world.process) world.process->send(SIGTERM);
  if (world.state == WorldState::awake) world.state = WorldState::falling_asleep;
  loop_.call_in(ending_time, [this, &world, number = world.number, alive = alive_] {
    if (!*alive || world.number != number || !world.process) return;
    if (options_.warn) options_.warn(world.name + ": does not end, and is killed");
    world.process->send(SIGKILL);
  });
}

/// Calls `work` on the thread for files, and then `then`.
void Worlds::after_work(std::move_only_function<std::expected<void, HostFault>()> work, Done then) {
  auto result = std::make_shared<std::expected<void, HostFault>>();
  loop_.run_beside(
      Loop::Beside::files, [work = std::move(work), result]() mutable { *result = work(); },
      [then = std::move(then), result, alive = alive_]() mutable {
        if (*alive) then(*result);
      });
}

void Worlds::remove(const std::string& name, Done then) {
  Entry& world = entry(name);
  if (world.is_locked) return then(std::unexpected(HostFault{409, "the world is being deleted"}));
  world.is_locked = true;
  put_to_sleep(name, [this, name, then = std::move(then)](const auto&) mutable {
    fail(entry(name), ending_fault(session::FaultCode::not_found, "no_world",
                                   "the world " + shown_name(name) + " is being deleted"));
    after_work(
        [folders = folders_, name]() -> std::expected<void, HostFault> {
          const auto removed = folders.remove(name, now_s());
          if (!removed) return std::unexpected(removed.error());
          return {};
        },
        [this, name, then = std::move(then)](const std::expected<void, HostFault>& result) mutable {
          Entry& gone = entry(name);
          gone.is_locked = false;
          if (result) {
            gone.wakes = gone.failures = gone.in_a_row = 0;
            gone.error.clear();
          }
          then(result);
        });
  });
}

void Worlds::restore(const std::string& id, Done then) {
  after_work(
      [folders = folders_, id]() -> std::expected<void, HostFault> {
        const auto restored = folders.restore(id);
        if (!restored) return std::unexpected(restored.error());
        return {};
      },
      std::move(then));
}

void Worlds::create(const std::string& name, Done then) {
  auto making = std::make_shared<Making>(next_++, name);
  making->then = std::move(then);
  make_first(std::move(making));
}

void Worlds::copy(const std::string& name, const std::string& to, Done then) {
  auto making = std::make_shared<Making>(next_++, to);
  making->copied_from = name;
  making->then = std::move(then);
  make_first(std::move(making));
}

/// Makes the folder of a new world, and starts the program that makes the world in it.
void Worlds::make_first(std::shared_ptr<Making> making) {
  after_work(
      [making, folders = folders_]() -> std::expected<void, HostFault> {
        if (auto free = folders.check_free(making->name); !free) return free;
        auto folder = folders.begin_new();
        if (!folder) return std::unexpected(folder.error());
        making->folder = std::move(*folder);
        if (making->copied_from.empty()) return {};
        return folders.copy_other_files(making->copied_from, making->folder);
      },
      [this, making](const std::expected<void, HostFault>& result) {
        if (!result || stopping_) {
          if (!making->folder.empty()) folders_.drop_new(making->folder);
          return making->then(result ? std::unexpected(HostFault{503, "the host stops"}) : result);
        }
        const std::string file = making->folder + "/" + making->name + ".muster";
        making->socket = options_.socket_folder + "/" + std::to_string(making->number);
        std::vector<std::string> arguments;
        if (making->copied_from.empty()) {
          arguments = {
              options_.server_program, file,     "--new", "--listen", "", "--unix", making->socket, "--token-file",
              options_.token_file,     "--quiet"};
          arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
        } else {
          arguments = {options_.file_program, "backup", folders_.file_of(making->copied_from), file};
        }
        auto process = ChildProcess::start(io_, arguments,
                                           {[making](const std::string& line) { making->last_line = line; },
                                            [this, making](const ProcessEnd& end) { made(making, end); }});
        if (!process) {
          folders_.drop_new(making->folder);
          return making->then(std::unexpected(HostFault{500, process.error()}));
        }
        making->process = std::move(*process);
        making_[making->number] = making;
        if (making->copied_from.empty()) end_when_ready(making, first_pause);
      });
}

/// Ends the server of a new world, after a save, as soon as it listens.
void Worlds::end_when_ready(const std::shared_ptr<Making>& making, std::chrono::milliseconds pause) {
  if (!making_.contains(making->number)) return;
  if (is_listening(making->folder + "/" + making->name + ".muster")) return making->process->send(SIGTERM);
  loop_.call_in(pause, [this, making, pause, alive = alive_] {
    if (*alive) end_when_ready(making, std::min(pause * 2, pause_max));
  });
}

void Worlds::made(std::shared_ptr<Making> making, const ProcessEnd& end) {
  making_.erase(making->number);
  ::unlink(making->socket.c_str());
  const std::string fault = end.is_clean() ? "" : "the world cannot be made: " + making->last_line;
  const bool is_copied = !making->copied_from.empty();
  after_work(
      [making, folders = folders_, fault, is_copied]() -> std::expected<void, HostFault> {
        if (!fault.empty()) {
          folders.drop_new(making->folder);
          return std::unexpected(HostFault{is_copied && !folders.has(making->copied_from) ? 404u : 500u, fault});
        }
        // A backup has the users, but a copy is a world of its own.
        if (is_copied) ::unlink((making->folder + "/" + making->name + ".muster-users").c_str());
        auto finished = folders.finish_new(making->folder, making->name);
        if (!finished) folders.drop_new(making->folder);
        return finished;
      },
      std::move(making->then));
  // Breaks the circle between the process and what its events hold.
  loop_.post([making] { making->process.reset(); });
}

void Worlds::list(Listed then) {
  struct Disk {
    std::vector<WorldOnDisk> worlds;
    std::vector<DeletedWorld> deleted;
  };
  auto disk = std::make_shared<Disk>();
  loop_.run_beside(
      Loop::Beside::files,
      [disk, folders = folders_] {
        disk->worlds = folders.worlds();
        disk->deleted = folders.deleted();
      },
      [this, disk, then = std::move(then), alive = alive_]() mutable {
        if (!*alive) return;
        std::vector<WorldFacts> all;
        for (WorldOnDisk& world : disk->worlds) {
          WorldFacts facts{.disk = std::move(world)};
          if (const auto found = entries_.find(facts.disk.name); found != entries_.end()) {
            const Entry& known = *found->second;
            facts.state = known.state;
            facts.visitors = known.visitors;
            facts.wakes = known.wakes;
            facts.failures = known.failures;
            facts.error = known.error;
            if (known.process) facts.process = figures_of_process(known.process->process());
          }
          all.push_back(std::move(facts));
        }
        then(std::move(all), std::move(disk->deleted));
      });
}

void Worlds::purge() {
  loop_.run_beside(
      Loop::Beside::files,
      [folders = folders_, before = now_s() - options_.keep_deleted.count(), log = options_.log] {
        for (const std::string& name : folders.purge(before))
          if (log) log("the deleted world " + shown_name(name) + " is removed for good");
      },
      [this, alive = alive_] {
        if (!*alive) return;
        loop_.call_in(purge_every, [this, alive] {
          if (*alive) purge();
        });
      });
}

void Worlds::stop(std::chrono::nanoseconds time, std::move_only_function<void()> then) {
  stopping_ = true;
  stopped_ = std::move(then);
  for (const auto& [name, world] : entries_) {
    if (!world->process) continue;
    world->process->send(SIGTERM);
    world->state = WorldState::falling_asleep;
  }
  loop_.call_in(time, [this, alive = alive_] {
    if (!*alive) return;
    for (const auto& [name, world] : entries_)
      if (world->process) world->process->send(SIGKILL);
  });
  loop_.post([this, alive = alive_] {
    if (*alive) check_stopped();
  });
}

void Worlds::check_stopped() {
  if (!stopping_ || processes_ > 0 || !stopped_) return;
  std::exchange(stopped_, nullptr)();
}

}  // namespace muster::hosting
