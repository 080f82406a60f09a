// Remembers where the rows of one list of components go, for calls that create entities, give them components and
// destroy them while no handler is told of it (registry/direct_rows.h). Only for archetypes without runtime components.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

constexpr std::size_t site_components_max = 8;

/// A number, never 0, for a list of component types in the order in which they are named.
template <ComponentType... Cs>
consteval std::uint64_t site_key(std::uint64_t kind) {
  std::uint64_t key = kind;
  for (const TypeId id : std::initializer_list<TypeId>{0, TypeTraits<Cs>::id...}) {
    key = (key ^ id) * 0x9e3779b97f4a7c15ull;
    key ^= key >> 32;
  }
  return key | 1;
}

/// The batch of a call with one list of components, kept between calls: the next call writes its target and values
/// alone.
class SealedBytes {
 public:
  void keep(std::span<const std::byte> sealed);
  /// Aligned to 16.
  void* data() const noexcept { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t room_ = 0;
};

/// The open chunk of an archetype at depth 0, as it was found last.
struct OpenChunk {
  std::uint64_t changes = 0;  ///< Storage::chunk_changes() then; 0: never looked
  Chunk* chunk = nullptr;
  std::array<std::byte*, site_components_max> columns{};  ///< of a site's list, in its order; null: a tag

  /// Whether the chunk is still the open one and has room for another row.
  [[gnu::always_inline]] bool fits(const Storage& storage) const noexcept {
    return changes == storage.chunk_changes() && chunk->count < chunk->capacity;
  }
  /// Finds the open chunk, or opens one.
  void reopen(Storage& storage, Archetype& archetype, std::span<const TypeId> types);
};

/// Entities created with one list of components, at depth 0.
struct CreateSite {
  std::uint64_t key = 0;
  Archetype* archetype = nullptr;
  OpenChunk open;
  SealedBytes sealed;
};

/// Entities of one archetype that are given a list of components, or lose one.
struct MoveSite {
  std::uint64_t key = 0;
  Archetype *from = nullptr, *to = nullptr;
  bool small_values = true;                                ///< of `to`
  std::vector<ColumnCopy> carried;                         ///< the values that a row keeps
  std::array<std::uint16_t, site_components_max> slots{};  ///< of `to`, in the order of the list; no_column: a tag
  OpenChunk open;                                          ///< of `to`
  SealedBytes sealed;
  /// Copies the values that a row keeps.
  [[gnu::always_inline]] void carry(Row into, Row old) const noexcept {
    if (!small_values) [[unlikely]]
      return carry_large(into, old);
    copy_columns<true>(into, old, carried);
  }
  void carry_large(Row into, Row old) const noexcept;
};

/// Moves a row to another archetype, with the values of components that both have, and touches all its columns.
[[gnu::always_inline]] inline Row move_direct(Storage& storage, const MoveSite& site, Entity e, Row row, Chunk& open,
                                              Entity parent) {
  const Row to = storage.append_moved(e, open, parent);
  site.carry(to, row);
  storage.take_plain_row(row);
  return to;
}
/// move_direct() for a row of an entity that has a parent: its open chunk is not remembered but looked for.
Row move_below(Storage& storage, const MoveSite& site, Entity e, Row row);

/// All sites of a registry. A list of components has two places; where other lists have taken both, it takes the first.
class RowSites {
 public:
  [[gnu::always_inline]] CreateSite* create(std::uint64_t key) noexcept {
    return find(creates_, key, 0, [](const CreateSite&) { return true; });
  }
  [[gnu::always_inline]] MoveSite* move(std::uint64_t key, const Archetype& from) noexcept {
    return find(moves_, key, from.number, [&](const MoveSite& site) { return site.from == &from; });
  }
  /// Remembers `made`, the archetype of an entity that was just created with these components, unless it has runtime
  /// components.
  void learn_create(std::uint64_t key, Archetype& made, std::span<const std::byte> sealed);
  /// Remembers the way of a row that just went from one archetype to another, or was written where it is, unless one of
  /// them has runtime components.
  void learn_move(std::uint64_t key, Archetype& from, Archetype& to, std::span<const TypeId> types,
                  std::span<const std::byte> sealed);
  /// To be called when slots of an archetype were given out anew: forgets everything.
  void forget() noexcept;

 private:
  static constexpr std::size_t places = 64;
  template <class Site, class F>
  [[gnu::always_inline]] static Site* find(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t number,
                                           F is_it) noexcept {
    Site& first = sites[first_place(key, number)];
    if (first.key == key && is_it(first)) [[likely]]
      return &first;
    Site& second = sites[second_place(key, number)];
    return second.key == key && is_it(second) ? &second : nullptr;
  }
  static std::size_t first_place(std::uint64_t key, std::uint32_t number) noexcept {
    return ((key >> 8) + number) % places;
  }
  static std::size_t second_place(std::uint64_t key, std::uint32_t number) noexcept {
    return ((key >> 20) + number) % places;
  }
  template <class Site>
  Site& place(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t number) noexcept;

  std::array<CreateSite, places> creates_;
  std::array<MoveSite, places> moves_;
};

}  // namespace muster
