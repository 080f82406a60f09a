// Makes the messages that take back a step. The messages are not applied; an Overlay tracks what
// they change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "messages/row_set.h"
#include "registry/history/edit_history.h"
#include "registry/history/overlay.h"
#include "registry/history/parked.h"
#include "registry/history/places.h"
#include "registry/history/rows_now.h"
#include "registry/history/step_writer.h"

namespace muster::history {

class Inverse {
 public:
  /// `sight` is null if the user who undoes the step sees everything.
  Inverse(const EntityRegistry& registry, const Places& places, const Parked& parked,
          const HistorySight* sight = nullptr) noexcept
      : now_(registry), places_(places), parked_(parked), sight_(sight), overlay_(now_, sight) {}

  /// Applies the rules for conflicts. Only one of these functions may be called, and only once.
  UndoReport undo(const Step& step, StepAct act, Conflicts conflicts);
  /// Returns the batch with the Step that undo() made. Its report must not have a `done` of 0.
  std::span<const std::byte> batch() noexcept { return edits_.step(); }
  /// Takes back the edits of an input that is still being applied. There are no conflicts.
  std::vector<std::byte> take_back(const Step& step);

 private:
  void part(const Part& part, bool last);
  void field(const Part& part);
  void added(const Part& part);
  void removed(const Part& part);
  void created(const Part& part, bool last);
  void destroyed(const Part& part, bool last);
  void moved(const Part& part);
  void renamed(const Part& part);
  void defined(const Part& part);

  /// Returns true if the user would not see an entity of this name below the parent.
  bool hides(Entity parent, std::string_view name) const { return sight_ && !sight_->may_place(parent, name); }
  /// Returns the user who edited a place later, if that is a conflict.
  bool conflicts(const Places::User& user, Skip reason, const Part& part, std::string_view theirs = {});
  void skip(Skip reason, const Part& part, std::uint64_t user = 0, std::string_view theirs = {});
  bool known_layout(const Layout& layout) const;
  bool known_definition(std::span<const std::byte> table) const;
  /// Writes nil over references to entities that are neither alive nor parked. Returns the number
  /// of such references.
  std::uint32_t clear_references(const TypeDescriptor& type, std::span<std::byte> value, std::uint32_t offset);
  /// True if an entity of the snapshot is alive, which is possible only in damaged bytes.
  bool any_alive(const Snapshot& snapshot) const;
  /// Returns the nearest ancestor of `parent` that is alive, or nil.
  Entity living_ancestor(Entity parent, const std::vector<Entity>& ancestors) const;
  /// Returns the sibling before which an entity belongs, or nil for the last place.
  Entity before_at(const Place& place, Entity e) const;
  /// Returns `name`, or the next free name with a suffix if a sibling has it.
  std::string free_name(Entity parent, std::string_view name, Entity e);
  Text intern(std::string_view text);
  void intern_all(const std::vector<std::string>& texts);
  /// Appends the Set of the component that fields have been written to.
  void write_fields();
  void set(Entity e, const StoredType& type, std::span<const std::byte> value, SetMode mode);
  /// Appends the messages that managers saved.
  void append_held(const Part& part);
  void create_rows(const Snapshot& snapshot, Entity parent, Entity before, std::string_view name);
  /// How the rows of a shape become Creates.
  struct RowPlan {
    /// Bytes that are copied. `type` is null if they need no check.
    struct Copy {
      std::uint32_t from, to, bytes;
      const TypeDescriptor* type;
    };
    RowSet rows;
    std::vector<Copy> copies;
    std::uint32_t payload_offset = 0, item_bytes = 0;
    bool has_gaps = true;  // true if the copies do not fill the payload
  };
  RowPlan plan(const Snapshot::Shape& shape) const;
  void make(const Step& step);
  void write_row(const RowPlan& plan, const Create& message, const std::byte* values, std::byte* payload);

  RowsNow now_;
  const Places& places_;
  const Parked& parked_;
  const HistorySight* const sight_;
  Overlay overlay_;
  const Step* step_ = nullptr;
  Conflicts conflicts_ = Conflicts::skip;
  bool exact_ = false;  // take_back()
  UndoReport report_;
  StepWriter edits_;
  std::unordered_set<std::uint64_t> interned_;
  // The next suffix to try, by parent and name.
  std::unordered_map<std::string, std::uint32_t> suffixes_;
  std::vector<std::uint8_t> revivable_;  // parallel to the step's parts
  // The component to whose fields values have been written; nil if there is none.
  Entity written_;
  TypeId written_component_ = 0;
};

}  // namespace muster::history
