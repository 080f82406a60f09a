// The worlds of a host, and the processes that serve them. A world sleeps, without a process, until
// somebody visits it. Its server ends itself when the world has been without visitors and without
// work for a while (--sleep-after of muster-server).
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "messages/session.h"
#include "server/door/loop.h"
#include "server/host/child_process.h"
#include "server/host/host_fault.h"
#include "server/host/world_folders.h"

namespace muster::hosting {

struct WorldsOptions {
  std::string server_program = "muster-server";  ///< path of muster-server
  std::string file_program = "muster-file";      ///< path of muster-file, which copies worlds
  std::string token_file = {};                   ///< file with the host's token
  std::string socket_folder = {};                ///< folder for the Unix sockets of the worlds
  std::vector<std::string> arguments = {};       ///< arguments for each world's server
  double sleep_after_s = 60;
  /// Limit on the number of processes.
  std::uint32_t awake_max = 200;
  /// Time until a deletion is final.
  std::chrono::seconds keep_deleted = std::chrono::hours(24 * 7);
  std::function<void(const std::string&)> log = {}, warn = {};
};

enum class WorldState : std::uint8_t { asleep, waking, awake, falling_asleep };
const char* text_of(WorldState state);

struct WorldFacts {
  WorldOnDisk disk;
  WorldState state = WorldState::asleep;
  std::uint32_t visitors = 0;  ///< open connections
  std::uint64_t wakes = 0, failures = 0;
  std::string error = {};  ///< how the process failed most recently, or empty
  ProcessFigures process = {};
};

/// Must be used only on the loop's thread.
class Worlds {
 public:
  Worlds(boost::asio::io_context& io, Loop& loop, const WorldFolders& folders, WorldsOptions options);
  ~Worlds();
  Worlds(const Worlds&) = delete;
  Worlds& operator=(const Worlds&) = delete;

  /// Wakes the world, which must exist, and calls `then` with a socket that is connected to its
  /// server, or with a fault. The caller owns the socket.
  using Woken = std::move_only_function<void(std::expected<int, session::Fault>)>;
  void wake(const std::string& name, Woken then);
  /// Must be called when a visitor's connection to the world begins (1) and ends (-1).
  void count_visitor(const std::string& name, int change);

  using Done = std::move_only_function<void(std::expected<void, HostFault>)>;
  /// Creates a world by starting its server, and puts it to sleep.
  void create(const std::string& name, Done then);
  /// Copies a world, without its users, while it may be served.
  void copy(const std::string& name, const std::string& to, Done then);
  /// Ends the world's process, after a save. Visitors are told, and may wake the world again.
  void put_to_sleep(const std::string& name, Done then);
  /// Puts the world to sleep, and moves it to the deleted ones.
  void remove(const std::string& name, Done then);
  void restore(const std::string& id, Done then);

  /// Lists all worlds and the deleted ones.
  using Listed = std::move_only_function<void(std::vector<WorldFacts>, std::vector<DeletedWorld>)>;
  void list(Listed then);
  std::uint32_t processes() const noexcept { return processes_; }

  /// Ends all processes, and then calls `then`. A process that has not saved after `time` is
  /// killed; its journal has all edits that were acknowledged as durable.
  void stop(std::chrono::nanoseconds time, std::move_only_function<void()> then);

 private:
  struct Entry;
  struct Making;
  using Clock = std::chrono::steady_clock;

  Entry& entry(const std::string& name);
  void prepare(Entry& world);
  void launch(Entry& world, const std::vector<std::string>& own_arguments);
  void connect_when_ready(Entry& world, std::uint64_t process, std::chrono::milliseconds pause);
  void ended(Entry& world, const ProcessEnd& end);
  void give_up(Entry& world, const session::Fault& fault);
  void fail(Entry& world, const session::Fault& fault);
  bool make_room();
  void purge();
  void check_stopped();
  void after_work(std::move_only_function<std::expected<void, HostFault>()> work, Done then);
  void make_first(std::shared_ptr<Making> making);
  void end_when_ready(const std::shared_ptr<Making>& making, std::chrono::milliseconds pause);
  void made(std::shared_ptr<Making> making, const ProcessEnd& end);

  boost::asio::io_context& io_;
  Loop& loop_;
  const WorldFolders folders_;
  const WorldsOptions options_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  // Worlds that are being created or copied
  std::map<std::uint64_t, std::shared_ptr<Making>> making_;
  std::uint32_t processes_ = 0;
  std::uint64_t next_ = 1;  // number of the next process
  std::move_only_function<void()> stopped_;
  bool stopping_ = false;
  // Calls that arrive later than the destructor do nothing.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::hosting
