// The world as those who watch it know it: takes in looks, finds what differs, and gives states away that stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/watches/lesser_kinds.h"
#include "server/watches/seen_state.h"

namespace muster {

/// In order, each once.
void sort_unique(std::vector<Entity>& entities);
/// Does this for a list whose first `sorted` entities are in order already, each once. Linear in the list where the others are, too.
void merge_unique(std::vector<Entity>& entities, std::size_t sorted);

/// One thread only. Memory: one copy of every watched component, 24 bytes for each index, and 8 or 16 for each row.
class SeenWorld : public SeenState {
 public:
  SeenWorld() = default;
  SeenWorld(const SeenWorld&) = delete;
  SeenWorld& operator=(const SeenWorld&) = delete;

  struct Values {
    TypeId component = 0;
    std::vector<Entity> entities;  ///< that have another value than before, have it newly, or have it no more
  };
  struct Found {
    std::vector<Values> values;
    std::vector<Entity> structure;  ///< created, destroyed, or put under another parent
    std::vector<Entity> kinds;      ///< created, or with other components
    std::vector<Entity> links;      ///< living, behind another sibling, or with another number of children
    bool empty() const noexcept { return values.empty() && structure.empty() && kinds.empty() && links.empty(); }
  };
  /// Takes a look in and finishes it. What differs is valid until the next call; no entity is named twice in a list. What a component's
  /// first look brings differs from nothing.
  const Found& take_in(Look& look);
  void take_in(TextNews texts);

  /// As it is now, shared by all who ask before the next look.
  std::shared_ptr<const SeenState> state();
  /// Bytes that were copied because states that were given away share them, until none of those is left.
  std::size_t copied() const noexcept { return copied_; }
  /// About how many bytes the copies of values take.
  std::size_t bytes() const;
  /// Nobody watches.
  void clear();

 private:
  struct Moved {
    SeenKinds kinds;
    std::shared_ptr<std::vector<Entity>> ids;
  };
  /// What one look finds of a component.
  struct Finding {
    bool is_new = false;
    std::vector<std::shared_ptr<std::byte[]>> before;  // by number in moved_: the values of those chunks
    std::vector<Entity> changed;
  };
  /// A row that its entity is no longer in: where the values are that it had.
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

  std::vector<Finding> findings_;  // beside columns_
  // While a look is taken in: chunks whose rows moved or that are gone, and who left one of their rows, in order.
  std::vector<Moved> moved_;
  std::vector<std::uint32_t> moved_numbers_;  // by chunk number, in moved_; no_chunk: did not move
  std::vector<Departed> departed_;
  std::vector<std::byte> fresh_;
  LesserKinds lesser_kinds_;
  std::vector<LesserKinds::Said> said_;
  Found found_;
  std::weak_ptr<const SeenState> given_;
  std::vector<std::weak_ptr<const SeenState>> all_given_;
  std::vector<std::uint64_t> texts_gone_;  // that states which were given away may mention
  std::size_t copied_ = 0;
};

}  // namespace muster
