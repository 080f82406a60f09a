// Everything that a world that runs writes: commits, commits that were begun, and the journal between them.
//
//   registry ─ JournalRecorder      records of inputs, in memory              owner's thread
//                 hand_over()       groups, at the end of a flush
//              WriteQueue           group | checkpoint | group ...            its own thread, alone with the file, but for
//                  merge()          what it wrote, from the -wal to the file  a third thread
//                 durable()         sequence of the last input on the disk
//
// A checkpoint that was begun stands in the queue where its rows were listed: groups before it are in it, and go with it. It is written in
// steps, and groups that come meanwhile are written between them. Columns are read where they lie, by the queue's thread: see
// server/world/rows/preserved_columns.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "registry/entity_registry.h"
#include "server/world/checkpoint_report.h"
#include "server/world/durability.h"
#include "server/world/journal/journal_recorder.h"
#include "server/world/journal/journal_size.h"
#include "server/world/journal/spare_records.h"
#include "server/world/journal/step_size.h"
#include "server/world/journal/write_queue.h"
#include "server/world/world_error.h"
#include "server/world/world_file.h"

namespace muster {

class WorkMark;

/// Owner's thread, but for what is said of others. The file is its own while work waits.
class Saver {
 public:
  using Clock = std::chrono::steady_clock;
  using Report = std::expected<CheckpointReport, WorldError>;
  struct Host {
    std::function<CheckpointStamp()> stamp;  ///< of the state as it is
    std::function<void()> wake;              ///< any thread: a flush is to come soon
    Durability durability = Durability::checkpoint;
    std::uint64_t epoch = 0;
    WorkMark* mark = nullptr;                                             ///< told which input is in work; may be null
    std::chrono::nanoseconds batch_for = std::chrono::milliseconds(100);  ///< with Durability::batched
    std::chrono::nanoseconds autosave{
        0};  ///< how long after a save the next one is begun, where there is something new; 0: never
    /// Of the journal behind the last save. At four fifths a save is begun, whatever `autosave` says, and said; at all of them the
    /// world waits for it. Where it fails, nothing more is recorded, as where the journal cannot be written. 0: no bound.
    /// Also said is where another program that reads keeps four fifths of so many bytes in the file's -wal.
    std::uint64_t journal_bytes_max = 0;
    /// Of columns that change while a save that was begun has not written them yet: those are copied. At the bound that save is given up,
    /// said, and begun again; the third time the world waits for it.
    std::uint64_t preserved_bytes_max = 256u << 20;
    DiskLags disk_lags = DiskLags::wait;
    std::size_t waiting_bytes_max = WriteQueue::bytes_max_default;  ///< of what was recorded, before the disk lags
    std::function<void(const std::string&)> warn = {};  ///< told a sentence, on the owner's thread; may be null
    std::function<void(const std::string&)> fail = {};  ///< the same, of what ends durability for good; may be null
  };
  Saver(WorldFile& file, EntityRegistry& registry, Host host);
  /// What was recorded is written, and a commit that was begun; where that was given up, the state as it is.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// The world was opened: its file holds the inputs up to the registry's sequence. Inputs are recorded from now on, where the file can take
  /// them; else from its next commit on.
  void opened();
  /// The file has so many bytes of records behind its state, which were read. Before opened().
  void found_journal(std::uint64_t bytes) { size_.add(bytes); }
  /// Instead of opened(): the registry does not have what the file has. Nothing is written any more, and error() says why.
  void opened_stopped(std::string why);

  Report commit();
  /// False: one is under way.
  bool begin(std::function<void(Report)> then);
  /// Tells of a commit that was begun, where it is over.
  void look();
  bool is_saving() const noexcept { return saving_ != nullptr; }

  /// What was recorded goes to the disk now, where it is to; a save is begun where one is due.
  void hand_over(Clock::time_point now);
  /// About once a second, also if nothing is written: whether the file still is where it was opened, and what it was. If it is not, the
  /// state is written to another one beside it (WorldFile::rescue), and that again and again until it succeeds; error() says both.
  void look_at_file(Clock::time_point now);
  /// When look_at_file() is to be called. None: never.
  std::optional<Clock::time_point> next_look() const noexcept;
  /// When hand_over() has something to do, if nothing comes.
  std::optional<Clock::time_point> due() const;
  void made_tick(std::uint64_t tick) {
    if (recorder_) recorder_->made_tick(tick);
  }
  void set_code(std::string code) {
    if (recorder_) recorder_->set_code(std::move(code));
  }
  /// Why inputs are not recorded though they should be, or, where none are to be, why the last save that was begun by itself failed.
  /// Null: they are. Until a commit succeeds.
  const std::string* error() const noexcept {
    return !stopped_.empty()     ? &stopped_
           : !displaced_.empty() ? &displaced_
           : failed_seen_        ? &error_
           : !recorder_          ? autosave_error()
                                 : nullptr;
  }
  /// Why the last save that was begun by itself failed. Null: it did not. Until a commit succeeds.
  const std::string* autosave_error() const noexcept { return autosave_error_.empty() ? nullptr : &autosave_error_; }
  /// Of the journal behind the last save, what is on its way to the disk included.
  std::uint64_t journal_bytes() const noexcept { return size_.bytes(); }
  /// As WorldFile::held_bytes. Any thread.
  std::uint64_t held_bytes() const noexcept { return held_.load(std::memory_order_relaxed); }
  /// What `warn` is told of the journal's size, or of held_bytes(), where there is something to say just now; else empty.
  std::string size_warning() const;
  /// Of columns that are kept for the save that is under way.
  std::uint64_t preserved_bytes() const noexcept;
  /// Of memory that waits for the copies of the next save and for the next large groups.
  std::uint64_t spare_bytes() const noexcept;
  /// How often the world waited for the disk.
  std::uint64_t waits() const noexcept { return queue_.waits(); }
  /// Any thread.
  std::uint64_t durable() const noexcept { return durable_.load(std::memory_order_acquire); }
  /// Of the last input that is in the state in the file. Any thread.
  std::uint64_t saved() const noexcept { return saved_.load(std::memory_order_acquire); }

 private:
  struct Saving;
  bool has_news() const noexcept;
  WorldError stopped_error() const;
  /// Writes the state beside a file that is displaced, if it is and that was not done.
  void rescue(Clock::time_point now);
  void autosave(Clock::time_point now);
  void save_by_itself(Clock::time_point now);
  /// A save is due because of the journal's size.
  bool is_long() const noexcept { return recorder_ && size_.wants_save(); }
  void warn_of_size();
  void warn_of_held();
  std::string held_text() const;
  void note_saved(std::uint64_t version);
  void keep_size();
  /// A piece of a commit that was begun, on the queue's thread.
  Steps step(Saving& of);
  /// The same; false: it was the last.
  bool do_step(Saving& of);
  CheckpointSlice slice() const;
  /// That the -wal is merged into the file begins, where that is due, or ends. The queue's thread.
  void merge();
  void begin_merge();
  /// Returns when nothing is merged. The queue's thread, or the owner's when the queue is drained.
  void end_merge();
  void begin_recording();
  void put_all();
  /// The same where nobody is to wait: DiskLags::go_on says what becomes of what there is no room for.
  void put_in_time();
  /// What is recorded is dropped from here on, behind what the queue has: the disk lags.
  void stop_recording(std::string why);
  void write(JournalGroup& group);
  void notice_failure();
  void mended();
  void end_saving();
  void wait_for_saving();
  void begin_again(Saving& over);
  /// One thread at a time.
  void raise_durable(std::uint64_t sequence) noexcept {
    if (sequence > durable()) durable_.store(sequence, std::memory_order_release);
  }
  void raise_saved(std::uint64_t sequence) noexcept {
    raise_durable(sequence);
    saved_.store(sequence, std::memory_order_release);
  }

  WorldFile& file_;
  EntityRegistry& registry_;
  const Host host_;
  std::optional<JournalRecorder> recorder_;
  Clock::time_point next_ = {};  // before then nothing is handed over, with Durability::batched
  std::unique_ptr<Saving> saving_;
  std::optional<StateCopy> used_;  // of the last one, for its memory
  std::uint64_t saved_version_ =
      0;              // what the registry's begin_version gave before the last save; 0: there is none yet
  int given_up_ = 0;  // saves, one after the other
  std::optional<Clock::time_point> next_save_;  // by itself; none: nothing is new
  std::chrono::nanoseconds save_every_;         // longer than the host asked for where a save stops the world for long
  JournalSize size_;
  bool warned_of_size_ = false, warned_of_held_ = false;
  Clock::time_point retry_ = {};   // not before: a save that is due because of the journal's size failed
  std::size_t saved_schemas_ = 0;  // of the registry, when it was saved last
  std::string autosave_error_;
  std::string stopped_;    // empty: it is not
  std::string displaced_;  // what became of the file, and where the state is; empty: it is in its place
  bool rescued_ = false;   // the state is in another file
  Clock::time_point next_look_ = {};
  bool failed_seen_ = false;
  bool lagged_ = false;  // a save is due because the disk lagged
  std::string error_;    // as the owner saw it
  std::atomic<std::uint64_t> durable_ = 0, saved_ = 0, held_ = 0;
  std::atomic<bool> failed_ = false;
  SpareRecords spare_;                // given by the queue's thread, taken by recorder_
  StepSize step_size_;                // the queue's thread
  bool in_steps_ = false;             // the same: a save's steps were begun, and are not over
  std::mutex mutex_;                  // of the following
  std::string failure_;               // of the queue's thread
  std::atomic<bool> merged_ = false;  // what the file's begin_merge() began
  WriteQueue merges_;                 // given work by the queue's thread
  WriteQueue queue_;                  // ends first
};

}  // namespace muster
