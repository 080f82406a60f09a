// Manages a world's file. Opens or refuses the file, reads its state and journal, and writes
// checkpoints and groups of inputs. Handles rows and records as bytes, and does not depend on a
// registry. docs/file-format.md describes the tables.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/state/state.h"
#include "schema/descriptor.h"
#include "server/world/file/checkpoint_report.h"
#include "server/world/file/database.h"
#include "server/world/file/file_history.h"
#include "server/world/file/file_journal.h"
#include "server/world/file/file_meta.h"
#include "server/world/file/file_sink.h"
#include "server/world/file/lock.h"
#include "server/world/file/past_rows.h"
#include "server/world/file/wal_use.h"
#include "server/world/place/file_watch.h"
#include "server/world/rows/format.h"
#include "server/world/rows/kept_rows.h"
#include "server/world/rows/state_copy.h"

namespace muster {

struct WorldFileOptions {
  OpenMode mode = OpenMode::open_or_create;
  /// If true, all pages are checked when the file is opened, at about 3 GB/s.
  bool check_structure = true;
  std::uint64_t merge_bytes = 16u << 20;  ///< size of the -wal at which it is merged into the file

  /// Name of a registered SQLite VFS. Tests use one that simulates a failing disk.
  std::string vfs = {};
  const FileMeta* continues = nullptr;  ///< the checkpoint of the world to continue, or null
  /// Limit on the size of the rows and groups that are kept for load_past(), where 0 means that
  /// none are kept. Beyond it, the oldest are dropped. The rows of one checkpoint may exceed it.
  std::uint64_t past_bytes = 0;
};

/// A checkpoint from which the states until the next one can be made again.
struct FilePast {
  FilePoint point;
  std::uint64_t last_tick = 0;   ///< the newest tick that can be reached
  std::uint64_t last_group = 0;  ///< number of the last group before the next such checkpoint
};

/// What a checkpoint does with the level, which is a past checkpoint whose rows are kept.
enum class LevelAct : std::uint8_t {
  none,
  keep,  ///< this checkpoint becomes the level, whose rows later checkpoints do not replace
  drop,  ///< there is no level anymore
  /// The state is not a continuation of the previous checkpoint's. The level does not change.
  replace,
};

/// The values that a checkpoint records in addition to the rows.
struct CheckpointStamp {
  std::uint64_t sequence = 0;  ///< sequence number of the last input in the state
  std::uint64_t tick = 0;
  std::string code = {};  ///< code identity of the host

  /// Steps of the history that were added, changed, or dropped since the previous checkpoint.
  std::span<const EditHistory::Saved> steps = {};
  /// If this value has changed, the table `types` is rewritten.
  std::uint64_t types_fingerprint = 0;
  /// The types to describe for people who read the file with SQL. This description is never read
  /// back.
  std::span<const TypeDescriptor* const> types = {};

  /// Requests of sessions that were applied (FileMeta::requests).
  std::string requests = {};

  /// If true, and if the rows, steps, sequence number, and tick equal those of the previous
  /// checkpoint, nothing is written and the previous report is returned.
  bool only_if_changed = false;
  LevelAct level = LevelAct::none;
  std::optional<RunSteps> run_steps = {};  ///< see FileMeta::run_steps
};

/// Selects when the -wal is merged into the file if a merge is due after a write.
enum class Merges : std::uint8_t {
  at_once,    ///< before the call returns
  by_caller,  ///< by the caller, which calls begin_merge() soon after the write
};

/// Limits on a single step of a checkpoint. A single row may exceed the limits.
struct SaveSlice {
  std::uint64_t bytes = 1u << 20;
  std::chrono::nanoseconds time = std::chrono::milliseconds(20);
  /// Called after each row. If it returns true, the step ends as soon as bytes_min bytes have been
  /// written. May be null.
  std::function<bool()> hurries = {};
  std::uint64_t bytes_min = 32u << 10;
  Merges merges = Merges::at_once;
};

struct SaveStep {
  enum class State : std::uint8_t {
    more,  ///< another step follows
    done,  ///< the checkpoint is current and on disk
    /// Abandoned because another program wrote to the file; the next checkpoint writes everything.
    stale,
  };
  State state = State::more;
  CheckpointReport report = {};  ///< set if the state is `done`
};

/// A world file, opened and locked by one owner. May be used on any thread, but only by one thread
/// at a time. Movable.
///
/// Before each write, and again before the write counts as durable, two conditions are checked: the
/// path must refer to the open file, and only this process's SQLite may have written to the file
/// and its -wal. If either condition fails, the file is permanently displaced. From then on,
/// nothing is written to the file at the path or to its -wal, and every call that writes fails with
/// WorldErrorCode::displaced.
class WorldFile {
 public:
  /// Opens the world at `path`, or prepares to create it at the first checkpoint. Until then, only
  /// the lock file exists. If no checkpoint is made, the lock file is removed. After an error, the
  /// file, its -wal, and its companion files are unchanged, byte for byte. Symbolic links are
  /// followed, so that all names of a file share one lock.
  [[nodiscard]] static std::expected<WorldFile, WorldError> open(const std::string& path,
                                                                 WorldFileOptions options = {});

  WorldFile(WorldFile&&) noexcept = default;
  WorldFile& operator=(WorldFile&&) = delete;
  ~WorldFile();

  /// Returns true until the world's first checkpoint is durable.
  bool is_new() const noexcept { return meta_.checkpoint == 0; }
  /// Returns true if the file has an older format. The first checkpoint converts such a file.
  bool is_older() const noexcept { return database_ && format_ < world_format::version; }
  std::uint32_t format() const noexcept { return format_; }
  const FileMeta& meta() const noexcept { return meta_; }
  const std::string& path() const noexcept { return shown_; }  ///< the path as given

  /// The absolute path with links resolved.
  const std::string& real_path() const noexcept { return path_; }

  using Save = std::function<void(StateSink&)>;
  using Read = std::function<std::expected<void, StateError>(StateSource&)>;
  /// Passes the rows to `read`, and checks all of them, including rows that `read` does not
  /// consume. After an error, the caller must discard what `read` has built; the file is unchanged.
  /// For a new world, `read` is not called.
  [[nodiscard]] std::expected<void, WorldError> load(const Read& read);

  /// Passes the rows of the level (FileMeta::level), which must exist, to `read`, and checks them
  /// as load() does. Changes nothing.
  [[nodiscard]] std::expected<void, WorldError> load_level(const Read& read);

  /// Gives up the groups that journal() could not read: the next checkpoint removes them. Must be
  /// called only if that checkpoint drops the level, which does not depend on them.
  void give_up_journal() noexcept;
  /// Returns the checkpoints whose states load_past() can read, the oldest first and the current
  /// one last. Must be called after journal().
  [[nodiscard]] std::expected<std::vector<FilePast>, WorldError> past();
  /// Verifies all rows of the current and past states, and the groups between the latter. Must be
  /// called after journal().
  [[nodiscard]] std::expected<void, WorldError> check_past();
  /// Makes the next checkpoint keep the current one as a past one.
  void keep_current() noexcept { is_fresh_ = true; }
  /// Passes the rows of a checkpoint that past() returned to `read`, and checks them as load()
  /// does. Changes nothing.
  [[nodiscard]] std::expected<void, WorldError> load_past(const FilePast& past, const Read& read);
  /// Verifies the groups from such a checkpoint to the next one, and passes them to `take`.
  [[nodiscard]] std::expected<void, WorldError> past_journal(const FilePast& past, const FileJournal::Take& take);

  /// Verifies the steps of the history, and passes them to `take` in ascending order of their
  /// numbers. Must be called after load().
  [[nodiscard]] std::expected<void, WorldError> steps(const FileHistory::Take& take);
  /// Verifies the groups of inputs after the checkpoint and passes them to `take`, in order. Once
  /// `take` returns false, the remaining groups are only verified. If a group is invalid or
  /// missing, the error gives its position and explains how to continue without it. Does not change
  /// the file. Must be called after load() and before any write, because append() and save()
  /// fail while there are unread groups.
  [[nodiscard]] std::expected<JournalReport, WorldError> journal(const FileJournal::Take& take);
  /// Appends a group in one transaction, which is on disk when the call returns, and sets the
  /// group's id. The group's inputs must directly follow `durable()`. After an error, the file is
  /// unchanged (although after a power failure it may contain the group), and the same group may be
  /// appended again. Fails before the world's first checkpoint and if is_older().
  [[nodiscard]] std::expected<void, WorldError> append(JournalGroup& group, Merges merges = Merges::at_once);
  /// Returns true if the file and its -wal have not changed since this object last wrote to them.
  /// Does not read their contents. If the result is false, call still_there().
  bool is_as_left() const;
  /// Fails if the file is displaced, or if its state cannot be determined because the file cannot
  /// be read.
  [[nodiscard]] std::expected<void, WorldError> still_there();
  /// If the file is displaced, returns a message that describes what happened and includes the
  /// path. Otherwise, returns null. May be called on any thread. The string remains valid as long
  /// as this object exists.
  const std::string* displaced() const noexcept {
    return displaced_->is_so.load(std::memory_order_acquire) ? &displaced_->text : nullptr;
  }
  /// Writes the rows of `save` to a new file next to this one, named NAME-rescued.muster (or
  /// NAME-rescued-2.muster, and so on). The new file contains the same world with one more
  /// checkpoint and no journal. Returns its path. After an error, no such file exists.
  [[nodiscard]] std::expected<std::string, WorldError> rescue(const CheckpointStamp& stamp, const Save& save) const;

  /// Returns true if a merge is due. A merge is due if no merge is running and at least `bytes`
  /// bytes (or the limit in the options, if lower) have been written to the -wal since the previous
  /// merge.
  bool merge_is_due(std::uint64_t bytes) const noexcept;
  /// Records the current end of the -wal for merge_beside(), which must be called next.
  void begin_merge() noexcept { use_.merge_begun(); }
  /// Merges the -wal on a separate connection, as fast as the disk allows. May run on any thread,
  /// concurrently with append() and the steps of a checkpoint.
  void merge_beside() noexcept;
  /// Must be called after merge_beside() has returned.
  void end_merge() noexcept;
  const WalUse& wal_use() const noexcept { return use_; }
  std::uint64_t merge_bytes() const noexcept { return options_.merge_bytes; }
  /// Returns the sequence number of the last input in the file's state or in the part of the
  /// journal that has been read. That input is on disk, because opening the file syncs the writes
  /// of an earlier owner.
  std::uint64_t durable() const noexcept { return std::max(meta_.sequence, journal_.end().last); }

  /// Replaces the file's rows with those of `save`, and removes all groups, because the new rows
  /// contain them. Uses a single transaction, which is on disk when the call returns. Writes only
  /// rows whose version has changed since this WorldFile wrote or compared them. After an error,
  /// the file still contains the previous checkpoint, and the next call starts over.
  [[nodiscard]] std::expected<CheckpointReport, WorldError> save(const CheckpointStamp& stamp, const Save& save);
  /// Lists the rows of `save` for a checkpoint, without copying columns. No other checkpoint may be
  /// made before that one. Until it ends, call the copy's preserver() before changing a column. The
  /// copy can be used for only one checkpoint. `saved` is the value that
  /// RegistryHost::begin_version returned before this process's most recent successful checkpoint
  /// of this file, or 0. `used` may contain an earlier, cleared copy with the same
  /// `preserved_bytes_max`. Its memory is reused, and `used` is empty afterwards.
  StateCopy preserve(const Save& save, std::uint64_t saved, std::uint64_t preserved_bytes_max,
                     std::optional<StateCopy>& used) const;
  /// Makes a checkpoint of copied rows. Returns no value if another program has written to the file
  /// since the rows were copied, which makes the copy unusable. In that case, the file still
  /// contains the previous checkpoint, and the next checkpoint writes all rows.
  [[nodiscard]] std::expected<std::optional<CheckpointReport>, WorldError> save(const CheckpointStamp& stamp,
                                                                                const StateCopy& copied);

  /// Begins a checkpoint that is written in steps. Groups may be appended between steps, but they
  /// are not part of the checkpoint. New rows are written next to the current ones, so the file
  /// contains the previous checkpoint until the step that makes all new rows current. The stamp and
  /// the copy must remain valid until the last step. Until then, do not move this object or call
  /// preserve(). begin_save(), save(), and load() abandon an unfinished checkpoint.
  void begin_save(const CheckpointStamp& stamp, const StateCopy& copied);
  /// Runs one step in one transaction. After an error, the checkpoint is abandoned, and the file
  /// contains the previous checkpoint.
  [[nodiscard]] std::expected<SaveStep, WorldError> step_save(const SaveSlice& slice = {});
  /// Removes some of the rows and groups that are no longer needed: rows that the current
  /// checkpoint replaced or a failed checkpoint left, and groups that the current checkpoint
  /// contains. Returns true if more rows or groups remain. The next checkpoint removes any that are
  /// left.
  [[nodiscard]] std::expected<bool, WorldError> remove_past(const SaveSlice& slice = {});
  /// Returns how many bytes of pages the previous merge left in the -wal because another program
  /// was reading an older state of the file. The -wal grows until that program stops reading.
  std::uint64_t held_bytes() const noexcept { return use_.held(); }

 private:
  WorldFile(std::string shown, std::string path, WorldFileOptions options, WorldLock lock)
      : shown_(std::move(shown)),
        path_(std::move(path)),
        given_(path_),
        options_(std::move(options)),
        lock_(std::move(lock)) {}
  std::expected<void, WorldError> open_database();
  std::expected<void, WorldError> create();
  std::expected<void, WorldError> check_tables();
  std::expected<void, WorldError> check_mark(bool had_wal) const;
  std::expected<void, WorldError> check_wal();
  /// If there is a foreign -wal next to the file, adds advice to an error.
  WorldError with_wal(const WorldError& error) const;
  std::expected<void, WorldError> begin_writing(const char* doing);
  /// Commits the transaction and checks that the file is not displaced. settle() must be called
  /// next.
  std::expected<void, WorldError> commit(const char* doing);
  /// Rereads the file if another program wrote to it during commit(). Must be called once this
  /// object's state is up to date.
  std::expected<void, WorldError> settle();
  void set_mark(std::uint64_t group) noexcept;
  std::unexpected<WorldError> displace(const std::string& what);
  /// Reads the whole file on a separate connection. If `alone` is set, ignores the -wal.
  std::expected<void, WorldError> read_again(bool alone) const;
  /// Describes how the file without its -wal differs from its earlier state. Returns an empty
  /// string if it does not differ.
  std::string alone_differs() const;
  /// Removes leftover rows until `enough` returns true. Returns the number of rows removed.
  std::expected<std::size_t, WorldError> remove_left_over(const std::function<bool()>& enough);
  /// Removes past rows and groups until `enough` returns true, and commits the caller's
  /// transaction.
  std::expected<void, WorldError> remove_some_past(const std::function<bool()>& enough);
  /// Returns true if another program has written to the file since the rows were read.
  std::expected<bool, WorldError> is_foreign();
  FileMeta next_meta(const CheckpointStamp& stamp, const std::vector<FilePoint>& past) const;
  std::expected<void, WorldError> read_past(const FileMeta& meta, const std::string& what, const Read& read);
  // --- server/world/file/file_past.cc ---
  /// Returns the past checkpoints to keep once a checkpoint with this stamp is current.
  std::vector<FilePoint> next_past(const CheckpointStamp& stamp) const;
  /// Returns true if the current checkpoint must or should be kept as a past one.
  bool becomes_past(const CheckpointStamp& stamp) const;
  /// Returns the number of the newest checkpoint whose rows a checkpoint with this stamp must keep,
  /// or 0.
  std::uint64_t kept_rows(const CheckpointStamp& stamp, const std::vector<FilePoint>& past) const noexcept;
  /// Finds the sizes of the groups that are kept.
  std::expected<void, WorldError> measure_past();
  /// Must be called once a checkpoint that contains the groups up to `contained` is current.
  /// `before` are the past checkpoints that were kept until then.
  void count_past(const std::vector<FilePoint>& before, const JournalEnd& contained);
  /// Makes the rows of the level known again after another program has written to the file. Must be
  /// called inside the transaction of a checkpoint, once all newer rows have been removed.
  std::expected<void, WorldError> know_level();
  /// Returns the number of the checkpoint whose rows a checkpoint with this stamp must keep, or 0.
  std::uint64_t kept_level(const CheckpointStamp& stamp) const noexcept {
    return meta_.level && stamp.level == LevelAct::none ? meta_.level->checkpoint : 0;
  }
  /// Returns true if the checkpoint would be identical to the previous one.
  bool is_unchanged(const CheckpointStamp& stamp, const FileSink& sink, const JournalEnd& contained) const;
  CheckpointReport unchanged() const;
  /// Writes the tables other than `state`, and makes everything current.
  std::expected<CheckpointReport, WorldError> make_current(const CheckpointStamp& stamp, FileSink& sink, FileMeta meta,
                                                           const JournalEnd& contained);
  std::expected<SaveStep, WorldError> step_beside(const SaveSlice& slice);
  void give_up_save();
  void note_merge();
  /// Counts the bytes written, and merges the -wal if a merge is due.
  void wrote(Merges merges) noexcept;
  void merge_in_time() noexcept;
  std::expected<CheckpointReport, WorldError> save_whole(const CheckpointStamp& stamp, const Save& save,
                                                         const JournalEnd& contained);
  std::expected<std::optional<CheckpointReport>, WorldError> save_copy(const CheckpointStamp& stamp,
                                                                       const StateCopy& copied,
                                                                       const JournalEnd& contained);
  std::expected<CheckpointReport, WorldError> write(const CheckpointStamp& stamp, const Save& save,
                                                    const JournalEnd& contained);
  WorldError error(WorldErrorCode code, std::string detail) const { return {code, shown_, std::move(detail)}; }

  /// An unfinished checkpoint that is being written in steps.
  struct Begun {
    const CheckpointStamp* stamp;
    const StateCopy* copied;
    JournalEnd contained;
    std::vector<FilePoint> past = {};  // see next_past()
    std::optional<FileSink> sink = {};
    std::size_t given = 0;                                    // rows of the copy passed so far
    std::optional<std::vector<FileSink::Row>> vanished = {};  // set once all rows were passed

    // Number of vanished rows that have been removed.
    std::size_t removed = 0;
  };

  std::string shown_, path_;
  std::string given_;  // the path as given, made absolute
  WorldFileOptions options_;
  WorldLock lock_;  // released after the database is closed
  std::optional<Database> database_;
  FileJournal journal_;
  FileHistory history_;
  std::uint32_t format_ = world_format::version;
  FileMeta meta_;
  StateDigest digest_;
  KeptRows rows_;
  std::vector<std::int64_t> left_over_;  // rows to remove, in this order
  PastRowsBy past_rows_;                 // rows that only kept checkpoints need
  // For each of FileMeta::past, the size of the groups from it to the next one or to the current
  // checkpoint.
  std::vector<std::uint64_t> past_groups_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> new_groups_;  // newer groups and their sizes
  // True if the current checkpoint must be kept as a past one. If the states before it do not lead
  // to its state by the journal, it must.
  bool is_fresh_ = true;
  bool journal_given_up_ = false;
  bool rows_known_ = false;   // true if rows_ and digest_ match the file
  std::string data_version_;  // changes if another program writes to the file
  std::optional<Begun> begun_;
  std::uint64_t saves_ = 0;
  WalUse use_;
  std::optional<Database> beside_;        // for merges; closed before database_
  std::optional<std::uint64_t> in_file_;  // result of merge_beside()
  std::optional<FileStamp> merged_;       // state of the file after a merge
  bool foreign_wal_ = false;              // the -wal belongs to another process

  // True if the lock file has been synced since this process took the lock.
  bool lock_is_synced_ = false;
  bool file_differs_ = false;  // set by commit(), cleared by settle()
  bool unread_wal_ = false;    // a foreign -wal not yet verified to belong to the file
  // Contents of the file without its -wal, as of opening or the most recent merge.
  FileAlone alone_;
  std::optional<FileAlone> merged_alone_;  // becomes alone_ in end_merge()
  std::unique_ptr<FileWatch> watch_;       // null if there is no file yet
  struct Displaced {
    std::atomic<bool> is_so = false;
    std::string text;  // written before is_so
  };
  std::unique_ptr<Displaced> displaced_ = std::make_unique<Displaced>();
};

}  // namespace muster
