// What changed in a registry since the last look. One shadow copy per watched component type, shared by all watches
// of it; column versions say which chunks to compare at all, rows of those are compared byte by byte.
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
/// The same of a list whose first `sorted` ones are so already: it costs what it takes to read it where the others are, too.
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
  /// The values that were told, in pages: indices may be large where few entities are.
  struct Shadow {
    static constexpr std::uint32_t page_indices = 256;
    struct Page {
      std::uint32_t generations[page_indices] = {};  // 0: has it not
      std::uint32_t count = 0;                       // entities that have it
      std::unique_ptr<std::byte[]> values;
    };
    TypeId type = 0;
    std::uint32_t size = 0;
    std::uint32_t users = 0;
    std::vector<std::unique_ptr<Page>> pages;  // by entity index
    std::vector<Entity> changed;

    /// Made where there is none.
    Page& page(std::uint32_t index);
    bool has(Entity e) const noexcept {
      const std::uint32_t number = e.index / page_indices;
      return number < pages.size() && pages[number] &&
             pages[number]->generations[e.index % page_indices] == e.generation;
    }
    /// Who has it.
    void erase(Entity e) noexcept;
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

  void look_at(std::uint64_t since);
  void find_departed(std::uint64_t since);
  void remember(const Chunk& chunk);
  /// Of a shadow that has nothing of the chunk yet.
  static void fill(Shadow& shadow, const Chunk& chunk, std::uint16_t column);
  void compare(Shadow& shadow, const Chunk& chunk, std::uint16_t column);
  template <std::uint32_t fixed>
  static void compare_values(Shadow& shadow, const Chunk& chunk, const std::byte* values, std::uint32_t any_size);
  void compare_places(const Chunk& chunk);
  void compare_page(std::uint32_t number);

  EntityRegistry& registry_;
  std::vector<std::unique_ptr<Shadow>> shadows_;
  std::vector<std::pair<Shadow*, std::uint16_t>> columns_;  // of an archetype, while it is looked at
  std::vector<Place> places_;
  std::vector<Linked> links_;  // by entity index
  std::uint32_t structure_users_ = 0, kind_users_ = 0, link_users_ = 0;
  std::vector<SeenChunk> seen_;   // by chunk number
  std::vector<Entity> departed_;  // whose row is no longer where it was
  std::vector<Entity> structure_changed_, kinds_changed_, links_changed_;
  std::uint64_t looked_ = 0;  // storage version of the last look
  Found found_;
};

}  // namespace muster
