// Turns the edits of a step into parts, by comparing the rows before and after each edit.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "registry/apply/edit_log.h"
#include "registry/history/id_set.h"
#include "registry/history/rows_now.h"

namespace muster::history {

class Recording {
 public:
  explicit Recording(const EntityRegistry& registry) noexcept : now_(registry) {}

  void before(const Edit& edit);
  /// Calls `take` with each part of the edit, in the order in which the edit made the changes.
  void after(const Edit& edit, bool refused, const std::function<void(Part)>& take);
  /// Must be called at the beginning of each step. `revives` is true for an undo or redo. There, an
  /// entity whose parent was created in the same step is not a part of its own.
  void begin_step(bool revives);

 private:
  /// A component of an entity before the edit.
  struct Was {
    Entity entity;
    Layout layout;
    bool present;
    std::size_t at;  // in bytes_
  };
  void keep(Entity e, TypeId component);
  void keep_all(const Edit& edit);
  void keep_merge(const Edit& edit);
  void keep_names(const Edit& edit);
  void keep_places(const Edit& edit);
  void keep_destroyed(const Edit& edit);
  void keep_template(const Edit& edit);
  void compare(const Was& was, const std::function<void(Part)>& take) const;
  void compare_values(const Was& was, std::span<const std::byte> before, std::span<const std::byte> after,
                      const std::function<void(Part)>& take) const;
  void take_created(const Edit& edit, const std::function<void(Part)>& take);

  RowsNow now_;
  std::vector<Was> was_;
  std::vector<std::byte> bytes_;
  std::vector<Part> parts_;           // complete except for `after`
  std::vector<std::uint8_t> living_;  // MergeTemplate: parallel to the targets
  bool revives_ = false;
  IdSet created_;  // if revives_
};

/// Returns the contents of the texts in a component's bytes [offset, offset + bytes).
void texts_in(const RowsNow& now, const TypeDescriptor& type, std::span<const std::byte> value, std::uint32_t offset,
              std::vector<std::string>& texts);
/// Returns the nearest ancestors of `e`, at most Details::ancestors_max of them.
std::vector<Entity> ancestors_of(const RowsNow& now, Entity e);

}  // namespace muster::history
