// Defines a set for large numbers of entities, organized by entity index. A page of 1024 indices
// takes 4 KiB if it contains at least one entity.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "schema/builtin.h"

namespace muster {

/// Contains at most one generation per index, so inserting an entity replaces any other entity with
/// the same index. Never contains nil.
class EntitySet {
 public:
  bool contains(Entity e) const noexcept {
    const std::size_t page = e.index / page_indices;
    return e.generation != 0 && page < pages_.size() && pages_[page] &&
           pages_[page]->generations[e.index % page_indices] == e.generation;
  }
  /// Inserts an entity. Returns false if it was already in the set.
  bool insert(Entity e) {
    const std::size_t page = e.index / page_indices;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = std::make_unique<Page>();
    const std::size_t i = e.index % page_indices;
    std::uint32_t& generation = pages_[page]->generations[i];
    if (generation == e.generation) return false;
    if (generation == 0) {
      pages_[page]->used[i / 64] |= std::uint64_t{1} << i % 64;
      ++pages_[page]->count;
      ++size_;
    }
    generation = e.generation;
    return true;
  }
  /// Removes an entity. Returns false if it was not in the set.
  bool erase(Entity e) noexcept {
    if (!contains(e)) return false;
    std::unique_ptr<Page>& page = pages_[e.index / page_indices];
    const std::size_t i = e.index % page_indices;
    page->generations[i] = 0;
    page->used[i / 64] &= ~(std::uint64_t{1} << i % 64);
    --size_;
    if (--page->count == 0) page.reset();
    return true;
  }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  void clear() noexcept {
    pages_.clear();
    size_ = 0;
  }
  bool operator==(const EntitySet& other) const noexcept {
    bool all = size_ == other.size_;
    if (all) each([&](Entity e) { all = all && other.contains(e); });
    return all;
  }
  /// Calls f(entity) for each entity, in order of index. The set must not change during the call.
  template <class F>
  void each(F&& f) const {
    for (std::uint32_t number = 0; number < pages_.size(); ++number) {
      if (!pages_[number]) continue;
      for (std::uint32_t word = 0; word < page_indices / 64; ++word)
        for (std::uint64_t left = pages_[number]->used[word]; left != 0; left &= left - 1) {
          const std::uint32_t i = word * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
          f(Entity{number * page_indices + i, pages_[number]->generations[i]});
        }
    }
  }

 private:
  static constexpr std::uint32_t page_indices = 1024;
  struct Page {
    std::uint32_t generations[page_indices] = {};  // 0 if not in the set

    // One bit per entity, used to find a few entities in a large page.
    std::uint64_t used[page_indices / 64] = {};
    std::uint32_t count = 0;
  };
  std::vector<std::unique_ptr<Page>> pages_;
  std::size_t size_ = 0;
};

}  // namespace muster
