// Takes edits of a run over into the level, as if they had been made without the run. docs/runs.md
// states the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schema/builtin.h"
#include "schema/descriptor.h"
#include "schema/muster.h"

namespace muster {

class EntityRegistry;
class TypeTable;

/// Something that edits of a run have changed.
struct KeepPlace {
  Entity entity = {};
  TypeId component = 0;     ///< 0 means the whole entity
  std::uint32_t field = 0;  ///< hash of a field's path, as in SetField; 0 means the whole component
  /// If `entity` is nil: the path, the end of the path, or the name that the entity had in the run.
  std::string name = {};
};

/// Selects edits of a run. An edit is kept if any part of the selection contains it.
struct KeepSelection {
  bool all = false;
  std::vector<std::uint64_t> steps = {};  ///< RunEdit::step
  std::vector<KeepPlace> places = {};
};

/// A step of a run, for lists.
struct RunEdit {
  std::uint64_t step = 0;  ///< sequence of the step's first input, also after it was redone
  std::uint64_t user = 0;
  std::string what = {};  ///< its label or, if it has none, a description of its first part
  bool marked = false;    ///< true if it will be kept when the run ends
};

/// The edits to apply to the level.
struct KeptEdits {
  std::vector<std::byte> batches;    ///< aligned to 16 bytes
  std::uint32_t messages = 0;        ///< how many there are
  std::uint32_t nil_references = 0;  ///< references to entities that are not kept
  /// The entities that receive an id of the level: their ids in the run and in the level.
  std::vector<std::pair<Entity, Entity>> created;
  /// A sentence for each edit that cannot be kept.
  std::vector<std::string> skipped;
};

namespace history {

struct Step;
class RowsNow;

/// Returns the selected edits of a run's steps in the order in which they were made. The registry
/// must contain the level. Entities that the run made receive ids that are granted to `session`,
/// and references to them follow. An entity is kept together with what edits put below it, and with
/// those of its ancestors that edits have made. If the level lacks an entity, edits of that entity
/// are skipped. Step::kept_as contains the entities that were kept earlier; those that are alive
/// are not created again.
KeptEdits kept_edits(EntityRegistry& level, std::span<const Step* const> run, const KeepSelection& selection,
                     std::uint64_t session);
/// Sets Step::strangers of the steps. The registry must contain the level as it was when the run
/// began.
void find_strangers(const EntityRegistry& level, std::span<Step> run);

/// Returns true for the messages that docs/undo.md calls edits, except for Step.
bool is_edit(TypeId type) noexcept;
/// Returns the selection of a step that consists of a KeepEdits, or an empty one.
KeepSelection selection_of(const Step& mark);
KeepEdits message_of(const KeepSelection& selection);
/// Lists steps, the newest first.
std::vector<RunEdit> listed(std::span<const Step* const> run, std::span<const Step* const> marks, std::uint32_t offset,
                            std::uint32_t limit, const TypeTable& types);
/// Returns true if the selection contains at least a part of a step.
bool selects(const KeepSelection& selection, std::span<const Step* const> run, const TypeTable& types);
/// Replaces the names in a selection by the ids that the entities had in the run. Returns a
/// sentence if a name has no entity or several.
std::string find_named(KeepSelection& selection, std::span<const Step* const> run);
/// Sets the members of a step of a run that describe it after the run.
void describe_run_step(Step& step, const RowsNow& now);

/// Returns the texts that a batch of edits mentions and that the registry knows.
std::vector<std::string> texts_of(const EntityRegistry& registry, std::span<const std::byte> batches);

}  // namespace history
}  // namespace muster
