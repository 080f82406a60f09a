// A registry with its file. Opens or creates the file, runs the registry tick by tick, and saves
// it.
//
//   muster::World world("level1.muster", install, {.hz = 60, .stop_on_signals = true});
//   if (world.is_new()) { ... fill world.registry() ...; world.commit(); }
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
#include <string>

#include "registry/entity_registry.h"
#include "registry/state/state.h"
#include "server/world/file/checkpoint_report.h"
#include "server/world/file/world_error.h"
#include "server/world/flush_visitor.h"
#include "server/world/journal/recovery.h"
#include "server/world/saving/durability.h"
#include "server/world/time/pacer.h"
#include "server/world/time/work_time.h"

namespace muster {

struct WorldOptions {
  double hz = 0;  ///< ticks per second; 0 means events only, or frames of any length
  /// If true, SIGINT (Ctrl-C) and SIGTERM call World::stop from the beginning of the constructor to
  /// the end of the destructor, even if the program was started with these signals ignored. The
  /// first signal also restores the handler that the program had before, so that a second one ends
  /// a program that hangs. The destructor restores both handlers. Several worlds may use this
  /// option; a signal stops all of them.
  bool stop_on_signals = false;
  OpenMode open = OpenMode::open_or_create;
  /// Identity of code outside the running program that affects handlers. Stored with every
  /// checkpoint and journal group. See code_identity().
  std::string code = {};
  /// Guarantees between commits. Unless it is Durability::checkpoint, the first next_frame or poll
  /// saves a new world, because only a world with a file can record its inputs.
  Durability durability = Durability::batched;

  /// Time from a commit to the next automatic one if the world has changed; 0 means never. The
  /// actual time is at least fifty times as long as it took to begin the last commit.
  std::chrono::nanoseconds autosave = std::chrono::seconds(2);
  /// Limit on the journal's bytes since the last commit; 0 means none. At 80 %, a commit begins
  /// regardless of `autosave`. At 100 %, the world waits for that commit; if it fails, recording
  /// stops (see recording_error()). `on_warning` is also called if held_bytes() reaches 80 % of
  /// this limit.
  std::uint64_t journal_bytes_max = 256u << 20;
  /// Limit on copies of columns that change before a running commit has written them. At the limit,
  /// that commit is given up, reported to `on_warning` and restarted; after the third in a row, the
  /// world waits for the next one. At most an eighth of this memory stays allocated for the next
  /// commit's copies.
  std::uint64_t preserved_bytes_max = 256u << 20;
  DiskLags disk_lags = DiskLags::wait;
  /// Limit on the bytes of records waiting for the disk. Above it, the disk lags; see DiskLags.
  std::size_t waiting_bytes_max = 64u << 20;
  /// Bytes in the file's -wal at which a separate thread merges it into the file. With
  /// Durability::commit, at most 1 MiB while no commit is running.
  std::uint64_t merge_bytes = 16u << 20;
  /// Called on the world thread with a sentence about a problem that does not stop the world; may
  /// be null. Also receives the registry's warnings, unless `registry` has its own on_warning.
  std::function<void(const std::string&)> on_warning = {};
  /// Called once, on the world thread, with a sentence when durability is lost for good: the file
  /// was moved, deleted, replaced or overwritten while the world was open. If null, `on_warning` is
  /// called instead.
  std::function<void(const std::string&)> on_failure = {};
  /// Sequence of the input to leave out, before which the world was stopped (World::stopped); 0
  /// means none. It is an error if the world is not stopped there. Only the later inputs of
  /// sessions are applied. The state is then saved at once, and the world continues. If a later
  /// input ends the process before that save, WORLD-work records that this one is left out.
  std::uint64_t skip = 0;
  /// Time after which an input that is still being handled is reported as hanging (World::hang); 0
  /// means never.
  std::chrono::nanoseconds watchdog{0};
  /// Called on the watchdog's thread with a sentence when an input starts to hang and when it
  /// continues; may be null.
  std::function<void(const std::string&)> on_hang = {};
  RegistryOptions registry = {};
  std::uint32_t workers = 1;  ///< threads for passes, including the world thread; 0 means one per
                              ///< processor
};

/// One tick. Converts to false if there was no tick, for instance after stop().
struct Frame {
  float dt = 0;               ///< time in seconds: 1/hz or, without hz, the length of the frame
  std::uint64_t tick = 0;     ///< 1, 2, 3 ... over the world's lifetime
  std::uint64_t now_ns = 0;   ///< the registry's clock
  std::uint64_t late_ns = 0;  ///< delay of the tick in ns; 0 for a step
  explicit operator bool() const noexcept { return tick != 0; }
};

/// Used by one thread, the world thread. Other threads may use members marked "any thread" and the
/// lanes of the registry's inbox.
///
/// The destructor does not commit, but finishes a running save and waits until every recorded input
/// is on disk (WorldOptions::durability), so that the next World on the same file continues where
/// this one ended. Posted messages that were not handled are lost, and so is a new world that was
/// neither committed nor run. Without a journal, everything since the last commit is lost.
class World {
 public:
  /// Subscribes handlers in a registry. Called for the world's own registry.
  using Install = std::function<Handlers(EntityRegistry&)>;

  /// Opens, locks and reads the world at `path`, or prepares a new one, whose file appears at the
  /// first commit. Throws WorldError; the file is then unchanged, byte for byte.
  ///
  /// `install` runs first, on an empty registry, so that compiled types are known before saved
  /// ones. It subscribes handlers and adds types, but must not push. Types known only from the file
  /// are kept, and so are their components.
  ///
  /// Replays a journal after the checkpoint (server/world/journal/recovery.h) with all options.
  /// Handlers added after `install` do not take part. If the replay was not exact, the state is
  /// saved at once. If two processes died while handling the same input, or one hung in it, the
  /// world opens stopped before that input; see stopped().
  ///
  /// If descriptor 0, 1 or 2 is closed, opens /dev/null on it and leaves it open, so that no file
  /// of the world gets that number and receives the program's output. Reading 0 and writing 1 and 2
  /// fail as before. A program that closes these descriptors while it has a world must open
  /// /dev/null on them itself.
  ///
  /// `arithmetic` is the calling file's floating-point mode. A mode that changes the bits of floats
  /// causes one warning, to `on_warning` or stderr.
  World(std::string path, const Install& install, WorldOptions options = {},
        std::uint32_t arithmetic = detail::arithmetic_here());
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Returns the registry. The world sets its inbox's on_arrival.
  EntityRegistry& registry() noexcept;
  const EntityRegistry& registry() const noexcept;
  const std::string& path() const noexcept;
  /// Returns 32 hexadecimal digits, which are equal in all copies of a world's file. Empty before
  /// the world's first commit.
  std::string id() const;
  /// Returns true until the world's first commit, which may be that of the first next_frame or poll
  /// (WorldOptions::durability).
  bool is_new() const noexcept;
  /// Returns the number of the last frame's tick, or of the checkpoint's tick before the first
  /// frame.
  std::uint64_t tick() const noexcept;
  double hz() const noexcept;
  /// Returns the pace of the clock. It is not saved: an opened world runs at speed 1. World thread.
  const Pace& pace() const noexcept;
  /// Sets the pace of the clock; see next_frame. A tick does the same work at any pace. Fails and
  /// changes nothing if the speed is out of range or not a number, if there are too many steps, or
  /// if steps are given for a clock that is not paused or a world without hz. World thread,
  /// including FlushVisitor::after_flush.
  [[nodiscard]] std::expected<void, PaceFault> set_pace(const Pace& pace);
  /// Returns the processor time that the world thread used from one next_frame of a world with hz
  /// to the next: the host's own work, messages that arrived, and visitors. Excludes workers, work
  /// while the clock was paused, and frames at a speed below 1. With poll(), a frame's time lasts
  /// until the next call and includes the host's work in between. World thread.
  const TimeCounts& tick_times() const noexcept;
  /// Returns the corrections made while reading the file. The next commit writes them to the file.
  const LoadReport& load_report() const noexcept;
  /// Returns the result of replaying the journal when the world was opened.
  const RecoveryReport& recovery_report() const noexcept;
  /// Returns a sentence that names the input before which the world is stopped and the ways to
  /// continue, or null if the world is not stopped. A world is stopped if two processes in a row
  /// died while handling that input, live or from the journal, or one did not return from it. The
  /// state is the one before the input, or the one on disk if the input had not reached the disk.
  /// The clock stays paused, commits are refused, and changes to the registry are not saved. The
  /// input is tried again if the code (WorldOptions::code) has changed, or if the file WORLD-work,
  /// which records it, is missing.
  const std::string* stopped() const noexcept;
  /// Returns the sequence of the input that stopped() names, or 0.
  std::uint64_t stopped_before() const noexcept;
  /// Returns a sentence that says why the world is not taking inputs, or an empty string. One
  /// reason is an input that has been handled for longer than WorldOptions::watchdog; the sentence
  /// names the handler, message and entity. If the process is killed then, the next World is
  /// stopped before that input; see stopped(). The other reason is that the host has called neither
  /// next_frame nor poll for five seconds. Any thread.
  std::string hang() const;
  /// Sets WorldOptions::code after a different build was loaded. Stored with the next commit, and
  /// with inputs recorded from now on.
  void set_code(std::string code);

  /// Saves everything, including posted messages, and returns once it is on disk. After an error,
  /// the file holds the previous commit, the registry is unchanged, and a later commit saves
  /// everything.
  [[nodiscard]] std::expected<CheckpointReport, WorldError> try_commit();
  using Committed = std::function<void(std::expected<CheckpointReport, WorldError>)>;
  /// Begins saving the current state, which another thread writes. The world thread only lists the
  /// changed rows, and copies columns that change before they are written. A later next_frame,
  /// poll, try_commit or commit calls `then` before it takes arrived messages. If the world is
  /// destroyed first, `then` is not called, and the save may have succeeded or failed. Returns
  /// false and does nothing if a save is already running. A new world is saved at once.
  [[nodiscard]] bool begin_commit(Committed then);
  /// Like try_commit, but throws WorldError on failure.
  CheckpointReport commit();
  /// Returns a random number, never 0, drawn when this world was opened. Within an epoch, each
  /// sequence names one input. Inputs that were not durable when the previous process ended are
  /// lost, and their sequences now name other inputs. Any thread.
  std::uint64_t epoch() const noexcept;
  /// Returns the sequence of the last input on disk, in the state or the journal. Any thread.
  std::uint64_t durable_sequence() const noexcept;
  /// Returns the sequence of the last input in the file's state. Any thread.
  std::uint64_t saved_sequence() const noexcept;
  /// Returns the journal's bytes since the last commit, including those not yet on disk. World
  /// thread.
  std::uint64_t journal_bytes() const noexcept;
  /// Returns the bytes of pages in WORLD-wal that cannot be merged because another program is
  /// reading an older state of the file. The -wal grows until that program stops reading. Any
  /// thread.
  std::uint64_t held_bytes() const noexcept;
  /// Returns a warning if the journal or held_bytes() has reached 80 % of
  /// WorldOptions::journal_bytes_max; otherwise an empty string. World thread.
  std::string size_warning() const;
  Durability durability() const noexcept;
  std::chrono::nanoseconds autosave() const noexcept;
  /// Returns the disk's error if inputs are not being recorded although WorldOptions::durability
  /// requires it; otherwise null. The world continues, but nothing becomes durable until a commit
  /// succeeds. With Durability::checkpoint, returns the error of the last automatic commit. World
  /// thread; valid until the next flush or commit.
  const std::string* recording_error() const noexcept;
  /// Returns a sentence that describes how the file or its -wal was moved, deleted, replaced or
  /// overwritten while this world had it open, or null if none of this has happened. The result
  /// never becomes null again. Any thread; valid as long as the world.
  const std::string* displaced() const noexcept;
  /// Returns the error of the last automatic commit, until a commit succeeds; otherwise null. World
  /// thread; valid until the next flush or commit.
  const std::string* autosave_error() const noexcept;

  /// Takes the inbox at once, and again on every arrival (see FlushVisitor), until the next tick is
  /// due. Then advances the registry's clock by 1/hz and returns. There are hz times pace().speed
  /// ticks per second. A late host gets the missed ticks immediately one after another. If the host
  /// is more than a quarter of a second behind, the ticks in between are skipped, and the world
  /// falls behind the wall clock.
  ///
  /// While the clock is paused, no ticks or timers are due, but arriving messages are handled. Each
  /// of pace().steps is due at once, and the inbox is taken before each of them.
  ///
  /// Without hz, returns only after stop(). Until then, handles messages as they arrive, and timers
  /// when they are due. The registry's clock follows the wall clock at pace().speed while timers
  /// are waiting; if none are, or the clock is paused, it stands still.
  ///
  /// The first call after a load returns unused granted ids as separate inputs, because the
  /// sessions and threads that had them no longer exist. Waiting messages that create entities with
  /// such ids keep them. After stop(), takes the inbox once more and returns an empty frame.
  Frame next_frame();
  /// Like next_frame, but for a host with its own loop: takes the inbox, answers sessions, and
  /// handles timers and ticks that are due, but never sleeps. While a host calls neither next_frame
  /// nor poll, no edits are applied.
  ///
  /// With hz, returns the tick that is due, or an empty frame. Calls of poll and next_frame may be
  /// mixed. A run of ticks ends with an empty frame after a quarter of a second, even if more are
  /// due, so that a loop over them ends.
  ///
  /// Without hz, each call returns a frame, which is a tick like any other, and advances the
  /// registry's clock by the time since the last call, at most a quarter of a second, times
  /// pace().speed, in whole ns. Frame::dt is that time in seconds. The frame is empty if no time
  /// has passed: in the first call, and while the clock is paused, except that each of pace().steps
  /// is one frame.
  ///
  /// After stop(), takes the inbox once more and returns an empty frame; has_ended() distinguishes
  /// this from a frame that is not due. The program is stopped if poll is called on a different
  /// thread than the first next_frame or poll, in a handler, or inside another call.
  Frame poll();
  /// Like poll(), but for a world without hz whose host supplies the elapsed time as any chrono
  /// duration. 0, negative times and NaN give no frame; more than a year counts as a year. Stops
  /// the program in a world with hz.
  Frame poll(std::chrono::duration<double, std::nano> elapsed);
  /// Returns true if next_frame or poll was called after stop() and therefore took the inbox for
  /// the last time. World thread.
  bool has_ended() const noexcept;

  /// Makes next_frame and poll return empty frames from now on. Any thread, and signal handlers;
  /// the world must outlive the call.
  void stop() noexcept;
  /// Makes a sleeping next_frame flush once. Any thread, and signal handlers.
  void wake() noexcept;

  /// Adds a FlushVisitor. Visitors are called in the order in which they were added. Remove a
  /// visitor before destroying it.
  void add_visitor(FlushVisitor& visitor);
  void remove_visitor(FlushVisitor& visitor) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
