// Remembers where rows with a given list of components are placed. Used when no handler has to be
// called while the host creates entities or adds or removes components (registry/direct_rows.h).
// Supports only archetypes without runtime components.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "registry/apply/left_columns.h"
#include "registry/storage/storage.h"

namespace muster {

constexpr std::size_t site_components_max = 8;

/// Returns a nonzero key for a list of component types. The key depends on the order of the types.
template <ComponentType... Cs>
consteval std::uint64_t site_key(std::uint64_t kind) {
  std::uint64_t key = kind;
  for (const TypeId id : std::initializer_list<TypeId>{0, TypeTraits<Cs>::id...}) {
    key = (key ^ id) * 0x9e3779b97f4a7c15ull;
    key ^= key >> 32;
  }
  return key | 1;
}

/// The batch of a call with a given list of components. It is kept between calls, so that the next
/// call has to write only a new target and new values.
class SealedBytes {
 public:
  void keep(std::span<const std::byte> sealed);
  /// Returns the stored batch, which is aligned to 16 bytes.
  void* data() const noexcept { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t room_ = 0;
};

/// The most recently found open chunk of an archetype at depth 0.
struct OpenChunk {
  std::uint64_t changes = 0;  ///< Storage::chunk_changes() when the chunk was found; 0 if never
  Chunk* chunk = nullptr;
  /// The columns, in the order of the site's component list; null for tags.
  std::array<std::byte*, site_components_max> columns{};
  /// The presence columns of enableable types, in the same order.
  std::array<PresenceWord*, site_components_max> presences{};

  /// True if the chunk is still the archetype's open chunk and has room for another row.
  [[gnu::always_inline]] bool fits(const Storage& storage) const noexcept {
    return changes == storage.chunk_changes() && chunk->count < chunk->capacity;
  }

 private:
  friend class HostCall;
  friend struct MoveSite;
  /// Finds the open chunk, or opens one.
  void reopen(Storage& storage, Archetype& archetype, std::span<const TypeId> types);
};

/// The site for entities created at depth 0 with a given list of components.
struct CreateSite {
  std::uint64_t key = 0;
  Archetype* archetype = nullptr;
  OpenChunk open;
  SealedBytes sealed;
};

/// The site for entities of one archetype that gain a given list of components or lose one
/// component.
struct MoveSite {
  std::uint64_t key = 0;
  Archetype *from = nullptr, *to = nullptr;
  /// Storage::chunk_changes() when `aim` and `columns` were set; 0 if they have not been set.
  std::uint64_t aimed = 0;
  Storage::MoveAim aim;
  /// A move takes the slow path once the open chunk has this number of rows, either because the
  /// chunk is full or because rows that will fill holes must be prefetched.
  std::uint32_t stop = 0;
  /// Number of the chunk that the previous row left; valid only while `aimed` is valid. The chunk
  /// belongs to `from`, is at depth 0, and has been touched. chunks_max if any value has an unusual
  /// size.
  std::uint32_t known = Locator::chunks_max;
  Chunk* old = nullptr;
  OpenChunk open;  ///< the open chunk of `to`
  LeftColumns columns;
  /// Slots in `to`, in the order of the component list; no_column for tags.
  std::array<std::uint16_t, site_components_max> slots{};
  SealedBytes sealed;
  std::array<TypeId, site_components_max> types{};  ///< the component list, if there is one
  std::size_t type_count = 0;
  /// The slots of the presence columns, parallel to `slots`.
  std::array<std::uint16_t, site_components_max> presences{};
  /// True if move_known() may move the row at this place. Successive rows usually leave the same
  /// chunk, and in that case nothing else about the chunk has to be checked.
  [[gnu::always_inline]] bool knows(const Storage& storage, std::uint64_t place) const noexcept {
    return place >> Locator::row_bits == known && aimed == storage.chunk_changes() && aim.open->count < stop;
  }

 private:
  friend class HostCall;
  friend class RowSites;
  /// Moves the row of an entity at depth 0 to `to`, including the values to keep. Touches all
  /// columns of the row. `place` holds the bits of the entity's Locator. Returns the number of the
  /// new row in the open chunk.
  [[gnu::always_inline]] std::uint32_t move_known(Storage& storage, Entity e, std::uint32_t place) {
    return way(*this, storage, e, place);
  }
  /// Like move_known(), but for any row of `from`. `from_chunk` is the row's chunk.
  std::uint32_t move(Storage& storage, Entity e, Chunk& from_chunk, std::uint32_t place);
  /// Like move(), but for the row of an entity that has a parent. Looks up the open chunk instead
  /// of remembering it.
  Row move_below(Storage& storage, Entity e, Row row) const;
  /// Like move(), but for rows with values of unusual sizes.
  std::uint32_t move_any(Storage& storage, Entity e, Chunk& from_chunk, std::uint32_t place);
  /// The function that move_known() calls; null if any value has an unusual size.
  using Way = std::uint32_t (*)(MoveSite&, Storage&, Entity, std::uint32_t place);
  template <class Copy>
  static std::uint32_t move_by(MoveSite& site, Storage& storage, Entity e, std::uint32_t place);
  static Way way_of(const LeftColumns& columns) noexcept;
  Way way = nullptr;
};

/// All sites of a registry. There are two places for each component list. If both are occupied by
/// other lists, the list takes over the first place.
class RowSites {
 public:
  [[gnu::always_inline]] CreateSite* create(std::uint64_t key) noexcept {
    return find(creates_, key, 0, [](const CreateSite&) { return true; });
  }
  /// Returns the most recently used site at this list's place. The site may belong to another key.
  [[gnu::always_inline]] MoveSite& recent(std::uint64_t key) noexcept { return *recent_[first_place(key, 0)]; }
  RowSites() { recent_.fill(moves_.data()); }
  RowSites(const RowSites&) = delete;
  RowSites& operator=(const RowSites&) = delete;
  /// Returns the site for rows of `chunk`'s archetype. Checks the most recently used site first:
  /// its address does not depend on the chunk, so its contents can be read before the chunk is
  /// known.
  [[gnu::always_inline]] MoveSite* move(std::uint64_t key, const Chunk& chunk) noexcept {
    MoveSite* const recent = recent_[first_place(key, 0)];
    if (recent->key == key && recent->from == chunk.archetype) [[likely]]
      return recent;
    return find_move(key, chunk);
  }
  /// Remembers `made`, the archetype of an entity that was just created with these components.
  /// Ignores archetypes with runtime components.
  void learn_create(std::uint64_t key, Archetype& made, std::span<const std::byte> sealed);
  /// Remembers the archetypes of a row that was just moved or written in place. Ignores archetypes
  /// with runtime components.
  void learn_move(std::uint64_t key, Archetype& from, Archetype& to, std::span<const TypeId> types,
                  std::span<const std::byte> sealed);
  /// Forgets everything. Must be called after the slots of an archetype were reassigned.
  void forget() noexcept;

 private:
  static constexpr std::size_t places = 64;
  MoveSite* find_move(std::uint64_t key, const Chunk& chunk) noexcept;
  template <class Site, class F>
  [[gnu::always_inline]] static Site* find(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t archetype,
                                           F is_it) noexcept {
    Site& first = sites[first_place(key, archetype)];
    if (first.key == key && is_it(first)) [[likely]]
      return &first;
    Site& second = sites[second_place(key, archetype)];
    return second.key == key && is_it(second) ? &second : nullptr;
  }
  static std::size_t first_place(std::uint64_t key, std::uint32_t archetype) noexcept {
    return ((key >> 8) + archetype) % places;
  }
  static std::size_t second_place(std::uint64_t key, std::uint32_t archetype) noexcept {
    return ((key >> 20) + archetype) % places;
  }
  template <class Site>
  Site& place(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t archetype) noexcept;

  std::array<CreateSite, places> creates_;
  std::array<MoveSite, places> moves_;
  std::array<MoveSite*, places> recent_;  // into `moves_`, by key
};

}  // namespace muster
