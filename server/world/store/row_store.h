// The rows of a world, in whichever database they are: which rows a checkpoint writes, which of
// them past checkpoints need, how groups follow each other. docs/file-format.md describes the
// tables. A database of its own adds how it is opened, and what it does around a transaction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/world/rows/format.h"
#include "server/world/rows/kept_rows.h"
#include "server/world/store/database.h"
#include "server/world/store/file_history.h"
#include "server/world/store/file_journal.h"
#include "server/world/store/file_sink.h"
#include "server/world/store/past_rows.h"
#include "server/world/store/store.h"

namespace muster {

/// Movable as long as no checkpoint has been begun.
class RowStore : public Store {
 public:
  bool is_new() const noexcept override { return meta_.checkpoint == 0; }
  bool is_older() const noexcept override { return format_ < world_format::version; }
  std::uint32_t format() const noexcept override { return format_; }
  const FileMeta& meta() const noexcept override { return meta_; }
  const std::string& path() const noexcept override { return shown_; }
  std::uint64_t durable() const noexcept override { return std::max(meta_.sequence, journal_.end().last); }

  [[nodiscard]] std::expected<void, WorldError> load(const Read& read) override;
  [[nodiscard]] std::expected<void, WorldError> load_level(const Read& read) override;
  [[nodiscard]] std::expected<void, WorldError> steps(const TakeStep& take) override;
  [[nodiscard]] std::expected<JournalReport, WorldError> journal(const TakeGroup& take) override;
  void give_up_journal() noexcept override;
  [[nodiscard]] std::expected<std::vector<FilePast>, WorldError> past() override;
  [[nodiscard]] std::expected<void, WorldError> check_past() override;
  void keep_current() noexcept override { is_fresh_ = true; }
  [[nodiscard]] std::expected<void, WorldError> load_past(const FilePast& past, const Read& read) override;
  [[nodiscard]] std::expected<void, WorldError> past_journal(const FilePast& past, const TakeGroup& take) override;
  [[nodiscard]] std::expected<void, WorldError> append(JournalGroup& group, Merges merges = Merges::at_once) override;
  [[nodiscard]] std::expected<CheckpointReport, WorldError> save(const CheckpointStamp& stamp,
                                                                 const Save& save) override;
  StateCopy preserve(const Save& save, std::uint64_t saved, std::uint64_t preserved_bytes_max,
                     std::optional<StateCopy>& used) const override;
  [[nodiscard]] std::expected<std::optional<CheckpointReport>, WorldError> save(const CheckpointStamp& stamp,
                                                                                const StateCopy& copied) override;
  void begin_save(const CheckpointStamp& stamp, const StateCopy& copied) override;
  [[nodiscard]] std::expected<SaveStep, WorldError> step_save(const SaveSlice& slice = {}) override;
  [[nodiscard]] std::expected<bool, WorldError> remove_past(const SaveSlice& slice = {}) override;

  /// Makes this new world the same as `other`: its state, its past states, its journal and its
  /// history, with the same bytes and checksums. Checks nothing, so `other` must have been checked.
  /// After that, this object must be destroyed, and the copy be opened. After an error, this world
  /// is still new.
  [[nodiscard]] std::expected<void, WorldError> copy_from(RowStore& other);

 protected:
  /// `past_bytes` limits the size of the rows and groups that are kept for load_past(), where 0
  /// means that none are kept.
  RowStore(std::string shown, std::uint64_t past_bytes) : shown_(std::move(shown)), past_bytes_(past_bytes) {}
  RowStore(RowStore&&) noexcept = default;

  // --- What the database of its own adds ---
  /// Returns the tables, or null if they have not been created.
  virtual Database* tables() noexcept = 0;
  /// Creates the tables of a new world with checkpoint 0, for its first checkpoint.
  [[nodiscard]] virtual std::expected<void, WorldError> create() = 0;
  /// Checks that this object may write, and begins a transaction. Must check unread().
  [[nodiscard]] virtual std::expected<void, WorldError> begin_writing(const char* doing) = 0;
  /// Commits the transaction, and fails if this object is displaced. settle() must be called next.
  [[nodiscard]] virtual std::expected<void, WorldError> commit(const char* doing) = 0;
  /// Looks again at what commit() found. Must be called once this object's state is up to date.
  [[nodiscard]] virtual std::expected<void, WorldError> settle() = 0;
  /// Called once the current checkpoint and the journal's group `group` are durable.
  virtual void set_mark(std::uint64_t group) noexcept = 0;
  /// Called after each write that has succeeded.
  virtual void wrote(Merges merges) noexcept = 0;
  /// Returns true if another program has written to the tables since the rows were read. Must
  /// return true if rows_known_ is false, and set it to false if it returns true.
  [[nodiscard]] virtual std::expected<bool, WorldError> is_foreign() = 0;
  /// Called in the transaction that has read all rows.
  [[nodiscard]] virtual std::expected<void, WorldError> note_read() = 0;
  /// Called once the rows and the journal have been read and are intact.
  virtual void note_whole() noexcept {}
  /// Adds advice to an error about what was read.
  virtual WorldError explained(const WorldError& error) const { return error; }

  /// Fails if there are groups that have not been read, because a write would lose them.
  [[nodiscard]] std::expected<void, WorldError> unread() const;
  /// Forgets an unfinished checkpoint, and everything that refers to the tables.
  void let_go() noexcept;
  WorldError error(WorldErrorCode code, std::string detail) const { return {code, shown_, std::move(detail)}; }

  std::string shown_;
  std::uint64_t past_bytes_;
  FileJournal journal_;
  FileHistory history_;
  std::uint32_t format_ = world_format::version;
  FileMeta meta_;
  bool rows_known_ = false;  // true if rows_ and digest_ match the tables
  // True if the next checkpoint removes all groups that it does not contain.
  bool journal_given_up_ = false;

 private:
  /// Removes leftover rows until `enough` returns true. Returns the number of rows removed.
  std::expected<std::size_t, WorldError> remove_left_over(const std::function<bool()>& enough);
  /// Removes past rows and groups until `enough` returns true, and commits the caller's
  /// transaction.
  std::expected<void, WorldError> remove_some_past(const std::function<bool()>& enough);
  FileMeta next_meta(const CheckpointStamp& stamp, const std::vector<FilePoint>& past) const;
  std::expected<void, WorldError> read_past(const FileMeta& meta, const std::string& what, const Read& read);
  // --- server/world/store/row_past.cc ---
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
  /// Makes the rows of the level known again after another program has written to the tables. Must
  /// be called inside the transaction of a checkpoint, once all newer rows have been removed.
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
  std::expected<CheckpointReport, WorldError> save_whole(const CheckpointStamp& stamp, const Save& save,
                                                         const JournalEnd& contained);
  std::expected<std::optional<CheckpointReport>, WorldError> save_copy(const CheckpointStamp& stamp,
                                                                       const StateCopy& copied,
                                                                       const JournalEnd& contained);
  std::expected<CheckpointReport, WorldError> write(const CheckpointStamp& stamp, const Save& save,
                                                    const JournalEnd& contained);

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
  std::optional<Begun> begun_;
  std::uint64_t saves_ = 0;
};

}  // namespace muster
