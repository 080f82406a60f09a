// The parts of a World, for the files that implement it.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/history/edit_history.h"
#include "registry/history/run_history.h"
#include "registry/host.h"
#include "registry/moments/moments.h"
#include "schema/hash.h"
#include "server/world/journal/applied_requests.h"
#include "server/world/journal/code_identity.h"
#include "server/world/journal/work_mark.h"
#include "server/world/saving/saver.h"
#include "server/world/store/store.h"
#include "server/world/time/host_calls.h"
#include "server/world/time/polling.h"
#include "server/world/time/stop_signals.h"
#include "server/world/time/wake.h"
#include "server/world/time/watchdog.h"
#include "server/world/time/work_time.h"
#include "server/world/world.h"
#include "system/random_id.h"

namespace muster {

struct World::Impl {
  using Clock = Wake::Clock;

  std::atomic<bool> stopped{false};
  static_assert(std::atomic<bool>::is_always_lock_free);  // signal handlers call stop()
  std::shared_ptr<Wake> wake = std::make_shared<Wake>();  // shared with code on other threads
  std::unique_ptr<StopSignals> signals;                   // null unless the option is set

  // The order of these members ensures that the file, with its lock, is destroyed after its users,
  // and that handlers are destroyed before the registry.
  std::unique_ptr<Store> file;
  WorldOptions options;
  std::atomic<std::uint64_t> epoch = random_id();
  WorkMark mark;
  // Null if there is one worker or if the host has its own executor.
  std::unique_ptr<ThreadPool> pool;
  EntityRegistry registry;
  EditHistory history;  // the registry's edit log
  AppliedRequests applied;
  Handlers handlers;
  std::vector<FlushVisitor*> visitors;
  LoadReport load_report;
  RecoveryReport recovery;
  std::vector<std::vector<std::byte>> saved_schemas;  // kept until the journal has been read

  // Grants to sessions and threads that existed before the world was loaded.
  std::vector<std::pair<Entity, std::uint32_t>> left_grants;

  std::uint64_t tick = 0;
  Pacer pacer;
  Polling polling;
  HostCalls calls;
  bool ended = false;  // true if the inbox has been taken for the last time
  TimeCounts tick_times;
  std::uint64_t code_mark = 0;  // identifies the code and the installed handlers
  std::string stands;           // the reason why the world is stopped, or empty
  std::uint64_t stands_before = 0;
  std::optional<std::uint64_t> tick_begun_ns;  // processor time
  std::vector<std::function<void()>> acts;     // for the beginning of the next flush
  std::optional<Run> run;
  std::vector<KeepReport> kept;   // by the end of the last run
  std::optional<Moments> copies;  // of the level, during a run
  Moment level_moment;
  Pace level_pace;  // pace of the clock to which the end of the run returns
  // Steps of the run, or of the last one, in the file.
  std::optional<RunSteps> run_steps;
  // Of the last run, whose steps stay in the file until the next one
  RunHistory last_run{registry};

  // True if the registry's clock is left running. Used only without hz.
  bool timers_wait = false;
  Saver saver;                       // once the world is open, only the saver uses the file
  std::optional<Watchdog> watchdog;  // observes the registry; may have no value

  Impl(const std::string& path, WorldOptions given);

  CheckpointStamp stamp() const {
    return {.sequence = registry.sequence(),
            .tick = tick,
            .code = options.code,
            .types_fingerprint = registry.types().fingerprint(),
            .types = registry.types().types(),
            .requests = applied.text(),
            .only_if_changed = true};
  }
  /// Reads the history from the file.
  void read_history();
  void recover();
  /// Starts marking inputs as they are handled, if the world has a file.
  void begin_marking() {
    if (!mark.is_open() && !file->is_new()) mark.open(file->beside(), file->meta().world, code_mark);
  }
  std::uint64_t marked_code() const { return hash64(code_identity(options.code, registry)); }
  /// Describes the input that was being handled, as far as the marks show.
  std::string marked(const WorkSuspect& at) const;
  /// Returns true if the clock will create this input again, even without a journal.
  bool comes_again(const WorkSuspect& at) const;
  /// Describes timed messages that are due in this input, and explains how to cancel them. Returns
  /// an empty string if there are none.
  std::string due_in(const WorkSuspect& at) const;
  void stop_before(const WorkSuspect& at);
  /// Returns the length of a tick in whole ns of the registry's clock. Lengths vary so that the sum
  /// of all ticks is exact.
  std::uint64_t tick_ns(std::uint64_t number) const {
    const auto end = [&](std::uint64_t ticks) { return std::floor(static_cast<double>(ticks) * 1e9 / options.hz); };
    return static_cast<std::uint64_t>(end(number) - end(number - 1));
  }
  /// Sets the limits that the options demand. Returns true if the state had others.
  bool set_bounds() {
    CascadeBounds bounds = registry.host().bounds();
    if (options.carried_messages_max != 0) bounds.carried_messages_max = options.carried_messages_max;
    if (options.carried_bytes_max != 0) bounds.carried_bytes_max = options.carried_bytes_max;
    if (bounds == registry.host().bounds()) return false;
    registry.host().set_bounds(bounds);
    return true;
  }
  void flush();
  /// Gives the registry the state of the level, except for the sequence.
  std::expected<void, WorldError> return_to_level();
  std::expected<void, WorldError> play();
  std::expected<void, WorldError> stop_playing();
  std::expected<KeepReport, std::string> keep(const KeepSelection& selection, Sender by);
  /// Applies selected edits of the last run to the level.
  std::expected<KeepReport, std::string> apply_kept(const KeepSelection& selection, const Sender& by);
  void begin_epoch(bool replaced);
  // --- server/world/restore.cc ---
  /// Waits until the file is not in use, and returns Store::past().
  std::expected<std::vector<FilePast>, WorldError> kept_past();
  struct RestorePlan {
    FilePast from, present;
    std::uint64_t stop_before = 0;  ///< the first input that is not done again; 0 if there is none
  };
  /// Finds how to make a state. Changes nothing. If `checkpoint` is not 0 and a time is given, that
  /// checkpoint is meant.
  std::expected<RestorePlan, WorldError> plan_restore(const RestoreTarget& target, std::uint64_t checkpoint = 0);
  /// Gives the registry and the tick the planned state. Returns the number of inputs that were done
  /// again. After an error, the state is undefined.
  std::expected<std::uint64_t, WorldError> make_past(const RestorePlan& plan);
  std::expected<Restored, WorldError> restore(const RestoreTarget& target);
  /// Performs a flush. Returns false if the inbox was taken for the last time.
  bool flush_and_go_on() {
    flush();
    ended = stopped.load(std::memory_order_acquire);
    return !ended;
  }
  Frame next_tick_frame();
  void run_until_stopped();
  Frame poll(std::optional<std::chrono::duration<double, std::nano>> elapsed);
  /// Makes a tick, and advances the clock by the frame's time.
  Frame make_tick(std::uint64_t ns, float dt, std::uint64_t late_ns);
  /// Sleeps until `until`, and periodically checks the file. Returns true if the thread is woken
  /// earlier.
  bool sleep(std::optional<Clock::time_point> until);
};

}  // namespace muster
