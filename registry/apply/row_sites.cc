#include "registry/apply/row_sites.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster {

void SealedBytes::keep(std::span<const std::byte> sealed) {
  if (room_ < sealed.size()) {
    bytes_ = std::make_unique<std::byte[]>(sealed.size());
    room_ = sealed.size();
  }
  std::memcpy(bytes_.get(), sealed.data(), sealed.size());
}

void OpenChunk::reopen(Storage& storage, Archetype& archetype, std::span<const TypeId> types) {
  chunk = &storage.open_chunk(archetype, 0);
  changes = storage.chunk_changes();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::uint16_t slot = archetype.column(types[i]);
    columns[i] = slot == no_column ? nullptr : chunk->slots()[slot].data;
    if (const std::uint16_t presence = archetype.presence(types[i]); presence != no_column)
      presences[i] = reinterpret_cast<PresenceWord*>(chunk->slots()[presence].data);
  }
}

template <class Site>
Site& RowSites::place(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t archetype) noexcept {
  Site& first = sites[first_place(key, archetype)];
  Site& second = sites[second_place(key, archetype)];
  return first.key != 0 && second.key == 0 ? second : first;
}

void RowSites::learn_create(std::uint64_t key, Archetype& made, std::span<const std::byte> sealed) {
  if (!made.plain()) return;
  CreateSite& site = place(creates_, key, 0);
  site.key = key;
  site.archetype = &made;
  site.open.changes = 0;
  site.sealed.keep(sealed);
}

void RowSites::learn_move(std::uint64_t key, Archetype& from, Archetype& to, std::span<const TypeId> types,
                          std::span<const std::byte> sealed) {
  if (!from.plain() || !to.plain()) return;
  MoveSite& site = place(moves_, key, from.index);
  site.key = key;
  site.from = &from;
  site.to = &to;
  site.open.changes = site.aimed = 0;
  site.sealed.keep(sealed);
  for (std::size_t i = 0; i < types.size(); ++i) site.slots[i] = to.column(types[i]);
  for (std::size_t i = 0; i < types.size(); ++i) site.presences[i] = to.presence(types[i]);
  std::ranges::copy(types, site.types.begin());
  site.type_count = types.size();
  if (&from != &to) site.columns.learn(from, to, types);
}

void LeftColumns::learn(const Archetype& from, const Archetype& to, std::span<const TypeId> types) {
  columns_.clear();
  carried_.clear();
  const auto pod_slots = static_cast<std::uint16_t>(from.pod_slots);
  for (std::uint16_t slot = column_first; slot < pod_slots; ++slot) {
    const TypeId type = from.slot_types[slot]->id;
    const std::uint16_t into = std::ranges::find(types, type) == types.end() ? to.slot_of(type) : no_column;
    const std::uint32_t bytes = from.slot_bytes[slot];
    columns_.push_back(
        {static_cast<std::uint32_t>(sizeof(Chunk) + slot * sizeof(ColumnSlot)), bytes, nullptr, nullptr, into});
    if (into != no_column) carried_.push_back({slot, into, bytes});
  }
  const auto way = [](const Column& column) -> std::size_t {
    if (column.to == no_column) return 4;
    return column.bytes % 4 == 0 && column.bytes / 4 - 1 < 4 ? column.bytes / 4 - 1 : 5;
  };
  usual_ = std::ranges::all_of(
      columns_, [&](const Column& column) { return way(column) < 4 || (way(column) == 4 && is_small(column.bytes)); });
  std::ranges::sort(columns_, {}, [&](const Column& column) { return std::pair(way(column), column.slot); });
  const Column* column = columns_.data();
  for (std::size_t i = 0; i < std::size(ends_); ++i) {
    while (column != columns_.data() + columns_.size() && way(*column) == i) ++column;
    ends_[i] = column;
  }
}

void LeftColumns::aim(const Chunk& open, const Chunk& last) noexcept {
  for (Column& column : columns_) {
    if (column.to != no_column) column.into = open.slots()[column.to].data;
    std::memcpy(static_cast<void*>(&column.filler), reinterpret_cast<const std::byte*>(&last) + column.slot,
                sizeof column.filler);
  }
}

namespace {

/// Asks for rows that leave some moves later, if rows leave one after another.
void ask_for_next_rows(const Chunk& old, std::uint32_t row) noexcept {
  constexpr std::size_t line = 64, ahead = 4;
  const Archetype& archetype = *old.archetype;
  for (std::uint32_t slot = column_first; slot < archetype.pod_slots; ++slot) {
    const std::size_t step = std::size_t{Storage::asked_rows} * archetype.slot_bytes[slot];
    const std::byte* const from = old.slots()[slot].data + row * std::size_t{archetype.slot_bytes[slot]} + ahead * step;
    for (std::size_t at = 0; at < step; at += line) __builtin_prefetch(from + at, 1);
  }
}

}  // namespace

std::uint32_t MoveSite::move(Storage& storage, Entity e, Chunk& old, std::uint32_t place) {
  if (aimed != storage.chunk_changes() || aim.open->count >= stop || !storage.is_touched(old)) [[unlikely]]
    return move_slowly(storage, e, old, place);
  return storage.move_plain(e, old, place, aim, columns);
}

std::uint32_t MoveSite::move_slowly(Storage& storage, Entity e, Chunk& old, std::uint32_t place) {
  if (!open.fits(storage)) open.reopen(storage, *to, {types.data(), type_count});
  if (!columns.usual()) {
    const Row row{&old, place & (Locator::rows_max - 1)};
    const Row into = storage.append_moved(e, *open.chunk, {});
    columns.carry(into, row);
    storage.take_plain_row(row);
    return into.row;
  }
  if (aimed != storage.chunk_changes()) {
    aim = storage.aim_moves(*open.chunk, *old.group->last);
    columns.aim(*aim.open, *aim.last);
    aimed = storage.chunk_changes();
  }
  stop = aim.open->capacity;
  if (storage.rows() >= rows_far_away) {
    constexpr std::uint32_t step = Storage::asked_rows;
    stop = std::min(stop, (aim.open->count & ~(step - 1)) + step);
    storage.ask_for_last_rows(*aim.last);
    ask_for_next_rows(old, place & (Locator::rows_max - 1));
  }
  storage.touch_chunk(old);
  return storage.move_plain(e, old, place, aim, columns);
}

Row move_below(Storage& storage, const MoveSite& site, Entity e, Row row) {
  const Row to = storage.append_moved(e, storage.open_chunk(*site.to, row.chunk->depth), row.chunk->parents()[row.row]);
  site.columns.carry(to, row);
  storage.take_plain_row(row);
  return to;
}

MoveSite* RowSites::find_move(std::uint64_t key, const Chunk& chunk) noexcept {
  MoveSite* const found =
      find(moves_, key, chunk.archetype_index, [&](const MoveSite& site) { return site.from == chunk.archetype; });
  if (found) recent_[first_place(key, 0)] = found;
  return found;
}

void RowSites::forget() noexcept {
  for (CreateSite& site : creates_) site.key = 0;
  for (MoveSite& site : moves_) site.key = 0;
}

}  // namespace muster
