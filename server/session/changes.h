// What changed in a registry since the last look. One copy of every watched component, shared by all watches of it, laid out
// as the rows are: column versions say which chunks to compare at all, a whole column of those is compared at once, and its
// rows where it differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"

namespace muster {

/// In order, each once.
void sort_unique(std::vector<Entity>& entities);
/// Does this for a list whose first `sorted` entities are in order already, each once. Linear in the list where the others are, too.
void merge_unique(std::vector<Entity>& entities, std::size_t sorted);

/// Calls f(chunk) for each chunk of it, by depth. There may be many depths below the last one.
template <class F>
void each_chunk_of(const Archetype& archetype, F&& f) {
  std::size_t left = archetype.chunks;
  for (auto group = archetype.groups.begin(); left > 0; left -= group++->chunks.size())
    for (const Chunk* chunk : group->chunks) f(*chunk);
}

/// Owner's thread only. Memory: one copy of every watched component, and the ids of every chunk.
class Changes {
 public:
  explicit Changes(EntityRegistry& registry) : registry_(registry) {}

  /// From now on changes of this component are found; counted. Unknown types are accepted and never change.
  void want(TypeId component);
  void drop(TypeId component);
  /// From now on it is found which entities live, under which parent and with which name; counted.
  void want_structure();
  void drop_structure();
  /// From now on it is found which entities have other components than before; counted. Structure must be wanted as long.
  void want_kinds() noexcept { ++kind_users_; }
  void drop_kinds() noexcept { --kind_users_; }
  /// From now on it is found which entities stand behind another sibling than before, or have more or fewer children; counted.
  void want_links();
  void drop_links();
  bool wanted() const noexcept { return !shadows_.empty() || structure_users_ > 0; }

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
  /// Since the last look, or since the type was wanted. Valid until the next call. No entity is named twice in a list.
  const Found& look();
  /// About how many bytes the copies of values take.
  std::size_t bytes() const;

 private:
  using Bytes = std::unique_ptr<std::byte[]>;
  /// The values of one component as they were looked at last.
  struct Shadow {
    TypeId type = 0;
    std::uint32_t size = 0;  // of a tag or a runtime component 0: who has it is all
    std::uint32_t users = 0;
    std::vector<Bytes> copies;  // by chunk number, of the rows that SeenChunk names. Null: none of them has it
    std::vector<Bytes> before;  // by number in moved_, while looking: the copies of those chunks
    std::vector<Entity> changed;

    /// Null as above.
    std::byte* copy(std::uint32_t chunk) const noexcept {
      return chunk < copies.size() ? copies[chunk].get() : nullptr;
    }
    std::byte* make_copy(std::uint32_t chunk, std::size_t rows);
  };
  struct Place {
    std::uint32_t generation = 0;
    std::uint32_t archetype = 0;  // its number
    Entity parent;
  };
  struct Linked {
    std::uint32_t previous = 0, children = 0;
  };
  struct SeenChunk {
    std::uint64_t uid = 0;
    std::vector<Entity> ids;
  };
  /// A row that its entity is no longer in: where the values are that it had.
  struct Departed {
    Entity entity;
    std::uint32_t moved = 0, row = 0;
    friend bool operator<(const Departed& a, const Departed& b) noexcept { return a.entity < b.entity; }
  };
  static constexpr std::uint32_t no_chunk = ~std::uint32_t{0};

  void begin_finding();
  bool knows(const Chunk& chunk) const noexcept {
    return chunk.number < seen_.size() && seen_[chunk.number].uid == chunk.uid;
  }
  void look_at(std::uint64_t since);
  void find_moved(std::uint64_t since);
  void find_columns(const Archetype& archetype);
  void remember(const Chunk& chunk);
  static void fill(Shadow& shadow, const Chunk& chunk, std::uint16_t column);
  void fill_seen(Shadow& shadow, const Chunk& chunk);
  static void compare(Shadow& shadow, const Chunk& chunk, std::uint16_t column);
  void compare_moved(Shadow& shadow, const Chunk& chunk, std::uint16_t column, std::uint32_t moved);
  const std::byte* value_before(const Shadow& shadow, Entity e) const;
  void note_departed();
  void compare_places(const Chunk& chunk);
  void compare_page(std::uint32_t number);

  EntityRegistry& registry_;
  std::vector<std::unique_ptr<Shadow>> shadows_;            // by type
  std::vector<std::pair<Shadow*, std::uint16_t>> columns_;  // of an archetype, while it is looked at
  std::vector<Place> places_;
  std::vector<Linked> links_;  // by entity index
  std::uint32_t structure_users_ = 0, kind_users_ = 0, link_users_ = 0;
  std::vector<SeenChunk> seen_;  // by chunk number; of a chunk that nothing is found in it may say nothing
  // While looking: chunks whose rows moved or that are gone, and who left one of their rows, in order.
  std::vector<std::vector<Entity>> moved_;
  std::vector<std::uint32_t> moved_numbers_;  // by chunk number, in moved_; no_chunk: did not move
  std::vector<Departed> departed_;
  std::vector<Entity> structure_changed_, kinds_changed_, links_changed_;
  std::uint64_t looked_ = 0;  // storage version of the last look
  Found found_;
};

}  // namespace muster
