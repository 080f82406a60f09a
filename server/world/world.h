// A registry with its file: opened or created, run tick by tick, saved whole.
//
//   muster::World world("level1.muster", install, {.hz = 60});
//   if (world.is_new()) { ... fill world.registry() ...; world.commit(); }
//   while (auto frame = world.next_frame()) world.registry().push(muster::Update{.dt = frame.dt});
//
// A host with a loop of its own, as an engine has, calls poll() in place of next_frame(): docs/embedding.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "registry/entity_registry.h"
#include "registry/state/state.h"
#include "server/world/checkpoint_report.h"
#include "server/world/durability.h"
#include "server/world/flush_visitor.h"
#include "server/world/journal/recovery.h"
#include "server/world/time/pacer.h"
#include "server/world/time/work_time.h"
#include "server/world/world_error.h"

namespace muster {

struct WorldOptions {
  double hz = 0;  ///< ticks per second; 0: driven by events alone, or by frames of any length (World::poll)
  OpenMode open = OpenMode::open_or_create;
  /// Code identity of the host, kept with every checkpoint and group of the journal: what decides, beside the running program itself,
  /// what handlers do. See code_identity().
  std::string code = {};
  Durability durability = Durability::checkpoint;  ///< what is on the disk between commits
  /// So long after a commit the next one is begun by itself, where the world has anything new; 0: never. It is put off, to fifty times what
  /// it took to begin the last one, where that is longer.
  std::chrono::nanoseconds autosave{0};
  /// Of the journal behind the last commit. At four fifths a commit is begun, whatever `autosave` says; at all of them the world waits
  /// for it, and where it fails, nothing more is recorded: see recording_error(). 0: no bound. At four fifths of it `on_warning` is also
  /// told of held_bytes().
  std::uint64_t journal_bytes_max = 256u << 20;
  /// Limit on copies of columns that change before a save that was begun has written them. At the limit that
  /// save is given up, reported to `on_warning` and begun again; after the third in a row the world waits for
  /// the next. At most an eighth of it stays allocated for the copies of the next save.
  std::uint64_t preserved_bytes_max = 256u << 20;
  DiskLags disk_lags = DiskLags::wait;
  /// Of what was recorded, so much waits in memory for the disk; with more the disk lags.
  std::size_t waiting_bytes_max = 64u << 20;
  /// So much waits in the file's -wal before it is merged into the file, by a thread of its own; with Durability::commit at most 1 MiB while no
  /// commit is under way.
  std::uint64_t merge_bytes = 16u << 20;
  /// Told, on the owner's thread, what somebody should look at though the world goes on, a sentence; may be null. The registry's
  /// warnings come here too, unless `registry` has an on_warning of its own.
  std::function<void(const std::string&)> on_warning = {};
  /// Told likewise what ends durability for good, once: somebody moved, deleted, replaced or wrote over the file while the world is open.
  /// Null: `on_warning` is.
  std::function<void(const std::string&)> on_failure = {};
  /// Leaves out this input, before which the world is stopped (World::stopped): an error where it is not. Of inputs behind it those of
  /// sessions alone are applied, the state is saved at once, and the world goes on. Where it dies of another one behind it, WORLD-work
  /// knows that this one is left out, until the state was saved. 0: none.
  std::uint64_t skip = 0;
  /// For so long one input may be in work before it is said to hang (World::hang); 0: nobody watches.
  std::chrono::nanoseconds watchdog{0};
  /// Told, on a thread of the watchdog's own, when an input begins to hang and when it goes on, a sentence; may be null.
  std::function<void(const std::string&)> on_hang = {};
  RegistryOptions registry = {};
  std::uint32_t workers = 1;  ///< that passes are spread over, the owner's thread included; 0: one per processor
};

/// One tick. Empty (false): there is none, after stop() for instance.
struct Frame {
  float dt = 0;               ///< s, always 1/hz; without hz, how long the frame of a poll is
  std::uint64_t tick = 0;     ///< 1, 2, 3 ... over the world's life
  std::uint64_t now_ns = 0;   ///< the registry's clock
  std::uint64_t late_ns = 0;  ///< how long after its time the tick came; 0 of a step
  explicit operator bool() const noexcept { return tick != 0; }
};

/// Used by one thread; members marked "any thread" and the lanes of its registry's inbox may be used by others.
/// Destroying a World does not save it: what was not committed is lost unless the journal has it
/// (WorldOptions::durability). Then the next World on the same file goes on where this one was.
class World {
 public:
  /// Makes the handlers of one registry: called for the world's own, later also for looks into its past.
  using Install = std::function<Handlers(EntityRegistry&)>;

  /// Opens, locks and reads the world at `path`, or prepares a new one, whose file appears at the first commit. `install`
  /// runs first, on an empty registry, so that compiled types are known when saved ones come; it subscribes and adds types
  /// but pushes nothing. Types that only the file knows are kept, their components too.
  /// A journal behind the checkpoint is done again (server/world/journal/recovery.h), whatever the options say; handlers that come after
  /// `install` are not there yet. Where that was not exact the state is saved at once.
  /// Where processes died twice at one input, or hung in it, the world opens stopped before it: see stopped().
  /// If descriptor 0, 1 or 2 is closed, /dev/null is opened on it and stays open, so that no file of the world gets that
  /// number and what the program prints: reading 0 and writing 1 and 2 fail as before. A program that closes them while it
  /// has a world opens /dev/null on them itself.
  /// Throws WorldError; the file is then byte for byte as before.
  /// `arithmetic` is of the file that constructs it: a program that was compiled so that floats have
  /// other bits is told so by `on_warning`, or on stderr, once.
  World(std::string path, const Install& install, WorldOptions options = {},
        std::uint32_t arithmetic = detail::arithmetic_here());
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Its inbox's on_arrival is the world's.
  EntityRegistry& registry() noexcept;
  const EntityRegistry& registry() const noexcept;
  const std::string& path() const noexcept;
  /// 32 hexadecimal digits, the same in all copies of a world's file; empty before the first commit of its life.
  std::string id() const;
  /// True until the first commit of the world's life.
  bool is_new() const noexcept;
  /// Of the last frame, or of the checkpoint that was read.
  std::uint64_t tick() const noexcept;
  double hz() const noexcept;
  /// How its clock runs now. A world that is opened runs at speed 1: it is no state of the world. Owner's thread.
  const Pace& pace() const noexcept;
  /// Has the clock run otherwise from now on, see next_frame; what a tick does is the same at any pace. Owner's thread, also from
  /// FlushVisitor::after_flush. Where it cannot run so, nothing is changed: a speed that is no number or out of its range,
  /// steps of a clock that is not paused or of a world without hz, too many steps.
  [[nodiscard]] std::expected<void, PaceFault> set_pace(const Pace& pace);
  /// How much processor time the owner's thread used from one next_frame of a world with hz to the
  /// next: the host's own work, what arrived meanwhile, and what visitors did. Workers' time is not
  /// in it, nor what was done while the clock was paused; frames of a clock slower than 1 are left
  /// out. Of a frame of poll(): what was used until the next call, with what the host does before
  /// that. Owner's thread.
  const TimeCounts& tick_times() const noexcept;
  /// What was put right while the file was read; kept until the world ends. The file has it after the next commit.
  const LoadReport& load_report() const noexcept;
  /// What became of the journal when the world was opened; kept until the world ends.
  const RecoveryReport& recovery_report() const noexcept;
  /// Why the world stands before an input, a sentence that names it and says how to go on. Null: it does not. Processes died twice in a row
  /// while it was handled, live or from the journal, or one did not return from it. So the state is the one before it (or, where the input
  /// was not on the disk yet, the one that was), the clock is paused and stays so, commits are refused, and nothing that happens in
  /// the registry is kept. What the host says of its code counts: other code is given a try. The file WORLD-work knows it: without it the input
  /// is tried again.
  const std::string* stopped() const noexcept;
  /// Sequence of that input; 0: there is none.
  std::uint64_t stopped_before() const noexcept;
  /// What keeps the world from taking input, a sentence; empty: nothing. It is an input that has
  /// been in work for longer than WorldOptions::watchdog, with handler, message and entity; if the
  /// process is killed now, that input counts as one at which processes died twice: see stopped().
  /// Or it is that the host has called neither next_frame nor poll for five seconds. Any thread.
  std::string hang() const;
  /// Another build runs the handlers from now on: see WorldOptions::code. Kept with the next commit, and with what is recorded from
  /// now on.
  void set_code(std::string code);

  /// Saves everything; on the disk when it returns. What was posted and not yet delivered is saved as such. On an error
  /// the file holds the previous commit, the registry is as it was, and a later commit saves everything.
  [[nodiscard]] std::expected<CheckpointReport, WorldError> try_commit();
  using Committed = std::function<void(std::expected<CheckpointReport, WorldError>)>;
  /// The same, of the state as it is now; another thread writes it, and the owner's takes only as
  /// long as it takes to list the rows that changed, and to copy such columns as change before they
  /// are written. `then` is called by a later next_frame, poll, try_commit or commit, before what
  /// arrived is taken; not where the world ends before, though what was begun is then on the disk
  /// or failed. False, and nothing is begun: one is under way. A world that is new is saved at
  /// once.
  [[nodiscard]] bool begin_commit(Committed then);
  /// try_commit for hosts that cannot go on without: throws WorldError.
  CheckpointReport commit();
  /// Drawn at random when this world was opened, never 0: of one epoch each sequence names one input. What was not durable when the process
  /// before ended is lost, and its sequences name other inputs now. Any thread.
  std::uint64_t epoch() const noexcept;
  /// Sequence of the last input that is on the disk, in the state or in the journal. Any thread.
  std::uint64_t durable_sequence() const noexcept;
  /// Sequence of the last input that is in the state in the file. Any thread.
  std::uint64_t saved_sequence() const noexcept;
  /// Of the journal behind the last commit, what is on its way to the disk included. Owner's thread.
  std::uint64_t journal_bytes() const noexcept;
  /// Of pages that WORLD-wal has though they were to be merged long since: another program reads the file as it was before them, and until
  /// that ends the -wal grows. 0: there are none. Any thread.
  std::uint64_t held_bytes() const noexcept;
  /// That the journal, or what held_bytes() says, comes to four fifths of WorldOptions::journal_bytes_max, a sentence. Empty: it does not.
  /// Owner's thread.
  std::string size_warning() const;
  Durability durability() const noexcept;
  std::chrono::nanoseconds autosave() const noexcept;
  /// Why inputs are not recorded, though WorldOptions::durability wants it: a sentence of the disk's error. Null: they are. The world runs
  /// on, and nothing more becomes durable until a commit succeeds, which ends it. With Durability::checkpoint, why the last commit that
  /// came by itself failed. Owner's thread; valid until the next flush or commit.
  const std::string* recording_error() const noexcept;
  /// Why the last commit that came by itself failed, until one succeeds. Null: it did not. Likewise.
  const std::string* autosave_error() const noexcept;
  /// How often the world waited for the disk because WorldOptions::waiting_bytes_max of records were waiting
  /// to be written. Owner's thread.
  std::uint64_t disk_waits() const noexcept;

  /// Takes the inbox at once, and again on every arrival, see FlushVisitor, until the next tick is due; then moves the
  /// registry's clock by 1/hz and returns. Ticks come hz times pace().speed times a second. A host that comes late gets its
  /// ticks one after another; where it is more than a quarter of a second behind, the ticks in between are left out, so that
  /// the world is slower than the wall clock.
  /// While the clock is paused no tick is due and the registry's clock stands, timers too; what arrives is handled all the same.
  /// Each of pace().steps is due at once; the inbox is taken before each.
  /// Without hz it returns only after stop(): it handles what arrives, and timers when they are due. While timers wait, the
  /// registry's clock follows the wall clock at pace().speed; while none does, or it is paused, it stands still.
  /// The first one after a load gives back, as inputs of its own, the ids that were granted before and not used: sessions and
  /// threads of an earlier start are gone, however it ended. What waits and creates with such ids keeps them.
  /// After stop() it takes the inbox once more and returns an empty frame.
  Frame next_frame();
  /// For a host with a loop of its own: takes the inbox, answers sessions, and does what is due, as
  /// next_frame does, but never sleeps. A host that calls neither for long lets no edit in.
  /// With hz it gives the tick that is due, or an empty frame. A host that comes late gets its
  /// ticks as next_frame gives them. A run of ticks ends with an empty frame after a quarter of a
  /// second, even if more are due, so that a loop over them comes to its end. It gives the same
  /// ticks as next_frame; the two can be mixed.
  /// Without hz each poll gives a frame, a tick like any other, and moves the registry's clock by
  /// what passed since the poll before, times pace().speed, in whole ns: Frame::dt is that number
  /// as seconds. The frame is empty if nothing passed: in the first call, and while the clock is
  /// paused, but for pace().steps, each of which is one frame. What passed is measured, and is at
  /// most a quarter of a second. After stop() it takes the inbox once more and gives an empty
  /// frame: has_ended() tells that from a frame that is not due. A call on another thread than that
  /// of the first next_frame or poll, in a handler, or in another call stops the program.
  Frame poll();
  /// The same for a world without hz; the host says how much time passed: any chrono duration. 0,
  /// less than 0 and what is no number give no frame; more than a year counts as one. For a world
  /// with hz it stops the program.
  Frame poll(std::chrono::duration<double, std::nano> elapsed);
  /// Whether next_frame or poll was called after stop(), and so took the inbox for the last time.
  /// Owner's thread.
  bool has_ended() const noexcept;

  /// Makes next_frame and poll give empty frames, from now on. Any thread, and signal handlers; the
  /// world outlives the call.
  void stop() noexcept;
  /// Makes a next_frame that sleeps flush once. Any thread, and signal handlers.
  void wake() noexcept;

  /// See FlushVisitor. Visited in the order they were added; must be removed before they go.
  void add_visitor(FlushVisitor& visitor);
  void remove_visitor(FlushVisitor& visitor) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
