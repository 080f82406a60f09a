// Maintains the watched part of the world. Takes in Looks, finds the differences, and returns
// immutable states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/mirror/lesser_kinds.h"
#include "server/mirror/seen_state.h"

namespace muster {

/// Sorts the list and removes duplicates.
void sort_unique(std::vector<Entity>& entities);
/// Like sort_unique(), but for a list whose first `sorted` entities are already sorted and unique.
/// Takes linear time if the remaining entities are sorted too.
void merge_unique(std::vector<Entity>& entities, std::size_t sorted);

/// Must be used by only one thread. Uses memory for one copy of every watched component, plus 24
/// bytes per entity index and 8 or 16 bytes per row.
class SeenWorld : public SeenState {
 public:
  SeenWorld() = default;
  SeenWorld(const SeenWorld&) = delete;
  SeenWorld& operator=(const SeenWorld&) = delete;

  struct Values {
    TypeId component = 0;
    std::vector<Entity> entities;  ///< entities with a changed, added, or removed value
  };
  struct Found {
    std::vector<Values> values;
    std::vector<Entity> structure;  ///< entities created, destroyed, or moved to another parent
    std::vector<Entity> kinds;      ///< entities that are new or have a changed set of components

    /// Living entities whose previous sibling or number of children has changed.
    std::vector<Entity> links;
    bool empty() const noexcept { return values.empty() && structure.empty() && kinds.empty() && links.empty(); }
  };
  /// Takes in a Look and marks it as done. Returns the differences, which are valid until the next
  /// call. Each entity occurs at most once in each list. For a component that a Look contains for
  /// the first time, no differences are reported.
  const Found& take_in(Look& look);
  void take_in(TextNews texts);

  /// Returns the current state. All calls return the same object until the next Look is taken in.
  std::shared_ptr<const SeenState> state();
  /// Returns the number of bytes that were copied because returned states share blocks. Resets to 0
  /// once all returned states have been destroyed.
  std::size_t copied() const noexcept { return copied_; }
  /// Returns the approximate size of the copied values in bytes.
  std::size_t bytes() const;
  /// Must be called when the last watch has closed.
  void clear();

 private:
  struct Moved {
    SeenKinds kinds;
    std::shared_ptr<std::vector<Entity>> ids;
  };
  /// The differences for one component in one Look.
  struct Finding {
    bool is_new = false;
    std::vector<std::shared_ptr<std::byte[]>> before;  // previous values of the chunks in moved_
    std::vector<Entity> changed;
  };
  /// A row that its entity has left, together with the location of the entity's previous values.
  struct Departed {
    Entity entity;
    std::uint32_t moved = 0, row = 0;
    friend bool operator<(const Departed& a, const Departed& b) noexcept { return a.entity < b.entity; }
  };
  static constexpr std::uint32_t no_chunk = ~std::uint32_t{0};

  void want(const std::vector<SeenType>& wanted);
  void leave(std::uint32_t number, bool gone);
  std::shared_ptr<const SeenKinds::Each> each_kind(Look& look, const Look::ChunkNews& news);
  void find_departed(Look& look);
  void place_rows(const Look::ChunkNews& news);
  void put(Entity e, const Place& now);
  void note_departed();
  void take_values(Look& look, const Look::ChunkNews& news);
  void compare(std::size_t column, Look& look, const Look::ChunkNews& news, std::uint32_t number);
  void compare_moved(std::size_t column, Look& look, const Look::ChunkNews& news, std::uint32_t number);
  const std::byte* value_before(std::size_t column, Entity e) const;
  bool had_before(std::size_t column, Entity e) const;
  void take_links(Look::Links& links);
  std::shared_ptr<std::byte[]> make_block(const Column& column, std::size_t rows) const;
  Places& own_places(std::uint32_t page);

  std::vector<Finding> findings_;  // parallel to columns_

  // Used only during take_in(). `moved_` holds the chunks that were removed or whose rows have
  // moved. `departed_` holds, in order, the entities that have left a row of those chunks.
  std::vector<Moved> moved_;
  std::vector<std::uint32_t> moved_numbers_;  // index in moved_ by chunk number, or no_chunk
  std::vector<Departed> departed_;
  std::vector<std::byte> fresh_;
  LesserKinds lesser_kinds_;
  std::vector<LesserKinds::Said> said_;
  Found found_;
  std::weak_ptr<const SeenState> given_;
  std::vector<std::weak_ptr<const SeenState>> all_given_;
  std::vector<std::uint64_t> texts_gone_;  // returned states may still use these texts
  std::size_t copied_ = 0;
};

}  // namespace muster
