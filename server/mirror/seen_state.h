// Defines the state of the watched part of a world at one sequence number: the entities, their
// places and parents, and the values of watched components. Copying a state copies only a few
// pointers per chunk, because blocks are shared. SeenWorld copies a shared block before changing
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "registry/storage/hierarchy.h"
#include "schema/builtin.h"
#include "server/mirror/look.h"

namespace muster {

/// Interned texts, keyed by hash.
using SeenTexts = std::unordered_map<std::uint64_t, std::string>;

/// A state and all of its copies must be used on the same thread. Offers the same kinds of queries
/// as EntityRegistry, but only for the watched part of the world.
class SeenState {
 public:
  struct Chunk {
    std::uint64_t uid = 0;  ///< 0 if there is no chunk with this number
    std::uint32_t depth = 0;
    SeenKinds kinds;
    /// Parents, indexed by row. Empty at depth 0.
    std::shared_ptr<std::vector<Entity>> ids, parents;
  };
  struct Column {
    TypeId type = 0;
    std::uint32_t size = 0;  ///< size of a value, or 0 if the component has no values

    /// Null if the registry does not know the type.
    const TypeDescriptor* descriptor = nullptr;
    /// Values, indexed by chunk number. Null if there are no values.
    std::vector<std::shared_ptr<std::byte[]>> copies;
    const std::byte* of(std::uint32_t chunk) const noexcept {
      return chunk < copies.size() ? copies[chunk].get() : nullptr;
    }
  };
  struct Place {
    std::uint32_t generation = 0;  ///< 0 if no living entity has this index
    std::uint32_t chunk = 0, row = 0;
    std::uint32_t kind = 0;  ///< number of its SeenKind
    Entity parent;
  };

  std::uint64_t sequence() const noexcept { return sequence_; }
  /// Returns how many Looks have been taken in. Two states with the same number are equal, except
  /// for their texts.
  std::uint64_t look() const noexcept { return look_; }
  std::uint64_t now_ns() const noexcept { return clock_ns_; }

  /// Returns the living entity with this index, or nil if there is none.
  Entity entity(std::uint32_t index) const noexcept {
    const Place* const at = index != 0 ? place_of(index) : nullptr;
    return at && at->generation != 0 ? Entity{index, at->generation} : Entity{};
  }
  bool alive(Entity e) const noexcept { return place(e) != nullptr; }
  std::size_t entity_count() const noexcept { return entities_; }
  /// Returns the entity's place, or null if the entity is dead.
  const Place* place(Entity e) const noexcept {
    const Place* const at = place_of(e.index);
    return at && e.generation != 0 && at->generation == e.generation ? at : nullptr;
  }
  /// Returns the entity's kind, or null if the entity is dead.
  const SeenKind* kind(Entity e) const noexcept {
    const Place* const at = place(e);
    return at ? &chunks_[at->chunk].kinds.at(at->row) : nullptr;
  }
  std::span<const TypeId> components(Entity e) const noexcept {
    const SeenKind* const of = kind(e);
    return of ? std::span<const TypeId>(of->types) : std::span<const TypeId>();
  }
  std::uint32_t depth(Entity e) const noexcept {
    const Place* const at = place(e);
    return at ? chunks_[at->chunk].depth : 0;
  }
  Entity parent(Entity e) const noexcept {
    const Place* const at = place(e);
    return at ? at->parent : Entity{};
  }
  /// Returns the first child, or nil. Valid only if links are watched.
  Entity first_child(Entity e) const noexcept { return entity(links(e.index).first_child); }
  Entity next_sibling(Entity e) const noexcept { return entity(links(e.index).next); }
  Entity previous_sibling(Entity e) const noexcept { return entity(links(e.index).previous); }
  std::uint32_t child_count(Entity e) const noexcept { return links(e.index).children; }

  /// Returns the column of a component, or null if the component is not watched.
  const Column* column(TypeId type) const noexcept;
  /// Returns null if the entity is dead or lacks the component, or if the component is not watched.
  /// If the component has no values, the result must not be dereferenced.
  const std::byte* find(Entity e, TypeId type) const noexcept;
  /// Returns the value of the entity at this place.
  const std::byte* value(const Place& at, const Column& column) const noexcept;
  /// Returns the interned text of the entity's Name. Returns nil if the entity has no Name or if
  /// Name is not watched.
  Text name_text(Entity e) const noexcept;
  std::string_view name(Entity e) const noexcept { return text(name_text(e)); }
  /// Returns the characters of the text, or an empty string if the text is unknown.
  std::string_view text(Text text) const noexcept;

  /// Calls f(entity, kind) for each entity, in order of index.
  template <class F>
  void each(F&& f) const {
    for (std::size_t page = 0; page < places_.size(); ++page) {
      if (!places_[page]) continue;
      for (std::uint32_t i = 0; i < page_indices; ++i)
        if (const Place& at = places_[page]->places[i]; at.generation != 0)
          f(Entity{static_cast<std::uint32_t>(page) * page_indices + i, at.generation},
            chunks_[at.chunk].kinds.at(at.row));
    }
  }
  /// Calls f(chunk) for each chunk.
  template <class F>
  void each_chunk(F&& f) const {
    for (const Chunk& chunk : chunks_)
      if (chunk.uid != 0) f(chunk);
  }

 protected:
  static constexpr std::uint32_t page_bits = 10, page_indices = 1u << page_bits;
  struct Places {
    Place places[page_indices];
    std::uint32_t count = 0;  // number of living entities
  };
  const Place* place_of(std::uint32_t index) const noexcept {
    const std::uint32_t page = index >> page_bits;
    return page < places_.size() && places_[page] ? &places_[page]->places[index & (page_indices - 1)] : nullptr;
  }
  const Links& links(std::uint32_t index) const noexcept {
    static constexpr Links none{};
    const std::uint32_t page = index >> Hierarchy::page_bits;
    return page < links_.size() && links_[page] ? links_[page]->links[index & ((1u << Hierarchy::page_bits) - 1)]
                                                : none;
  }

  std::uint64_t sequence_ = 0, clock_ns_ = 0, look_ = 0;
  std::size_t entities_ = 0;
  std::vector<Chunk> chunks_;                    // by number
  std::vector<Column> columns_;                  // by type
  std::vector<std::shared_ptr<Places>> places_;  // by index
  std::vector<std::shared_ptr<Hierarchy::Page>> links_;
  std::shared_ptr<SeenTexts> texts_ = std::make_shared<SeenTexts>();  // always the latest
};

}  // namespace muster
