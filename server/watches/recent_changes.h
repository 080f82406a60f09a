// Which entities changed lately, and when: noted once, for all who watch. Time is counted in looks at the world.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "server/watches/seen_world.h"

namespace muster {

/// One thread only. Memory: for each component 2 KiB for 256 indices one of which changed, and entities that died until they are forgotten.
class RecentChanges {
 public:
  explicit RecentChanges(const SeenWorld& world) : world_(world) {}

  /// A new look found this.
  void note(const SeenWorld::Found& found);
  /// The number of the last look that found something.
  std::uint64_t now() const noexcept { return now_; }
  /// Of the last one that found something in the hierarchy.
  std::uint64_t structure_changed() const noexcept { return structure_.last; }

  /// Calls f(entity) for each whose component changed after look `since`, those that died included. To be called before
  /// another look is taken in.
  template <class F>
  void each(TypeId component, std::uint64_t since, F&& f) const {
    const auto at = by_component_.find(component);
    if (at != by_component_.end()) each_of(at->second, since, f);
  }
  /// Whether that of a living entity did.
  bool changed(TypeId component, Entity e, std::uint64_t since) const noexcept {
    const auto at = by_component_.find(component);
    return at != by_component_.end() && at->second.changed(e, since);
  }
  /// About how many entities each() looks at.
  std::size_t work(TypeId component, std::uint64_t since) const noexcept {
    const auto at = by_component_.find(component);
    if (at == by_component_.end() || at->second.last <= since) return 0;
    return since + 1 == now_ ? at->second.last_changed.size() : at->second.pages.size() * page_indices;
  }
  /// Calls f(entity) for each that was created, destroyed or put under another parent after look `since`; when, as for each().
  template <class F>
  void each_structure(std::uint64_t since, F&& f) const {
    each_of(structure_, since, f);
  }
  /// Calls f(entity) for every living entity that was created or has other components since `since`.
  template <class F>
  void each_kind(std::uint64_t since, F&& f) const {
    each_of(kinds_, since, f);
  }
  /// Calls f(entity) for every living entity that stands behind another sibling, or has another number of children.
  template <class F>
  void each_link(std::uint64_t since, F&& f) const {
    each_of(links_, since, f);
  }
  /// Nobody will ask for what died, or changed, before this look.
  void forget(std::uint64_t before);
  /// How many died that are not forgotten.
  std::size_t dead() const noexcept { return dead_; }
  void clear();

 private:
  struct Dead {
    std::uint64_t look;
    Entity entity;
  };
  // Indices may be large where few entities are.
  static constexpr std::uint32_t page_indices = 256;
  struct Page {
    std::array<std::uint64_t, page_indices> looks{};
    std::uint64_t last = 0;  // the newest of them
  };
  struct Column {
    std::vector<std::unique_ptr<Page>> pages;  // by index: when it changed last
    std::uint64_t last = 0;                    // when anything did
    std::vector<Entity> last_changed;          // then, and lives
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
  std::uint64_t forgotten_ = 0;  // what changed up to this look
  std::size_t dead_ = 0;
  std::unordered_map<TypeId, Column> by_component_;
  Column structure_, kinds_, links_;
};

}  // namespace muster
