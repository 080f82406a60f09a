// Records, once for all watches, which entities have changed and in which Look.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "server/mirror/seen_world.h"

namespace muster {

/// Must be used by only one thread. For each component, uses 2 KiB per block of 256 indices that
/// contains a changed entity. Also stores dead entities until forget() is called.
class RecentChanges {
 public:
  explicit RecentChanges(const SeenWorld& world) : world_(world) {}

  /// Records the changes found by a new Look.
  void note(const SeenWorld::Found& found);
  /// Returns the number of the most recent Look that contained changes.
  std::uint64_t now() const noexcept { return now_; }
  /// Returns the number of the most recent Look that contained changes to the hierarchy.
  std::uint64_t structure_changed() const noexcept { return structure_.last; }

  /// Calls f(entity) for each entity whose component changed after Look number `since`, including
  /// entities that have died. Must be called before the next Look is taken in.
  template <class F>
  void each(TypeId component, std::uint64_t since, F&& f) const {
    const auto at = by_component_.find(component);
    if (at != by_component_.end()) each_of(at->second, since, f);
  }
  /// Returns true if the component of a living entity changed after Look number `since`.
  bool changed(TypeId component, Entity e, std::uint64_t since) const noexcept {
    const auto at = by_component_.find(component);
    return at != by_component_.end() && at->second.changed(e, since);
  }
  /// Returns the approximate number of entities that each() would visit.
  std::size_t work(TypeId component, std::uint64_t since) const noexcept {
    const auto at = by_component_.find(component);
    if (at == by_component_.end() || at->second.last <= since) return 0;
    return since + 1 == now_ ? at->second.last_changed.size() : at->second.pages.size() * page_indices;
  }
  /// Calls f(entity) for each entity that was created, destroyed, or moved to another parent after
  /// Look number `since`. Like each(), must be called before the next Look is taken in.
  template <class F>
  void each_structure(std::uint64_t since, F&& f) const {
    each_of(structure_, since, f);
  }
  /// Calls f(entity) for each living entity that was created, or whose set of components changed,
  /// after Look number `since`.
  template <class F>
  void each_kind(std::uint64_t since, F&& f) const {
    each_of(kinds_, since, f);
  }
  /// Calls f(entity) for each living entity whose previous sibling or number of children has
  /// changed.
  template <class F>
  void each_link(std::uint64_t since, F&& f) const {
    each_of(links_, since, f);
  }
  /// Removes the records of deaths and changes from before the given Look.
  void forget(std::uint64_t before);
  /// Returns the number of the newest Look whose changes may have been removed.
  std::uint64_t forgotten() const noexcept { return forgotten_; }
  /// Returns the number of dead entities on record.
  std::size_t dead() const noexcept { return dead_; }
  void clear();

 private:
  struct Dead {
    std::uint64_t look;
    Entity entity;
  };
  // Indices may be large even if there are only a few entities.
  static constexpr std::uint32_t page_indices = 256;
  struct Page {
    std::array<std::uint64_t, page_indices> looks{};
    std::uint64_t last = 0;  // the newest of `looks`
  };
  struct Column {
    std::vector<std::unique_ptr<Page>> pages;  // number of the Look with the last change, by entity
                                               // index
    std::uint64_t last = 0;                    // number of the Look with the last change of any
                                               // entity
    std::vector<Entity> last_changed;          // living entities that changed in that Look
    std::deque<Dead> dead;
    bool changed(Entity e, std::uint64_t since) const noexcept {
      const std::uint32_t number = e.index / page_indices;
      return last > since && number < pages.size() && pages[number] &&
             pages[number]->looks[e.index % page_indices] > since;
    }
  };
  template <class F>
  void each_of(const Column& column, std::uint64_t since, F& f) const {
    if (column.last <= since) return;
    for (auto at = column.dead.rbegin(); at != column.dead.rend() && at->look > since; ++at) f(at->entity);
    if (since + 1 == now_) {
      for (const Entity e : column.last_changed) f(e);
      return;
    }
    for (std::uint32_t number = 0; number < column.pages.size(); ++number) {
      const Page* const page = column.pages[number].get();
      if (!page || page->last <= since) continue;
      for (std::uint32_t i = 0; i < page_indices; ++i) {
        if (page->looks[i] <= since) continue;
        if (const Entity e = world_.entity(number * page_indices + i)) f(e);
      }
    }
  }
  void note(Column& column, const std::vector<Entity>& entities);
  void forget(Column& column, std::uint64_t before);

  const SeenWorld& world_;
  std::uint64_t now_ = 0;
  std::uint64_t forgotten_ = 0;  // changes up to this Look have been removed
  std::size_t dead_ = 0;
  std::unordered_map<TypeId, Column> by_component_;
  Column structure_, kinds_, links_;
};

}  // namespace muster
