// Where the rows of one list of components go, found once and remembered: for the calls that create, give components and
// destroy while nobody is told of it (registry/direct_rows.h). Only rows of bytes: no runtime components.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

constexpr std::size_t site_components_max = 8;

/// A number for a list of component types in the order they are named in. Not 0.
template <ComponentType... Cs>
consteval std::uint64_t site_key(std::uint64_t kind) {
  std::uint64_t key = kind;
  for (const TypeId id : std::initializer_list<TypeId>{0, TypeTraits<Cs>::id...}) {
    key = (key ^ id) * 0x9e3779b97f4a7c15ull;
    key ^= key >> 32;
  }
  return key | 1;
}

/// The batch of a call with one list of components, kept between calls: the next one only writes its target and values.
class SealedBytes {
 public:
  void keep(std::span<const std::byte> sealed);
  /// Aligned to 16.
  void* data() const noexcept { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t room_ = 0;
};

/// The open chunk of an archetype at depth 0, as it was when it was last looked for.
struct OpenChunk {
  std::uint64_t changes = 0;  ///< Storage::chunk_changes() then; 0: never looked
  Chunk* chunk = nullptr;
  std::array<std::byte*, site_components_max> columns{};  ///< of a site's list, in its order; null: a tag

  /// Whether it can take another row.
  [[gnu::always_inline]] bool fits(const Storage& storage) const noexcept {
    return changes == storage.chunk_changes() && chunk->count < chunk->capacity;
  }
  /// Finds it, or opens one.
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
  bool small_values = true;                                ///< as of an archetype
  std::vector<ColumnCopy> carried;                         ///< what a row keeps
  std::array<std::uint16_t, site_components_max> slots{};  ///< of `to`, in the order of the list; no_column: a tag
  OpenChunk open;                                          ///< of `to`
  SealedBytes sealed;
  /// Copies what a row keeps.
  [[gnu::always_inline]] void carry(Row into, Row old) const noexcept {
    if (!small_values) [[unlikely]]
      return carry_large(into, old);
    copy_columns<true>(into, old, carried);
  }
  void carry_large(Row into, Row old) const noexcept;
};

/// Gives a row another archetype, with what both have; all its columns are touched.
[[gnu::always_inline]] inline Row move_direct(Storage& storage, const MoveSite& site, Entity e, Row row, Chunk& open,
                                              Entity parent) {
  const Row to = storage.append_moved(e, open, parent);
  site.carry(to, row);
  storage.take_plain_row(row);
  return to;
}
/// The same for one below another, whose open chunk is not remembered.
Row move_below(Storage& storage, const MoveSite& site, Entity e, Row row);

/// All of a registry. A list has two places; who finds both taken by others takes the first.
class RowSites {
 public:
  [[gnu::always_inline]] CreateSite* create(std::uint64_t key) noexcept {
    return find(creates_, key, 0, [](const CreateSite&) { return true; });
  }
  [[gnu::always_inline]] MoveSite* move(std::uint64_t key, const Archetype& from) noexcept {
    return find(moves_, key, from.number, [&](const MoveSite& site) { return site.from == &from; });
  }
  /// `made` was just created with these components; nothing where its archetype has runtime components.
  void learn_create(std::uint64_t key, Archetype& made, std::span<const std::byte> sealed);
  /// A row just went from one archetype to another, or was written where it is; nothing where one has runtime components.
  void learn_move(std::uint64_t key, Archetype& from, Archetype& to, std::span<const TypeId> types,
                  std::span<const std::byte> sealed);
  /// Slots of an archetype were given out anew.
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
