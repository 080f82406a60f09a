// The acts that a world needs of its storage: read, append a group of inputs, write a checkpoint at
// once or in steps, return to past states. Rows, groups and steps are bytes; a store does not
// depend on a registry.
//
//   World, Saver, replay, look into the past
//      │
//    Store                        this interface
//      │
//   RowStore                      the rows of a world, the same in each database (row_store.h)
//      │
//   WorldFile                     a SQLite file (server/world/file/world_file.h)
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/history/edit_history.h"
#include "registry/state/state.h"
#include "schema/descriptor.h"
#include "server/world/journal/journal_group.h"
#include "server/world/rows/state_copy.h"
#include "server/world/store/checkpoint_report.h"
#include "server/world/store/file_meta.h"
#include "server/world/store/world_error.h"

namespace muster {

/// A checkpoint from which the states until the next one can be made again.
struct FilePast {
  FilePoint point;
  std::uint64_t last_tick = 0;   ///< the newest tick that can be reached
  std::uint64_t last_group = 0;  ///< number of the last group before the next such checkpoint
};

/// An act of a checkpoint on the level, which is a past checkpoint whose rows are kept.
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
  /// The types to describe for people who read the tables. This description is never read back.
  std::span<const TypeDescriptor* const> types = {};

  /// Requests of sessions that were applied (FileMeta::requests).
  std::string requests = {};

  /// If true, and if the rows, steps, sequence number, and tick equal those of the previous
  /// checkpoint, nothing is written and the previous report is returned.
  bool only_if_changed = false;
  LevelAct level = LevelAct::none;
  std::optional<RunSteps> run_steps = {};  ///< see FileMeta::run_steps
};

/// Selects when a merge (Store::begin_merge) that is due after a write takes place.
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
    done,  ///< the checkpoint is current and durable
    /// Abandoned because another program wrote to the store; the next checkpoint writes everything.
    stale,
  };
  State state = State::more;
  CheckpointReport report = {};  ///< set if the state is `done`
};

/// How much written data waits to be merged.
enum class Pressure : std::uint8_t {
  none,
  steps_wait,  ///< the steps of a checkpoint wait until a merge has ended
  all_wait,    ///< groups wait as well
};

/// How much must wait to be merged for a merge to be due.
enum class MergeAt : std::uint8_t {
  usual,   ///< as much as the store chooses
  little,  ///< little, so that a merge takes a short time
  any,     ///< anything
};

/// A world in a store, opened by one owner. May be used on any thread, but only by one thread at a
/// time, except for members marked otherwise.
///
/// Before each write, and again before the write counts as durable, a store checks that it is still
/// the only owner. If not, it is permanently displaced. From then on, nothing is written, and every
/// call that writes fails with WorldErrorCode::displaced.
class Store {
 public:
  using Save = std::function<void(StateSink&)>;
  using Read = std::function<std::expected<void, StateError>(StateSource&)>;
  /// A function that is called for each group. If it returns false, the remaining groups are only
  /// checked. If it rejects a group, the error explains the reason.
  using TakeGroup = std::function<std::expected<bool, std::string>(const JournalGroup&)>;
  /// A function that is called for each step of the history, in ascending order of numbers.
  using TakeStep = std::function<void(std::uint64_t number, std::span<const std::byte> bytes)>;

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Returns true until the world's first checkpoint is durable.
  virtual bool is_new() const noexcept = 0;
  /// Returns true if the world has an older layout. The first checkpoint converts it.
  virtual bool is_older() const noexcept = 0;
  virtual std::uint32_t format() const noexcept = 0;
  virtual const FileMeta& meta() const noexcept = 0;
  virtual const std::string& path() const noexcept = 0;  ///< the name of the world as it was given
  /// Returns the path to which the names of this machine's files about the world are made, for
  /// example by adding "-work".
  virtual const std::string& beside() const noexcept = 0;
  /// Returns the sequence number of the last input in the state or in the part of the journal that
  /// has been read. That input is durable.
  virtual std::uint64_t durable() const noexcept = 0;

  /// Passes the rows to `read`, and checks all of them, including rows that `read` does not
  /// consume. After an error, the caller must discard what `read` has built; the store is
  /// unchanged. For a new world, `read` is not called.
  [[nodiscard]] virtual std::expected<void, WorldError> load(const Read& read) = 0;
  /// Passes the rows of the level (FileMeta::level), which must exist, to `read`, and checks them
  /// as load() does. Changes nothing.
  [[nodiscard]] virtual std::expected<void, WorldError> load_level(const Read& read) = 0;
  /// Verifies the steps of the history, and passes them to `take`. Must be called after load().
  [[nodiscard]] virtual std::expected<void, WorldError> steps(const TakeStep& take) = 0;
  /// Verifies the groups of inputs after the checkpoint and passes them to `take`, in order. Once
  /// `take` returns false, the remaining groups are only verified. If a group is invalid or
  /// missing, the error gives its position and explains how to continue without it. Changes
  /// nothing. Must be called after load() and before any write, because append() and save() fail
  /// while there are unread groups.
  [[nodiscard]] virtual std::expected<JournalReport, WorldError> journal(const TakeGroup& take) = 0;
  /// Gives up the groups that journal() could not read: the next checkpoint removes them. Must be
  /// called only if that checkpoint drops the level, which does not depend on them.
  virtual void give_up_journal() noexcept = 0;

  /// Returns the checkpoints whose states load_past() can read, the oldest first and the current
  /// one last. Must be called after journal().
  [[nodiscard]] virtual std::expected<std::vector<FilePast>, WorldError> past() = 0;
  /// Verifies all rows of the current and past states, and the groups between the latter. Must be
  /// called after journal().
  [[nodiscard]] virtual std::expected<void, WorldError> check_past() = 0;
  /// Makes the next checkpoint keep the current one as a past one.
  virtual void keep_current() noexcept = 0;
  /// Passes the rows of a checkpoint that past() returned to `read`, and checks them as load()
  /// does. Changes nothing.
  [[nodiscard]] virtual std::expected<void, WorldError> load_past(const FilePast& past, const Read& read) = 0;
  /// Verifies the groups from such a checkpoint to the next one, and passes them to `take`.
  [[nodiscard]] virtual std::expected<void, WorldError> past_journal(const FilePast& past, const TakeGroup& take) = 0;

  /// Appends a group in one transaction, which is durable when the call returns, and sets the
  /// group's id. The group's inputs must directly follow `durable()`. After an error, the store is
  /// unchanged (although after a power failure it may contain the group), and the same group may be
  /// appended again. Fails before the world's first checkpoint and if is_older().
  [[nodiscard]] virtual std::expected<void, WorldError> append(JournalGroup& group,
                                                               Merges merges = Merges::at_once) = 0;
  /// Replaces the rows with those of `save`, and removes all groups, because the new rows contain
  /// them. Uses a single transaction, which is durable when the call returns. Writes only rows
  /// whose version has changed since this object wrote or compared them. After an error, the store
  /// still contains the previous checkpoint, and the next call starts over.
  [[nodiscard]] virtual std::expected<CheckpointReport, WorldError> save(const CheckpointStamp& stamp,
                                                                         const Save& save) = 0;
  /// Lists the rows of `save` for a checkpoint, without copying columns. No other checkpoint may be
  /// made before that one. Until it ends, call the copy's preserver() before changing a column. The
  /// copy can be used for only one checkpoint. `saved` is the value that
  /// RegistryHost::begin_version returned before this process's most recent successful checkpoint
  /// of this world, or 0. `used` may contain an earlier, cleared copy with the same
  /// `preserved_bytes_max`. Its memory is reused, and `used` is empty afterwards.
  virtual StateCopy preserve(const Save& save, std::uint64_t saved, std::uint64_t preserved_bytes_max,
                             std::optional<StateCopy>& used) const = 0;
  /// Makes a checkpoint of copied rows. Returns no value if another program has written to the
  /// store since the rows were copied, which makes the copy unusable. In that case, the store still
  /// contains the previous checkpoint, and the next checkpoint writes all rows.
  [[nodiscard]] virtual std::expected<std::optional<CheckpointReport>, WorldError> save(const CheckpointStamp& stamp,
                                                                                        const StateCopy& copied) = 0;
  /// Begins a checkpoint that is written in steps. Groups may be appended between steps, but they
  /// are not part of the checkpoint. New rows are written next to the current ones, so the store
  /// contains the previous checkpoint until the step that makes all new rows current. The stamp and
  /// the copy must remain valid until the last step. Until then, do not move this object or call
  /// preserve(). begin_save(), save(), and load() abandon an unfinished checkpoint.
  virtual void begin_save(const CheckpointStamp& stamp, const StateCopy& copied) = 0;
  /// Runs one step in one transaction. After an error, the checkpoint is abandoned, and the store
  /// contains the previous checkpoint.
  [[nodiscard]] virtual std::expected<SaveStep, WorldError> step_save(const SaveSlice& slice = {}) = 0;
  /// Removes some of the rows and groups that are no longer needed: rows that the current
  /// checkpoint replaced or a failed checkpoint left, and groups that the current checkpoint
  /// contains. Returns true if more rows or groups remain. The next checkpoint removes any that are
  /// left.
  [[nodiscard]] virtual std::expected<bool, WorldError> remove_past(const SaveSlice& slice = {}) = 0;

  /// Returns false if another owner or program may have changed the store since this object last
  /// wrote to it. Does not wait. If the result is false, call still_there().
  virtual bool is_as_left() const = 0;
  /// Fails if this object is displaced, or if the store cannot be reached.
  [[nodiscard]] virtual std::expected<void, WorldError> still_there() = 0;
  /// If this object is displaced, returns a message that describes what happened. Otherwise,
  /// returns null. May be called on any thread. The string remains valid as long as this object
  /// exists.
  virtual const std::string* displaced() const noexcept = 0;
  /// Returns what to do to go on with the state that rescue() wrote to `rescued`.
  virtual std::string way_on(const std::string& rescued) const = 0;
  /// Writes the rows of `save` to a new file next to beside(), named NAME-rescued.muster (or
  /// NAME-rescued-2.muster, and so on). The new file contains the same world with one more
  /// checkpoint and no journal. Returns its path. After an error, no such file exists.
  [[nodiscard]] virtual std::expected<std::string, WorldError> rescue(const CheckpointStamp& stamp,
                                                                      const Save& save) const = 0;

  /// Returns true if a merge is due. A merge moves written data to its final place. In a store that
  /// writes to the final place at once, no merge is ever due.
  virtual bool merge_is_due(MergeAt at) const noexcept = 0;
  virtual bool is_merging() const noexcept = 0;
  virtual Pressure pressure() const noexcept = 0;
  /// Begins a merge of all that was written. merge_beside() must be called next.
  virtual void begin_merge() noexcept = 0;
  /// Merges, as fast as the disk allows. May run on any thread, concurrently with append() and the
  /// steps of a checkpoint.
  virtual void merge_beside() noexcept = 0;
  /// Must be called after merge_beside() has returned.
  virtual void end_merge() noexcept = 0;
  /// Returns how many bytes the previous merge left because another program was reading an older
  /// state. They grow until that program stops reading.
  virtual std::uint64_t held_bytes() const noexcept = 0;

 protected:
  Store(Store&&) noexcept = default;
};

}  // namespace muster
