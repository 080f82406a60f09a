#include "registry/apply/row_sites.h"

#include <algorithm>
#include <cstring>

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
  }
}

template <class Site>
Site& RowSites::place(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t number) noexcept {
  Site& first = sites[first_place(key, number)];
  Site& second = sites[second_place(key, number)];
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
  MoveSite& site = place(moves_, key, from.number);
  site.key = key;
  site.from = &from;
  site.to = &to;
  site.open.changes = 0;
  site.sealed.keep(sealed);
  for (std::size_t i = 0; i < types.size(); ++i) site.slots[i] = to.column(types[i]);
  site.carried.clear();
  site.small_values = to.small_values;
  if (&from == &to) return;
  const auto pod_slots = static_cast<std::uint16_t>(to.pod_slots);
  for (std::uint16_t slot = column_first; slot < pod_slots; ++slot) {
    const TypeId type = to.slot_types[slot]->id;
    if (const std::uint16_t source = from.column(type);
        source != no_column && std::ranges::find(types, type) == types.end())
      site.carried.push_back({source, slot, to.slot_bytes[slot]});
  }
}

void MoveSite::carry_large(Row into, Row old) const noexcept { copy_columns(into, old, carried); }

Row move_below(Storage& storage, const MoveSite& site, Entity e, Row row) {
  const std::uint32_t depth = row.chunk->depth;
  return move_direct(storage, site, e, row, storage.open_chunk(*site.to, depth), row.chunk->parents()[row.row]);
}

void RowSites::forget() noexcept {
  for (CreateSite& site : creates_) site.key = 0;
  for (MoveSite& site : moves_) site.key = 0;
}

}  // namespace muster
