// Defines World, which combines a registry with its file. A World opens or creates the file, runs
// the registry tick by tick, and saves it.
//
//   muster::World world("level1.muster", install, {.hz = 60, .stop_on_signals = true});
//   if (world.is_new()) { ... fill world.registry() ...; world.save(); }
//   while (auto frame = world.next_frame()) world.registry().push(muster::Update{.dt = frame.dt});
//
// A host with its own loop, such as an engine, calls poll() instead of next_frame(); see
// docs/embedding.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "registry/apply/edit_log.h"
#include "registry/entity_registry.h"
#include "registry/history/kept_edits.h"
#include "registry/state/state.h"
#include "server/world/flush_visitor.h"
#include "server/world/journal/recovery.h"
#include "server/world/restored.h"
#include "server/world/run.h"
#include "server/world/saving/durability.h"
#include "server/world/store/checkpoint_report.h"
#include "server/world/store/world_error.h"
#include "server/world/time/pacer.h"
#include "server/world/time/work_time.h"

namespace muster {

class AppliedRequests;  // server/world/journal/applied_requests.h
class EditHistory;      // registry/history/edit_history.h
class Store;            // server/world/store/store.h

struct WorldOptions {
  double hz = 0;  ///< ticks per second; 0 means events only, or frames of any length

  /// If true, SIGINT (Ctrl-C) and SIGTERM call World::stop. This applies from the start of the
  /// constructor to the end of the destructor, even if the program was started with these signals
  /// ignored. The first signal also restores the handler that the program had before, so that a
  /// second signal ends a program that hangs. The destructor restores both handlers. Several worlds
  /// may use this option; a signal stops all of them.
  bool stop_on_signals = false;
  OpenMode open = OpenMode::open_or_create;
  /// Opens the world in a store other than a file, such as PostgreSQL, by its name. If null, the
  /// world's path names a file.
  std::function<std::expected<std::unique_ptr<Store>, WorldError>(const std::string& name, const StoreOptions& options)>
      open_store = {};
  /// If true, the world is opened as a level: a run that was on is ended (World::stop_playing), and
  /// the clock is paused until play() or set_pace(). Otherwise, a run that was on continues.
  bool level = false;
  /// Identity of code outside the running program that affects handlers. Stored with every
  /// checkpoint and journal group; see code_identity().
  std::string code = {};
  /// Determines what is guaranteed to survive a crash between saves. Unless the value is
  /// Durability::checkpoint, the first call to next_frame or poll saves a new world, because only a
  /// world with a file can record its inputs.
  Durability durability = Durability::batched;

  /// Time from a save to the next automatic save if the world has changed, where 0 means never.
  /// The actual time is at least fifty times the time that it took to begin the previous save.
  std::chrono::nanoseconds autosave = std::chrono::seconds(2);
  /// Limit on the number of journal bytes since the last save, where 0 means unlimited. At 80 %,
  /// a save begins regardless of `autosave`. At 100 %, the world waits for that save, and
  /// recording stops if the save fails (see recording_error()). `on_warning` is also called if
  /// held_bytes() reaches 80 % of this limit.
  std::uint64_t journal_bytes_max = 256u << 20;
  /// Limit on the total size of the copies of columns that change before a running save has
  /// written them. At the limit, the save is abandoned and restarted, which is reported to
  /// `on_warning`. After three saves in a row are abandoned, the world waits for the next one. At
  /// most an eighth of this memory stays allocated for the next save's copies.
  std::uint64_t preserved_bytes_max = 256u << 20;
  /// Limit on the memory of the steps that users can undo and redo. Beyond it, the oldest steps are
  /// dropped. If 0, nothing can be undone.
  std::uint64_t history_bytes = 256u << 20;
  /// Limit on the size of past states in the file, to which restore() returns: of the replaced rows
  /// and of the recorded inputs. Beyond it, the oldest are dropped. If 0, only the states since the
  /// last save are kept.
  std::uint64_t past_bytes = 0;
  /// Limit on the memory for copies of what a run has changed. With these copies, stop_playing()
  /// returns to the level in place. Beyond the limit, or if a manager cannot keep its state
  /// (Manager::keep), it reads the level from the file instead, which takes longer.
  std::uint64_t level_bytes_max = 256u << 20;
  DiskLags disk_lags = DiskLags::wait;
  /// Limit on the size of the records that are waiting to be written to disk. Above this limit, the
  /// disk is considered to lag; see DiskLags.
  std::size_t waiting_bytes_max = 64u << 20;
  /// When the file's -wal reaches this size, a separate thread merges it into the file. With
  /// Durability::each_flush, the -wal is merged at a size of 1 MiB at the latest while no save is
  /// running.
  std::uint64_t merge_bytes = 16u << 20;
  /// Called on the world thread with a message about a problem that does not stop the world. May be
  /// null. Also receives the registry's warnings, unless `registry` has its own on_warning.
  std::function<void(const std::string&)> on_warning = {};
  /// Called once on the world thread, with a one-sentence explanation, if durability is permanently
  /// lost because the file was moved, deleted, replaced, or overwritten while the world was open.
  /// If null, `on_warning` is called instead.
  std::function<void(const std::string&)> on_failure = {};
  /// Sequence number of the input to leave out, or 0 for none. The world must be stopped before
  /// that input (World::stopped); otherwise, opening the world fails. Later inputs are applied only
  /// if they come from sessions. The state is then saved immediately, and the world continues. If a
  /// later input kills the process before that save, WORLD-work records that this input is left
  /// out.
  std::uint64_t skip = 0;
  /// Time after which an input that is still being handled is reported as hanging (World::hang),
  /// where 0 means never.
  std::chrono::nanoseconds watchdog{0};
  /// Called on the watchdog's thread, with a message, when an input starts to hang and when that
  /// input continues. May be null.
  std::function<void(const std::string&)> on_hang = {};
  /// The registry's options. If a cascade is carried over and `cascade_ns_max` is not 0, the world
  /// continues with it at once, in flushes. The time holds for a flush, and the tick after it,
  /// together.
  RegistryOptions registry = {};
  /// If not 0, the limits on carried messages from now on, also if the file contains other limits
  /// (RegistryOptions::carried_messages_max, carried_bytes_max). A file with other limits is saved
  /// when it is opened.
  std::uint64_t carried_messages_max = 0, carried_bytes_max = 0;
  /// Number of threads for passes, including the world thread. 0 means one per processor.
  std::uint32_t workers = 1;
};

/// Describes a tick. Converts to false if there was no tick, for instance after stop().
struct Frame {
  float dt = 0;               ///< time in seconds: 1/hz or, without hz, the length of the frame
  std::uint64_t tick = 0;     ///< numbered 1, 2, 3, ... over the world's lifetime
  std::uint64_t now_ns = 0;   ///< time of the registry's clock
  std::uint64_t late_ns = 0;  ///< delay of the tick in ns; 0 for a step
  explicit operator bool() const noexcept { return tick != 0; }
};

/// Must be used by a single thread, which is called the world thread. Other threads may use only
/// members marked "any thread" and the lanes of the registry's inbox.
///
/// The destructor does not save. It finishes a running save and waits until every recorded input
/// is on disk (WorldOptions::durability), so that the next World on the same file continues where
/// this one ended. Posted messages that have not been handled are lost. A new world that was
/// neither saved nor run is also lost. Without a journal, everything since the last save is
/// lost.
class World {
 public:
  /// A function that subscribes handlers in the world's own registry, which is passed to it.
  using Install = std::function<Handlers(EntityRegistry&)>;

  /// Opens, locks, and reads the world at `path`, or prepares a new world, whose file is created by
  /// the first save. Throws WorldError on failure; the file is then unchanged, byte for byte.
  ///
  /// `install` runs before rows are loaded, on an empty registry, so that compiled types are known
  /// before saved ones. It subscribes handlers and adds types, but must not push messages. Types
  /// known only from the file are kept, along with their components.
  ///
  /// If there is a journal after the checkpoint, it is replayed (server/world/journal/recovery.h)
  /// with all options. Handlers added after `install` do not take part in the replay. If the replay
  /// was not exact, the state is saved immediately. If two processes died while handling the same
  /// input, or if one process hung in an input, the world is opened in a stopped state before that
  /// input; see stopped().
  ///
  /// If file descriptor 0, 1, or 2 is closed, the constructor opens /dev/null on it and leaves it
  /// open, so that none of the world's files gets that descriptor and receives the program's
  /// output. Reading from 0 and writing to 1 and 2 still fail as before. If a program closes these
  /// descriptors while it has a world, it must open /dev/null on them itself.
  ///
  /// `arithmetic` is the floating-point mode of the calling file. If that mode changes the bits of
  /// floating-point results, a single warning is issued, through `on_warning` or on stderr.
  World(std::string path, const Install& install, WorldOptions options = {},
        std::uint32_t arithmetic = detail::arithmetic_here());
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Returns the registry. The on_arrival callback of its inbox is set by the world.
  EntityRegistry& registry() noexcept;
  const EntityRegistry& registry() const noexcept;
  /// Returns the history of the sessions' edits, which is saved with the world. Edits that the host
  /// pushes in the name of a session (RegistryHost::push_batch) are recorded as well. Must be used
  /// on the world thread, between inputs.
  EditHistory& history() noexcept;
  const std::string& path() const noexcept;
  /// Returns the path to which the names of this machine's files about the world are made, for
  /// example by adding "-users". For a world file, it is the path with links resolved.
  const std::string& beside() const noexcept;
  /// Returns the world's id, 32 hexadecimal digits that are the same in all copies of the world's
  /// file. Empty before the world's first save.
  std::string id() const;
  /// Returns true until the world's first save, which may be made by the first call to next_frame
  /// or poll (WorldOptions::durability).
  bool is_new() const noexcept;
  /// Returns the tick number of the last frame. Before the first frame, returns the tick of the
  /// checkpoint or, if a journal was replayed, of its last input.
  std::uint64_t tick() const noexcept;
  double hz() const noexcept;
  /// Returns the pace of the clock. The pace is not saved, so a world always starts at speed 1.
  /// Must be called on the world thread.
  const Pace& pace() const noexcept;
  /// Sets the pace of the clock; see next_frame. A tick does the same work at any pace. Fails,
  /// without changing anything, if the speed is out of range or not a number, if there are too many
  /// steps, or if steps are given for a clock that is not paused or for a world without hz. Must be
  /// called on the world thread; FlushVisitor::after_flush may also call it.
  [[nodiscard]] std::expected<void, PaceFault> set_pace(const Pace& pace);
  /// For a world with hz, returns how much processor time the world thread used from one call of
  /// next_frame to the next. Includes the host's own work, messages that arrived, and visitors.
  /// Excludes workers, work while the clock was paused, and frames at a speed below 1. With poll(),
  /// a frame's time lasts until the next call and includes the host's work in between. Must be
  /// called on the world thread.
  const TimeCounts& tick_times() const noexcept;
  /// Returns the corrections that were made while reading the file. The next save writes them to
  /// the file.
  const LoadReport& load_report() const noexcept;
  /// Returns the result of replaying the journal when the world was opened.
  const RecoveryReport& recovery_report() const noexcept;
  /// If the world is stopped, returns a message that names the input before which it is stopped and
  /// the ways to continue. Otherwise, returns null. A world is stopped if two processes in a row
  /// died while handling the same input, either live or from the journal, or if one process did not
  /// return from it. The state is the one before the input, or the one on disk if the input had not
  /// reached the disk. The clock stays paused, saves are refused, and changes to the registry are
  /// not saved. The input is tried again if the code (WorldOptions::code) has changed, or if the
  /// file WORLD-work, which records the input, is missing.
  const std::string* stopped() const noexcept;
  /// Returns the sequence number of the input that stopped() names, or 0 if the world is not
  /// stopped.
  std::uint64_t stopped_before() const noexcept;
  /// If the world is not taking inputs, returns a message that explains why. Otherwise, returns an
  /// empty string. One possible reason is that an input has been in progress for longer than
  /// WorldOptions::watchdog; in that case, the message names the handler, message type, and entity.
  /// If the process is then killed, the next World is stopped before that input; see stopped(). The
  /// other possible reason is that the host has called neither next_frame nor poll for five
  /// seconds. May be called on any thread.
  std::string hang() const;
  /// Sets WorldOptions::code after another build has been loaded. The new value is stored with the
  /// next save and with inputs recorded from now on.
  void set_code(std::string code);

  /// Saves everything, including posted messages, and returns once it is on disk. After an error,
  /// the file contains the previous checkpoint, the registry is unchanged, and a later save writes
  /// everything.
  [[nodiscard]] std::expected<CheckpointReport, WorldError> try_save();
  using Saved = std::function<void(std::expected<CheckpointReport, WorldError>)>;
  /// Begins saving the current state, which is written by another thread. The world thread only
  /// lists the changed rows and copies columns that change before they are written. `then` is
  /// called by a later next_frame, poll, try_save, or save, before it takes messages that have
  /// arrived. If the world is destroyed first, `then` is not called, and the save may or may not
  /// have succeeded. Returns false and has no effect if a save is already running. A new world is
  /// saved immediately.
  [[nodiscard]] bool begin_save(Saved then);
  /// Like try_save, but throws WorldError on failure.
  CheckpointReport save();
  /// Begins a run: saves the world, and keeps the saved state as the level to which stop_playing()
  /// returns. Saves of the run do not change the level, and neither does a crash. The run has a
  /// history of its own. Starts the clock if it is paused. Begins a new epoch. Fails if a run is
  /// on, if the world is stopped, or if it cannot be saved; then there is no run, but the epoch may
  /// be a new one. Must be called between inputs, but not by a FlushVisitor.
  [[nodiscard]] std::expected<void, WorldError> play();
  /// Ends the run: the registry, the tick, the history, and the pace of the clock return to those
  /// of the level, except that the sequence goes on. Handlers and sinks stay, and restore hooks are
  /// called as after EntityRegistry::load(). Messages that were posted in the run are dropped.
  /// Begins a new epoch. Fails without any effect if no run is on or if the level cannot be read.
  /// Saving the level has only begun when the call returns. Until it has succeeded, the file
  /// contains the run; if it fails, `on_warning` is called, and each later save tries again.
  /// May be called on a stopped world (stopped()), which then continues. Must be called between
  /// inputs, but not by a FlushVisitor.
  [[nodiscard]] std::expected<void, WorldError> stop_playing();
  /// Returns the level of the current run, or nothing if no run is on. Must be called on the world
  /// thread.
  std::optional<Run> run() const noexcept;
  /// Keeps edits of a run: applies them to the level as one step of `by.user`, as if they had been
  /// made without the run. During a run, they are only marked, and applied when the run ends; after
  /// it, they are applied at once, until the next run begins. docs/runs.md states the rules. If
  /// `by.session` is 0, the host is the sender. On failure, the error is a sentence, and nothing
  /// has changed. Must be called between inputs.
  [[nodiscard]] std::expected<KeepReport, std::string> keep(const KeepSelection& selection, const Sender& by = {});
  /// Returns what the end of the last run has applied, one report for each keep() of that run. A
  /// report without messages contains the reason in `skipped`.
  std::vector<KeepReport> kept() const;
  /// Returns up to `limit` steps of the current run or, if none is on, of the last one, from
  /// `offset` on, the newest first.
  std::vector<RunEdit> run_edits(std::uint32_t offset, std::uint32_t limit) const;
  /// Returns the past states that the file contains, the oldest first. Waits for a running save.
  /// Must be called between inputs, but not by a FlushVisitor.
  [[nodiscard]] std::expected<std::vector<KeptPast>, WorldError> past();
  /// Returns to a past state: saves the world, and then gives the registry the state, the tick, and
  /// the clock that the world had, except that the sequence goes on. Handlers and sinks stay, and
  /// restore hooks are called as after EntityRegistry::load(). Of the history, the steps that were
  /// made by then stay. Begins a new epoch. Inputs are done again, unseen by sinks, if the state is
  /// between two saves. Fails without any effect if the state is not kept, if it was recorded with
  /// other code or types and not saved, if a run is on, or if the world cannot be saved. Saving the
  /// state has only begun when the call returns, as for stop_playing(). Must be called between
  /// inputs, but not by a FlushVisitor.
  [[nodiscard]] std::expected<Restored, WorldError> restore(const RestoreTarget& target);
  /// Returns the epoch, a random nonzero number that was drawn when this world was opened, or by
  /// play(), stop_playing(), or restore(). Within an epoch, each sequence number identifies one
  /// input. Inputs that were not durable when the previous process ended are lost, and their
  /// sequence numbers now identify other inputs. May be called on any thread.
  std::uint64_t epoch() const noexcept;
  /// Returns a number that identifies the level or the run that the world is in. It changes when a
  /// run begins or ends, but not when the world is opened again. Must be called on the world
  /// thread.
  std::uint64_t lineage() const noexcept;
  /// Returns the requests of sessions that were applied, including those found in the file when the
  /// world was opened. Must be used on the world thread.
  AppliedRequests& applied_requests() noexcept;
  /// Returns the sequence number of the last input on disk, either in the state or in the journal.
  /// May be called on any thread.
  std::uint64_t durable_sequence() const noexcept;
  /// Returns the sequence number of the last input in the file's state. May be called on any
  /// thread.
  std::uint64_t saved_sequence() const noexcept;
  /// Returns the size of the journal since the last save, including bytes that are not yet on
  /// disk. Must be called on the world thread.
  std::uint64_t journal_bytes() const noexcept;
  /// Returns the number of bytes of pages in WORLD-wal that cannot be merged because another
  /// program is reading an older state of the file. The -wal grows until that program stops
  /// reading. May be called on any thread.
  std::uint64_t held_bytes() const noexcept;
  /// Returns a warning if the journal or held_bytes() has reached 80 % of
  /// WorldOptions::journal_bytes_max, and an empty string otherwise. Must be called on the world
  /// thread.
  std::string size_warning() const;
  Durability durability() const noexcept;
  std::chrono::nanoseconds autosave() const noexcept;
  /// If inputs are not being recorded even though WorldOptions::durability requires it, returns the
  /// disk's error. Otherwise, returns null. The world continues, but nothing becomes durable until
  /// a save succeeds. With Durability::checkpoint, returns the error of the last automatic
  /// save. Must be called on the world thread. The string is valid until the next flush or
  /// save.
  const std::string* recording_error() const noexcept;
  /// If the file or its -wal was moved, deleted, replaced, or overwritten while this world had it
  /// open, returns a message that describes what happened. Otherwise, returns null. Once the result
  /// is not null, it never becomes null again. May be called on any thread. The string is valid as
  /// long as the world exists.
  const std::string* displaced() const noexcept;
  /// Returns the error of the last automatic save if no save has succeeded since then, and null
  /// otherwise. Must be called on the world thread. The string is valid until the next flush or
  /// save.
  const std::string* autosave_error() const noexcept;

  /// Takes messages from the inbox at once, and again on every arrival (see FlushVisitor), until
  /// the next tick is due. Then advances the registry's clock by 1/hz and returns. There are hz
  /// times pace().speed ticks per second. If the host is late, the missed ticks are due
  /// immediately, one after another. If the host is more than a quarter of a second behind, the
  /// ticks in between are skipped, and the world falls behind the wall clock.
  ///
  /// While the clock is paused, no ticks or timers are due, but messages that arrive are handled.
  /// Each of pace().steps is due immediately, and the inbox is taken before each of them.
  ///
  /// Without hz, returns only after stop(). Until then, handles messages as they arrive and timers
  /// when they are due. While timers are pending, the registry's clock follows the wall clock at
  /// pace().speed. If no timers are pending, or if the clock is paused, it stands still.
  ///
  /// The first call after a load returns unused granted ids as separate inputs, because the
  /// sessions and threads that had them no longer exist. If a pending message creates entities with
  /// such ids, it keeps them. After stop(), takes the inbox once more and returns an empty frame.
  Frame next_frame();
  /// Like next_frame, but for a host with its own loop. Takes the inbox, answers sessions, and
  /// handles timers and ticks that are due, but never sleeps. While a host calls neither next_frame
  /// nor poll, no edits are applied.
  ///
  /// With hz, returns the tick that is due, or an empty frame. Calls to poll and next_frame may be
  /// mixed. After a quarter of a second, a run of ticks ends with an empty frame even if more ticks
  /// are due, so that a loop over the ticks terminates.
  ///
  /// Without hz, each call returns a frame, which is a tick like any other. The call advances the
  /// registry's clock by the time since the previous call (at most a quarter of a second) times
  /// pace().speed, in whole ns. Frame::dt is that time in seconds. The frame is empty if no time
  /// has passed, which is the case in the first call and while the clock is paused, except that
  /// each of pace().steps is one frame.
  ///
  /// After stop(), takes the inbox once more and returns an empty frame; has_ended() distinguishes
  /// this from the case in which no frame is due. The program is stopped if poll is called on a
  /// different thread than the first next_frame or poll, in a handler, or inside another call.
  Frame poll();
  /// Like poll(), but for a world without hz whose host supplies the elapsed time as any chrono
  /// duration. If the time is zero, negative, or NaN, no frame is returned. A time of more than a
  /// year counts as a year. In a world with hz, the call stops the program.
  Frame poll(std::chrono::duration<double, std::nano> elapsed);
  /// Returns true if next_frame or poll has been called after stop() and has therefore taken the
  /// inbox for the last time. Must be called on the world thread.
  bool has_ended() const noexcept;

  /// Makes next_frame and poll return empty frames from now on. May be called on any thread and in
  /// signal handlers. The world must outlive the call.
  void stop() noexcept;
  /// Makes a sleeping next_frame flush once. May be called on any thread and in signal handlers.
  void wake() noexcept;

  /// Calls `act` at the beginning of the next flush, before the visitors. There, a visitor's
  /// request to play() or stop_playing() can be carried out.
  void at_next_flush(std::function<void()> act);
  /// Adds a FlushVisitor. Visitors are called in the order in which they were added. A visitor must
  /// be removed before it is destroyed.
  void add_visitor(FlushVisitor& visitor);
  void remove_visitor(FlushVisitor& visitor) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
