// The destroyed entities that a step can revive.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "registry/history/parts.h"
#include "registry/storage/flat_map.h"

namespace muster::history {

class Parked {
 public:
  void add(const Step& step) {
    each(step, [&](Entity e, Entity parent) {
      Page& page = need(e.index / page_entries);
      Entry& known = page.entries[e.index % page_entries];
      if (known.steps == 0) ++page.used;
      // Damaged steps may contain two generations of an index.
      known = {parent, e.generation, known.generation == e.generation ? known.steps + 1 : 1};
    });
  }
  /// Appends the entities that no step can revive any longer to `released`.
  void remove(const Step& step, std::vector<Entity>& released) {
    std::uint32_t number = ~0u;
    Page* page = nullptr;
    each(step, [&](Entity e, Entity) {
      if (e.index / page_entries != number) {
        number = e.index / page_entries;
        const std::unique_ptr<Page>* const known = pages_.find(number);
        page = known ? known->get() : nullptr;
      }
      if (!page) return;
      Entry& known = page->entries[e.index % page_entries];
      if (known.steps == 0 || known.generation != e.generation || --known.steps > 0) return;
      released.push_back(e);
      if (--page->used > 0) return;
      pages_.erase(number);
      page = nullptr;
    });
  }
  bool contains(Entity e) const noexcept { return find(e) != nullptr; }
  /// Returns the parent that the entity had when it was destroyed, or null if it is not parked.
  const Entity* parent(Entity e) const noexcept {
    const Entry* const known = find(e);
    return known ? &known->parent : nullptr;
  }
  void clear() noexcept { pages_.clear(); }

 private:
  struct Entry {
    Entity parent;
    std::uint32_t generation = 0, steps = 0;
  };
  // Entities that are destroyed together usually have neighboring indices.
  static constexpr std::uint32_t page_entries = 256;
  struct Page {
    std::array<Entry, page_entries> entries{};
    std::uint32_t used = 0;
  };

  const Entry* find(Entity e) const noexcept {
    const std::unique_ptr<Page>* const page = pages_.find(e.index / page_entries);
    if (!page) return nullptr;
    const Entry& entry = (*page)->entries[e.index % page_entries];
    return entry.steps != 0 && entry.generation == e.generation ? &entry : nullptr;
  }
  Page& need(std::uint32_t number) {
    const std::unique_ptr<Page>* const known = pages_.find(number);
    return known ? **known : *pages_.put(number, std::make_unique<Page>());
  }
  template <class F>
  static void each(const Step& step, F f) {
    for (const Part& part : step.parts) {
      if (part.kind != PartKind::destroyed) continue;
      const std::vector<Snapshot::Row>& rows = part.details->snapshot.rows;
      for (std::size_t i = 0; i < rows.size(); ++i)
        f(rows[i].entity, i == 0 ? part.details->before.parent : rows[rows[i].parent].entity);
    }
  }

  FlatMap<std::uint32_t, std::unique_ptr<Page>> pages_;
};

}  // namespace muster::history
