// Records the edits of sessions as steps that their authors can undo and redo. docs/undo.md states
// the rules; the names used there (step, part, place, conflict) are the names used here.
//
//   a session's input   before(), after()            each edit becomes parts of a step
//   undo(), redo()      inverse of the newest step   pushed as one Step, recorded like any edit,
//                                                    and put on the other stack
//   replay              the same calls               the journal contains the Step itself, so a
//                                                    replay makes the same stacks
//
// The history is not part of the registry's state and of no hash. Parked ids are, so they are
// released by a message (release_ids).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/apply/edit_log.h"
#include "registry/entity_registry.h"
#include "registry/history/kept_edits.h"

namespace muster {

/// Has the same values as session::UndoAct.
enum class HistoryAct : std::uint8_t { undo = 0, redo = 1 };
/// Has the same values as session::OnConflict.
enum class Conflicts : std::uint8_t { skip = 0, overwrite = 1 };
/// Has the same values as session::SkipReason.
enum class Skip : std::uint8_t {
  edited_by_other,
  not_alive,
  component_missing,
  component_exists,
  worked_on_by_other,
  id_released,
  would_be_circle
};

/// A part of a step that was not undone.
struct SkippedPart {
  Skip reason = Skip::not_alive;
  Entity entity = {};      ///< nil for a template
  TypeId component = 0;    ///< 0 if the part does not concern a component
  std::string field = {};  ///< the property, the template's name, or empty
  std::uint64_t user = 0;  ///< the user whose edit conflicts, or 0
  /// The value that would have been written, and the current one, as bytes of the property. Empty
  /// if the part does not concern a property.
  std::vector<std::byte> mine = {}, theirs = {};
};

struct UndoReport {
  std::uint64_t sequence = 0;  ///< of the input that was made; of the registry in a dry run
  std::string label = {};
  std::string what = {};          ///< describes the step by its first part
  std::uint32_t done = 0;         ///< parts
  std::uint32_t passed_over = 0;  ///< newer steps of which nothing was left to do
  std::uint32_t nil_references = 0, other_parents = 0, other_names = 0;
  std::vector<SkippedPart> skipped = {};
};

struct HistoryStep {
  std::uint64_t sequence = 0;  ///< of the newest input of the step
  std::string_view label;      ///< empty if the sender gave none
  std::uint32_t parts = 0;
  bool redo = false;
  std::string what = {};  ///< describes the step by its first part, as in session::Undone
};

/// Decides what the author of steps may see. An undo for this author treats everything else as if
/// it did not exist: it skips those parts, and its report does not depend on them.
class HistorySight {
 public:
  /// Returns true if the entity is alive and visible.
  virtual bool sees(Entity e) const = 0;
  /// Returns true if the component's type is visible.
  virtual bool sees(TypeId component) const = 0;
  /// Returns true if an entity of this name would be visible below the parent.
  virtual bool may_place(Entity parent, std::string_view name) const = 0;

 protected:
  ~HistorySight() = default;
};

/// Used only on the registry's thread, between inputs, except for the functions of EditLog, which
/// the registry calls.
class EditHistory final : public EditLog {
 public:
  /// Becomes the registry's edit log until it is destroyed. `bytes_max` is the limit on the memory
  /// of all steps: after each input, the oldest steps are dropped until the limit is met. The
  /// registry must outlive this object.
  EditHistory(EntityRegistry& registry, std::uint64_t bytes_max);
  ~EditHistory() override;
  EditHistory(const EditHistory&) = delete;
  EditHistory& operator=(const EditHistory&) = delete;

  /// Undoes or redoes the newest step of `by.user` that would change anything. The Step that this
  /// pushes has `by` as its sender, whose session must not be 0. Drops the newer steps, which the
  /// report counts as `passed_over`. If no step would change anything, `done` is 0 and nothing is
  /// changed or dropped; the report then describes the newest step. A dry run changes nothing. If
  /// `only_newest` is set, no step is passed over, and the report describes the newest step. If
  /// `sight` is null, the user sees everything.
  UndoReport apply(HistoryAct act, const Sender& by, Conflicts conflicts, bool dry, bool only_newest = false,
                   const HistorySight* sight = nullptr);

  /// Pushes a ReleaseIds for the parked ids that no step can revive. After load() and clear(), the
  /// first call looks at all ids of the registry. Returns the number of steps that were dropped
  /// because of the limit since the previous call. A host calls this between inputs, but not during
  /// a replay, since the journal contains the message.
  std::uint32_t release_ids();

  std::uint32_t steps(std::uint64_t user, HistoryAct act) const noexcept;
  /// Returns up to `limit` steps from `offset` on: first the steps to redo, the next one to redo
  /// last; then the steps to undo, the next one to undo first. Valid until the next input. If
  /// `sight` is null, the user sees everything.
  std::vector<HistoryStep> list(std::uint64_t user, std::uint32_t offset, std::uint32_t limit,
                                const HistorySight* sight = nullptr) const;
  /// Returns a number that changes whenever the user's stacks change.
  std::uint64_t version(std::uint64_t user) const noexcept;
  std::uint64_t bytes() const noexcept;

  /// An entity or a template that a user made, according to the steps that the user could undo.
  struct Made {
    std::uint64_t user = 0;
    Entity entity = {};     ///< nil for a template
    std::string name = {};  ///< of a template
  };
  /// Returns what all users made, the oldest first. An entity or a template may occur several times
  /// and may no longer exist. The entities below the root of a Spawn are not listed.
  std::vector<Made> made() const;
  /// Drops all steps of a user. Returns the number of steps.
  std::uint32_t drop_steps(std::uint64_t user);
  /// Drops the steps whose newest input has a higher sequence number than `sequence`. Must be
  /// called after the registry was given the state that it had after that input. The next
  /// release_ids() looks at all ids.
  void keep_until(std::uint64_t sequence);

  // --- saving ---

  /// A step as it is saved. `number` identifies it; numbers are never used twice and grow in the
  /// order in which the steps were made.
  struct Saved {
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;  ///< empty if the step no longer exists
    bool of_last_run = false;      ///< comes from also_save()
  };
  /// Returns the steps that were added, changed or dropped since the previous call.
  std::vector<Saved> take_changes();
  /// Puts the result of take_changes() back, because it could not be written.
  void put_back(std::vector<Saved> changes);
  /// Adds steps of the last run to the next result of take_changes().
  void also_save(std::vector<Saved> steps);
  /// Returns all steps, without any effect on take_changes().
  std::vector<Saved> all() const;
  /// Replaces the history with saved steps, in ascending order of their numbers. Returns a sentence
  /// if a step cannot be read; the history is then empty.
  std::expected<void, std::string> load(std::span<const Saved> steps);
  void clear();

  // --- runs ---

  /// Puts the steps of the level aside, and starts an empty history of a run. Must not be called
  /// during a run. Later calls of the functions above concern the run alone.
  void begin_run();
  /// Drops the steps of the run, and continues with those of the level. The caller has given the
  /// registry the state that it had at begin_run().
  void end_run();
  /// Returns up to `limit` steps of the run from `offset` on, the newest first. Steps that were
  /// undone are not among them. Returns none if no run is on.
  std::vector<RunEdit> run_edits(std::uint32_t offset, std::uint32_t limit) const;
  /// Replaces names in the selection by ids. Returns a sentence if the selection does not contain
  /// any edits of the run.
  std::string find_run_edits(KeepSelection& selection) const;

  // --- EditLog ---

  void before(const Edit& edit) override;
  void after(const Edit& edit, const Refusal& refusal) override;
  void step_begins(const Sender& by, const StepView& step) override;
  std::span<const std::byte> take_back() override;
  void step_ends(bool applied) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<Impl> level_;  // during a run
};

}  // namespace muster
