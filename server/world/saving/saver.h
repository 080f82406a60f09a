// Writes a running world to its file. A save is written either at once or in steps, and the journal
// is written between saves.
//
//   registry ─ JournalRecorder      records of inputs, in memory              world thread
//                 write_due()       groups, at the end of a flush
//              WriteQueue           group | checkpoint | group ...            its own thread, the
//              only one that uses the file,
//                  merge()          pages from the -wal to the file           except for a third
//                  thread, which merges
//                 durable()         sequence of the last input on disk
//
// The states of recording, and the reasons for leaving them:
//
//               opened()            disk fails, or lags with go_on
//      closed ───────────> recording ──────────────────────────> failed     error(); records are
//      dropped,
//        │                   │   ^                                 │        the journal has no gap
//        │ opened_stopped()  │   └──── a save succeeds ────────────┘
//        v                   │ the file was moved or overwritten
//      stopped               └──────────────────────────────────> displaced
//      until the end                                              until the end; the state is in a
//      file next to it
//
// An automatic save runs in steps. If its copies of changed columns exceed preserved_bytes_max, the
// save is abandoned and restarted. If three saves in a row are abandoned, the world waits for the
// next one.
//
// A checkpoint is placed in the queue when its rows are listed, so it contains all groups that were
// queued before it. The checkpoint is written in steps, and later groups are written between those
// steps. The writing thread reads columns in place; see server/world/rows/preserved_columns.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "registry/entity_registry.h"
#include "server/world/journal/journal_recorder.h"
#include "server/world/journal/spare_records.h"
#include "server/world/saving/durability.h"
#include "server/world/saving/journal_size.h"
#include "server/world/saving/step_size.h"
#include "server/world/saving/write_queue.h"
#include "server/world/store/checkpoint_report.h"
#include "server/world/store/store.h"
#include "server/world/store/world_error.h"
#include "system/mutex.h"

namespace muster {

class EditHistory;
class WorkMark;

/// Must be used on the world thread, except for members marked otherwise. No other code may use the
/// file while work is pending.
class Saver {
 public:
  using Clock = std::chrono::steady_clock;
  using Report = std::expected<CheckpointReport, WorldError>;
  struct Host {
    std::function<CheckpointStamp()> stamp;  ///< returns the stamp of the current state
    std::function<void()> wake;              ///< requests a flush; may be called on any thread
    Durability durability = Durability::checkpoint;
    std::uint64_t epoch = 0;
    /// Records the input that is being handled. May be null.
    WorkMark* mark = nullptr;
    /// The history that is saved with the state. May be null.
    EditHistory* history = nullptr;
    /// Time between groups with Durability::batched.
    std::chrono::nanoseconds batch_for = std::chrono::milliseconds(100);
    std::chrono::nanoseconds autosave{0};  ///< time between automatic saves, or 0 for none

    /// Limit on the number of journal bytes since the last save, where 0 means unlimited. At 80 %,
    /// a save begins regardless of `autosave`, and `warn` is called. At 100 %, the world waits for
    /// that save, and recording stops if the save fails. `warn` is also called if the part of the
    /// -wal that cannot be merged, because another program is reading the file, reaches 80 % of
    /// this limit.
    std::uint64_t journal_bytes_max = 0;
    /// Limit on the total size of the copies of columns that change before a running save has
    /// written them. At the limit, the save is abandoned and restarted, which is reported. After
    /// three saves in a row are abandoned, the world waits for the next one.
    std::uint64_t preserved_bytes_max = 256u << 20;
    DiskLags disk_lags = DiskLags::wait;
    /// Size of pending records, in bytes, above which the disk is considered to lag.
    std::size_t waiting_bytes_max = WriteQueue::bytes_max_default;
    std::function<void(const std::string&)> warn = {};  ///< called on the world thread; may be null

    /// Called if durability is permanently lost. May be null.
    std::function<void(const std::string&)> fail = {};
  };
  Saver(Store& file, EntityRegistry& registry, Host host);
  /// Writes the recorded inputs and finishes a running save. If that save has been abandoned, saves
  /// the current state instead.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// Must be called after the world has been opened, once its file contains all inputs up to the
  /// registry's sequence number. Starts recording inputs, either immediately or, if the file cannot
  /// accept inputs yet, after the next save.
  void opened();
  /// Adds the size of the records after the file's state. Must be called before opened().
  void found_journal(std::uint64_t bytes) { size_.add(bytes); }
  /// Must be called instead of opened() if the registry's state is not the state in the file. From
  /// then on, nothing is written, and error() returns `why`.
  void opened_stopped(std::string why);

  Report save();
  /// Finishes a running save, and queues all recorded inputs. Must be called before the registry's
  /// state is replaced.
  void settle();
  /// Waits until everything in the queue has been written. The caller may then use the file.
  void drain();
  /// Drops the records of inputs until the next save.
  void pause_recording() noexcept {
    if (recorder_) recorder_->pause();
  }
  /// How a save changes the level (LevelAct), and what it writes to the history in addition to the
  /// changes of Host::history.
  struct LevelChange {
    LevelAct act = LevelAct::none;
    std::optional<RunSteps> run_steps = {};
    std::vector<EditHistory::Saved> also = {};
  };
  /// Like save(), but makes the saved state the level.
  Report save_level(LevelChange change);
  /// Begins a save of a state that replaces the previous one: `change.act` is LevelAct::drop, if
  /// the state is a continuation of the level, or LevelAct::replace. Until it has succeeded,
  /// nothing further is recorded, and each later save makes the change. May be called on a world
  /// that was opened with opened_stopped(), which then records again. settle() and
  /// pause_recording() must have been called before the state was replaced.
  void save_replaced(LevelChange change, std::function<void(Report)> then);
  /// Sets the epoch of the inputs that follow.
  void set_epoch(std::uint64_t epoch);
  /// Begins a save. Returns false if one is already running.
  bool begin(std::function<void(Report)> then) { return begin(std::move(then), false); }
  /// Reports a save that has completed, if there is one.
  void look();
  bool is_saving() const noexcept { return saving_ != nullptr; }

  /// If recorded inputs are due to be written, queues them. If a save is due, begins it. Saves a
  /// new world immediately if its inputs must be recorded.
  void write_due(Clock::time_point now);
  /// Checks that the file is still at its path and that no other program has changed it. Should be
  /// called about once a second. If the file is missing or has been changed, writes the state to
  /// another file next to it (Store::rescue), and retries until the write succeeds. error()
  /// reports both the problem and the result.
  void look_at_file(Clock::time_point now);
  /// Returns the time at which look_at_file() should be called next, or nothing if no call is
  /// needed.
  std::optional<Clock::time_point> next_look() const noexcept;
  /// Returns the time at which write_due() will have work to do if no input arrives before then.
  std::optional<Clock::time_point> due() const;
  void made_tick(std::uint64_t tick) {
    if (recorder_) recorder_->made_tick(tick);
  }
  void set_code(std::string code) {
    if (recorder_) recorder_->set_code(std::move(code));
  }
  /// If inputs are not being recorded even though they should be, returns the reason. Otherwise,
  /// returns null. The reason remains until a save succeeds. Without a journal, returns
  /// autosave_error().
  const std::string* error() const noexcept {
    return !stopped_.empty()     ? &stopped_
           : !displaced_.empty() ? &displaced_
           : failed_seen_        ? &error_
           : !recorder_          ? autosave_error()
                                 : nullptr;
  }
  /// Returns the error of the last automatic save if no save has succeeded since then, and null
  /// otherwise.
  const std::string* autosave_error() const noexcept { return autosave_error_.empty() ? nullptr : &autosave_error_; }
  /// Returns the size of the journal since the last save, including bytes that are not yet on disk.
  std::uint64_t journal_bytes() const noexcept { return size_.bytes(); }
  /// Returns Store::held_bytes(). May be called on any thread.
  std::uint64_t held_bytes() const noexcept { return held_.load(std::memory_order_relaxed); }
  /// Returns the current warning about the journal's size or about held_bytes(), or an empty string
  /// if there is none.
  std::string size_warning() const;
  /// Returns the number of bytes of columns copied for the running save.
  std::uint64_t preserved_bytes() const noexcept;
  /// Returns the number of bytes reserved for the copies of the next save and for large groups.
  std::uint64_t spare_bytes() const noexcept;
  /// Returns how many times the world has waited for the disk.
  std::uint64_t waits() const noexcept { return queue_.waits(); }
  /// Returns the sequence number of the last input on disk. May be called on any thread.
  std::uint64_t durable() const noexcept { return durable_.load(std::memory_order_acquire); }
  /// Returns the sequence number of the last input in the file's state. May be called on any
  /// thread.
  std::uint64_t saved() const noexcept { return saved_.load(std::memory_order_acquire); }

 private:
  struct Saving;
  bool has_news() const noexcept;
  WorldError stopped_error() const;
  /// Writes the state to a file next to the displaced file, unless it has already been written.
  void rescue(Clock::time_point now);
  void autosave(Clock::time_point now);
  void save_by_itself(Clock::time_point now);
  /// Saves a new world so that its inputs can be recorded, unless recording is not required.
  void save_new(Clock::time_point now);
  /// Returns true if a save is due because of the journal's size.
  bool is_long() const noexcept { return recorder_ && size_.wants_save(); }
  void warn_of_size();
  void warn_of_held();
  std::string held_text() const;
  /// Returns the steps that have changed since the last save. After a failed save, they must be put
  /// back.
  std::vector<EditHistory::Saved> take_steps();
  Report save_now();
  /// If `whole` is set, the save is written in one step, before the groups that follow.
  bool begin(std::function<void(Report)> then, bool whole);
  /// Makes later groups useless until a save succeeds. Called on the writing thread.
  void fail(std::string why);
  /// Adds change_ to a stamp and to the steps that are written with it.
  void add_change(CheckpointStamp& stamp, std::vector<EditHistory::Saved>& steps) const;
  void put_back(std::vector<EditHistory::Saved> steps);
  void note_saved(std::uint64_t version);
  void keep_size();
  /// Writes part of a running save. Called on the writing thread.
  StepResult step(Saving& of);
  /// Writes one step of the save. Returns false if that was the last step.
  bool do_step(Saving& of);
  SaveSlice slice() const;
  /// Begins merging the -wal into the file if a merge is due, or finishes a merge. Called on the
  /// writing thread.
  void merge();
  void begin_merge();
  /// Waits until no merge is running. Called on the writing thread, or on the world thread while
  /// the queue is drained.
  void end_merge();
  void begin_recording();
  void put_all();
  /// Queues records without waiting for the disk. If there is no room for the records, behaves as
  /// described for DiskLags::go_on.
  void put_in_time();
  /// Stops recording after the inputs in the queue. Called if the disk lags.
  void stop_recording(std::string why);
  void write(JournalGroup& group);
  void notice_failure();
  void mended();
  void end_saving();
  void wait_for_saving();
  void begin_again(Saving& over);
  /// Must be called by only one thread at a time.
  void raise_durable(std::uint64_t sequence) noexcept {
    if (sequence > durable()) durable_.store(sequence, std::memory_order_release);
  }
  void raise_saved(std::uint64_t sequence) noexcept {
    raise_durable(sequence);
    saved_.store(sequence, std::memory_order_release);
  }

  Store& file_;
  EntityRegistry& registry_;
  Host host_;
  std::optional<JournalRecorder> recorder_;
  Clock::time_point next_ = {};  // earliest time of the next group, with Durability::batched
  std::unique_ptr<Saving> saving_;
  std::optional<StateCopy> used_;  // the previous save's copy, whose memory is reused

  // The result of begin_version before the last save, or 0.
  std::uint64_t saved_version_ = 0;
  int given_up_ = 0;  // number of consecutive saves that were abandoned
  // Time of the next automatic save; none if nothing has changed.
  std::optional<Clock::time_point> next_save_;
  // Actual interval; longer than `autosave` if saves are slow.
  std::chrono::nanoseconds save_every_;
  JournalSize size_;
  bool warned_of_size_ = false, warned_of_held_ = false;
  Clock::time_point retry_ = {};   // earliest time of the next attempt after a failed save
  std::size_t saved_schemas_ = 0;  // number of the registry's schemas at the last save
  std::string autosave_error_;
  std::string stopped_;  // the reason why recording stopped, or empty

  // Describes how the file was displaced and where the state has been written. Empty if not
  // displaced.
  std::string displaced_;
  bool rescued_ = false;  // true if the state was written to another file
  Clock::time_point next_look_ = {};
  bool failed_seen_ = false;
  LevelChange change_;   // made by the next save
  bool lagged_ = false;  // true if a save is due because the disk was lagging
  std::string error_;    // the error as last seen by the world thread
  std::atomic<std::uint64_t> durable_ = 0, saved_ = 0, held_ = 0;
  std::atomic<bool> failed_ = false;
  SpareRecords spare_;     // filled by the writing thread, used by recorder_
  StepSize step_size_;     // used by the writing thread
  bool in_steps_ = false;  // true if a save is being written in steps (writing thread)
  Mutex mutex_;
  std::string failure_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<bool> merged_ = false;  // set once the merge started by begin_merge() has ended
  WriteQueue merges_;                 // filled by the writing thread
  WriteQueue queue_;                  // destroyed first
};

}  // namespace muster
