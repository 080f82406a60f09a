// The destroyed entities that a step can revive.
#pragma once

#include <cstdint>
#include <vector>

#include "registry/history/parts.h"
#include "registry/storage/flat_map.h"

namespace muster::history {

class Parked {
 public:
  void add(const Step& step) {
    each(step, [&](Entity e, Entity parent) {
      const Entry* const known = entries_.find(e.bits());
      entries_.put(e.bits(), {parent, known ? known->steps + 1 : 1});
    });
  }
  /// Appends the entities that no step can revive any longer to `released`.
  void remove(const Step& step, std::vector<Entity>& released) {
    each(step, [&](Entity e, Entity) {
      Entry* const known = entries_.find(e.bits());
      if (!known || --known->steps > 0) return;
      entries_.erase(e.bits());
      released.push_back(e);
    });
  }
  bool contains(Entity e) const noexcept { return entries_.find(e.bits()) != nullptr; }
  /// Returns the parent that the entity had when it was destroyed, or null if it is not parked.
  const Entity* parent(Entity e) const noexcept {
    const Entry* const known = entries_.find(e.bits());
    return known ? &known->parent : nullptr;
  }
  void clear() noexcept { entries_.clear(); }

 private:
  struct Entry {
    Entity parent;
    std::uint32_t steps = 0;
  };
  template <class F>
  static void each(const Step& step, F f) {
    for (const Part& part : step.parts) {
      if (part.kind != PartKind::destroyed) continue;
      const std::vector<Snapshot::Row>& rows = part.details->snapshot.rows;
      for (std::size_t i = 0; i < rows.size(); ++i)
        f(rows[i].entity, i == 0 ? part.details->before.parent : rows[rows[i].parent].entity);
    }
  }

  FlatMap<std::uint64_t, Entry> entries_;
};

}  // namespace muster::history
