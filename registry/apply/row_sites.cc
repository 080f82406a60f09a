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

namespace {

/// MoveSite::way for rows with values of unusual sizes.
std::uint32_t move_any(MoveSite& site, Storage& storage, Entity e, Chunk& old, std::uint32_t place) {
  if (!site.open.fits(storage)) site.open.reopen(storage, *site.to, {site.types.data(), site.type_count});
  const Row row{&old, place & (Locator::rows_max - 1)};
  const Row into = storage.append_moved(e, *site.open.chunk, {});
  site.columns.carry(into, row);
  storage.take_plain_row(row);
  return into.row;
}

/// Does what is to be done before a move, which is then made by `site.way`.
[[gnu::noinline]] std::uint32_t aim_and_move(MoveSite& site, Storage& storage, Entity e, Chunk& old,
                                             std::uint32_t place) {
  if (!site.open.fits(storage)) site.open.reopen(storage, *site.to, {site.types.data(), site.type_count});
  if (site.aimed != storage.chunk_changes()) {
    site.aim = storage.aim_moves(*site.open.chunk, *old.group->last);
    site.columns.aim(*site.aim.open, *site.aim.last);
    site.aimed = storage.chunk_changes();
  }
  site.stop = site.aim.open->capacity;
  if (storage.rows() >= rows_far_away) {
    constexpr std::uint32_t step = Storage::asked_rows;
    site.stop = std::min(site.stop, (site.aim.open->count & ~(step - 1)) + step);
    storage.ask_for_last_ids(*site.aim.last);
    site.columns.ask(old, place & (Locator::rows_max - 1), site.aim.last->count);
  }
  storage.touch_chunk(old);
  return site.way(site, storage, e, old, place);
}

/// MoveSite::way where `Copy::copy(columns, to, old, hole, last)` copies the values.
template <class Copy>
std::uint32_t move_by(MoveSite& site, Storage& storage, Entity e, Chunk& old, std::uint32_t place) {
  if (site.aimed != storage.chunk_changes() || site.aim.open->count >= site.stop || !storage.is_touched(old))
      [[unlikely]]
    return aim_and_move(site, storage, e, old, place);
  return storage.move_plain(e, old, place, site.aim,
                            [&]<bool fills>(std::uint32_t to, Chunk& chunk, std::uint32_t hole, std::uint32_t last) {
                              Copy::template copy<fills>(site.columns, to, chunk, hole, last);
                            });
}

struct CopyAny {
  template <bool fills>
  [[gnu::always_inline]] static void copy(const LeftColumns& columns, std::uint32_t to, Chunk& old, std::uint32_t hole,
                                          std::uint32_t last) noexcept {
    columns.copy<fills>(to, old, hole, last);
  }
};

/// Up to so many columns of usual sizes have a way of their own.
constexpr std::uint32_t counted_columns_max = 3;

constexpr std::uint32_t number_of(const ColumnCounts& counts) noexcept {
  std::uint32_t number = 0;
  for (const std::uint8_t of : counts.of) number = number * (counted_columns_max + 1) + of;
  return number;
}
constexpr ColumnCounts counts_numbered(std::uint32_t number) noexcept {
  ColumnCounts counts;
  for (std::uint32_t i = ColumnCounts::sizes; i-- > 0; number /= counted_columns_max + 1)
    counts.of[i] = static_cast<std::uint8_t>(number % (counted_columns_max + 1));
  return counts;
}

template <std::uint32_t number, bool leaves>
struct CopyCounted {
  static constexpr ColumnCounts counts = counts_numbered(number);
  template <bool fills>
  [[gnu::always_inline]] static void copy(const LeftColumns& columns, std::uint32_t to, Chunk& old, std::uint32_t hole,
                                          std::uint32_t last) noexcept {
    columns.copy_counted<counts, leaves, fills>(to, old, hole, last);
  }
};
template <std::uint32_t number, bool leaves>
constexpr MoveSite::Way counted_way() noexcept {
  if constexpr (counts_numbered(number).all() > counted_columns_max)
    return nullptr;
  else
    return &move_by<CopyCounted<number, leaves>>;
}
template <bool leaves>
constexpr auto counted_ways = []<std::uint32_t... numbers>(std::integer_sequence<std::uint32_t, numbers...>) {
  return std::array{counted_way<numbers, leaves>()...};
}(std::make_integer_sequence<std::uint32_t, number_of({{counted_columns_max, 0, 0, 0}}) + 1>());

MoveSite::Way way_of(const LeftColumns& columns) noexcept {
  if (!columns.usual()) return &move_any;
  const ColumnCounts& counts = columns.counts();
  if (counts.all() > counted_columns_max) return &move_by<CopyAny>;
  return (columns.leaves_any() ? counted_ways<true> : counted_ways<false>)[number_of(counts)];
}

}  // namespace

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
  if (&from != &to) {
    site.columns.learn(from, to, types);
    site.way = way_of(site.columns);
  }
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
