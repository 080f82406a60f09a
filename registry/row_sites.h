// Where the rows of one list of components go, found once and remembered: for the calls that create, give components and
// destroy while nobody is told of it (registry/direct_rows.h). Only rows of bytes: no runtime components.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage.h"

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

/// Entities created with one list of components, at depth 0.
struct CreateSite {
  std::uint64_t key = 0;
  std::uint64_t chunks = 0;  ///< Storage::chunk_changes() when the rest was looked up; 0: never
  Chunk* open = nullptr;
  Archetype* archetype = nullptr;
  std::array<std::byte*, site_components_max> columns{};  ///< of the open chunk, in the order of the list; null: a tag

  /// Whether the open chunk can take another row.
  bool fits(const Storage& storage) const noexcept {
    return chunks == storage.chunk_changes() && open->count < open->capacity;
  }
  /// Finds the open chunk, or opens one.
  void reopen(Storage& storage, std::span<const TypeId> types);
};

/// Entities of one archetype that are given a list of components, or lose one.
struct MoveSite {
  std::uint64_t key = 0;
  Archetype *from = nullptr, *to = nullptr;
  std::array<std::uint16_t, site_components_max> slots{};  ///< of `to`, in the order of the list; no_column: a tag
  std::vector<ColumnCopy> carried;                         ///< what a row keeps
  bool small_values = true;                                ///< as of an archetype
  /// Copies what a row keeps.
  [[gnu::always_inline]] void carry(Row into, Row old) const noexcept {
    if (!small_values) [[unlikely]]
      return carry_large(into, old);
    copy_columns<true>(into, old, carried);
  }
  void carry_large(Row into, Row old) const noexcept;
};

/// All of a registry. A list has two places; who finds both taken by others takes the first.
class RowSites {
 public:
  CreateSite* create(std::uint64_t key) noexcept { return find(creates_, key, 0); }
  MoveSite* move(std::uint64_t key, const Archetype& from) noexcept {
    MoveSite* const site = find(moves_, key, from.number);
    return site && site->from == &from ? site : nullptr;
  }
  /// `made` was just created with these components; nothing where its archetype has runtime components.
  void learn_create(std::uint64_t key, Archetype& made);
  /// A row just went from one archetype to another, or was written where it is; nothing where one has runtime components.
  void learn_move(std::uint64_t key, Archetype& from, Archetype& to, std::span<const TypeId> types);
  /// Slots of an archetype were given out anew.
  void forget() noexcept;

 private:
  static constexpr std::size_t places = 64;
  template <class Site>
  static Site* find(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t number) noexcept {
    Site& first = sites[first_place(key, number)];
    if (first.key == key && is_of(first, number)) [[likely]]
      return &first;
    Site& second = sites[second_place(key, number)];
    return second.key == key && is_of(second, number) ? &second : nullptr;
  }
  static bool is_of(const CreateSite&, std::uint32_t) noexcept { return true; }
  static bool is_of(const MoveSite& site, std::uint32_t number) noexcept { return site.from->number == number; }
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
