#include "registry/row_sites.h"

#include <algorithm>

namespace muster {

void CreateSite::reopen(Storage& storage, std::span<const TypeId> types) {
  open = &storage.open_chunk(*archetype, 0);
  chunks = storage.chunk_changes();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::uint16_t slot = archetype->column(types[i]);
    columns[i] = slot == no_column ? nullptr : open->slots()[slot].data;
  }
}

template <class Site>
Site& RowSites::place(std::array<Site, places>& sites, std::uint64_t key, std::uint32_t number) noexcept {
  Site& first = sites[first_place(key, number)];
  Site& second = sites[second_place(key, number)];
  return first.key != 0 && second.key == 0 ? second : first;
}

void RowSites::learn_create(std::uint64_t key, Archetype& made) {
  if (!made.plain()) return;
  CreateSite& site = place(creates_, key, 0);
  site = {};
  site.key = key;
  site.archetype = &made;
}

void RowSites::learn_move(std::uint64_t key, Archetype& from, Archetype& to, std::span<const TypeId> types) {
  if (!from.plain() || !to.plain()) return;
  MoveSite& site = place(moves_, key, from.number);
  site.key = key;
  site.from = &from;
  site.to = &to;
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

void RowSites::forget() noexcept {
  for (CreateSite& site : creates_) site.key = 0;
  for (MoveSite& site : moves_) site.key = 0;
}

}  // namespace muster
