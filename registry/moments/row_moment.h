// The rows of moments. The columns that change after a moment are copied before their first change,
// and so are the places of the chunks to which they belong. The number of copies depends on what
// changes, not on the number of rows.
//
//   moment 7           moment 8           moment 9              now
//      | copies of 7      | copies of 8      | copies of 9        |
//      `---- the oldest copy since the moment is the column as it was ----'
#pragma once

#include <cstdint>
#include <vector>

#include "registry/moments/copies.h"
#include "registry/storage/storage.h"

namespace muster {

/// A column as it was at a moment. `next` is the index of the chunk's next column, or `none`.
struct KeptColumn {
  static constexpr std::uint32_t none = ~0u;
  std::uint32_t id;  ///< the stored type, or column_ids or column_parents
  std::uint32_t size, next;
  const std::byte* bytes;
};

/// A chunk that has changed since a moment, as it was at the moment.
struct KeptChunk {
  std::uint64_t uid;
  std::uint32_t number, archetype, depth, place, count, capacity;
  std::uint32_t first_column = KeptColumn::none;
};

/// The types of an archetype that was dropped.
struct KeptArchetype {
  std::uint32_t number;
  std::vector<TypeId> types;
};

/// The part of a moment that concerns rows.
struct RowMoment {
  explicit RowMoment(SpareCopies& spare) noexcept : copies(spare) {}
  std::uint64_t next_chunk_uid = 0;
  std::uint32_t next_archetype = 0;
  bool archetypes_came = false;
  // What has changed until the next moment:
  std::vector<KeptChunk> chunks;
  std::vector<KeptColumn> columns;
  std::vector<std::uint32_t> created;  ///< the numbers of new chunks, some of which may be gone
  std::vector<KeptArchetype> dropped;
  Copies copies;
  /// Forgets what has changed.
  void clear() {
    chunks.clear();
    columns.clear();
    created.clear();
    dropped.clear();
    copies.clear();
  }
  std::size_t bytes() const noexcept {
    return copies.bytes() + chunks.size() * sizeof(KeptChunk) + columns.size() * sizeof(KeptColumn) +
           created.size() * sizeof(std::uint32_t);
  }
};

/// Finds the entry for a chunk by the chunk's number. Clearing takes constant time.
class ByChunk {
 public:
  static constexpr std::uint32_t none = ~0u, created = none - 1;
  void clear() noexcept { ++round_; }
  std::uint32_t find(std::uint32_t number) const noexcept {
    return number < entries_.size() && entries_[number].round == round_ ? entries_[number].value : none;
  }
  void put(std::uint32_t number, std::uint32_t value) {
    if (number >= entries_.size()) entries_.resize(number + 1 + number / 2);
    entries_[number] = {round_, value};
  }

 private:
  struct Entry {
    std::uint64_t round = 0;
    std::uint32_t value = 0;
  };
  std::vector<Entry> entries_;
  std::uint64_t round_ = 1;
};

/// Fills the newest moment while rows change.
class RowKeeper {
 public:
  /// Starts filling this moment, which must be empty.
  void begin(RowMoment& moment, const Storage& storage) noexcept {
    moment.next_chunk_uid = storage.next_chunk_uid_;
    moment.next_archetype = storage.next_archetype_;
    moment.archetypes_came = storage.archetypes_came_;
    moment_ = &moment;
    by_chunk_.clear();
  }
  /// Stops. Until begin() is called, changes are ignored.
  void end() noexcept { moment_ = nullptr; }
  /// Like the functions of ColumnPreserver. `room(bytes)` is called before bytes are copied, and
  /// returns false if the moment was dropped instead.
  template <class Room>
  void before_write(const Chunk& chunk, std::uint32_t slot, Room room) {
    KeptChunk* const kept = chunk_of(chunk, slot);
    if (!kept) return;
    const std::uint32_t id = slot < column_first ? slot : chunk.archetype->slot_types[slot]->id;
    for (std::uint32_t at = kept->first_column; at != KeptColumn::none; at = moment_->columns[at].next)
      if (moment_->columns[at].id == id) return;
    const std::byte* const data = chunk.slots()[slot].data;
    const std::size_t size = data ? std::size_t{chunk.archetype->slot_bytes[slot]} * kept->count : 0;
    if (!data || !room(moment_->copies.growth(size) + sizeof(KeptColumn) + sizeof(KeptChunk))) return;
    const auto column = static_cast<std::uint32_t>(moment_->columns.size());
    moment_->columns.push_back(
        {id, static_cast<std::uint32_t>(size), kept->first_column, moment_->copies.add(data, size)});
    kept->first_column = column;
  }
  void before_drop(std::span<Archetype* const> leaving) {
    if (!moment_) return;
    for (const Archetype* archetype : leaving)
      if (archetype->number < moment_->next_archetype)
        moment_->dropped.push_back({archetype->number, archetype->types});
  }

 private:
  /// Returns the chunk's entry, or null if the chunk did not exist at the moment.
  KeptChunk* chunk_of(const Chunk& chunk, std::uint32_t slot);
  RowMoment* moment_ = nullptr;
  ByChunk by_chunk_;
};

}  // namespace muster
