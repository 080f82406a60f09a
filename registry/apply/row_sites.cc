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

std::uint32_t MoveSite::move_any(Storage& storage, Entity e, Chunk& from_chunk, std::uint32_t place) {
  const Row row{&from_chunk, place & (Locator::rows_max - 1)};
  const Row into = storage.append(e, *open.chunk, {});
  columns.carry(into, row);
  storage.take_plain_row(row);
  return into.row;
}

/// A Way that copies values by calling `Copy::copy(columns, to, old, hole, last)`.
template <class Copy>
std::uint32_t MoveSite::move_by(MoveSite& site, Storage& storage, Entity e, std::uint32_t place) {
  return storage.move_plain(e, *site.old, place, site.aim,
                            [&]<bool fills>(std::uint32_t to, Chunk& chunk, std::uint32_t hole, std::uint32_t last) {
                              Copy::template copy<fills>(site.columns, to, chunk, hole, last);
                            });
}

namespace {

struct CopyAny {
  template <bool fills>
  [[gnu::always_inline]] static void copy(const LeftColumns& columns, std::uint32_t to, Chunk& old, std::uint32_t hole,
                                          std::uint32_t last) noexcept {
    columns.copy<fills>(to, old, hole, last);
  }
};

/// The maximum number of columns of usual sizes for which a specialized Way exists.
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
}  // namespace

MoveSite::Way MoveSite::way_of(const LeftColumns& columns) noexcept {
  if (!columns.usual()) return nullptr;
  const ColumnCounts& counts = columns.counts();
  if (counts.all() > counted_columns_max) return &move_by<CopyAny>;
  // Indexed by the number that encodes the counts. Null if there are too many columns.
  constexpr auto ways = []<bool leaves, std::uint32_t... numbers>(std::bool_constant<leaves>,
                                                                  std::integer_sequence<std::uint32_t, numbers...>) {
    constexpr auto way = []<std::uint32_t number>() -> Way {
      if constexpr (counts_numbered(number).all() > counted_columns_max)
        return nullptr;
      else
        return &move_by<CopyCounted<number, leaves>>;
    };
    return std::array { way.template operator()<numbers>()... };
  };
  using Numbers = std::make_integer_sequence<std::uint32_t, number_of({{counted_columns_max, 0, 0, 0}}) + 1>;
  static constexpr auto leaving = ways(std::true_type(), Numbers());
  static constexpr auto staying = ways(std::false_type(), Numbers());
  return (columns.leaves_any() ? leaving : staying)[number_of(counts)];
}

std::uint32_t MoveSite::move(Storage& storage, Entity e, Chunk& from_chunk, std::uint32_t place) {
  if (!open.fits(storage)) open.reopen(storage, *to, {types.data(), type_count});
  if (!way) return move_any(storage, e, from_chunk, place);
  if (aimed != storage.chunk_changes()) {
    aim = storage.aim_moves(*open.chunk, *from_chunk.group->last);
    columns.aim(*aim.open, *aim.last);
    aimed = storage.chunk_changes();
    stop = 0;
  }
  if (aim.open->count >= stop) {
    stop = aim.open->capacity;
    if (storage.rows() >= rows_far_away) {
      constexpr std::uint32_t step = Storage::asked_rows;
      stop = std::min(stop, (aim.open->count & ~(step - 1)) + step);
      const std::uint32_t row = place & (Locator::rows_max - 1);
      storage.ask_for_last_ids(*aim.last);
      // If the last row is leaving, rows leave from the end, and their ids have already been
      // prefetched.
      const bool from_end = &from_chunk == aim.last && row + 1 == from_chunk.count;
      if (!from_end) {
        const std::ptrdiff_t soon = std::ptrdiff_t{row} + Storage::asked_rows_ahead;
        storage.ask_for_ids(from_chunk, soon + Storage::asked_rows_ahead, soon);
      }
      columns.ask(from_chunk, row, *aim.last, from_end);
    }
  }
  storage.touch_chunk(from_chunk);
  old = &from_chunk;
  known = from_chunk.number;
  return move_known(storage, e, place);
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
  site.known = Locator::chunks_max;
  site.sealed.keep(sealed);
  for (std::size_t i = 0; i < types.size(); ++i) site.slots[i] = to.column(types[i]);
  for (std::size_t i = 0; i < types.size(); ++i) site.presences[i] = to.presence(types[i]);
  std::ranges::copy(types, site.types.begin());
  site.type_count = types.size();
  if (&from != &to) {
    site.columns.learn(from, to, types);
    site.way = MoveSite::way_of(site.columns);
  }
}

Row MoveSite::move_below(Storage& storage, Entity e, Row row) const {
  const Row into = storage.append(e, storage.open_chunk(*to, row.chunk->depth), row.chunk->parents()[row.row]);
  columns.carry(into, row);
  storage.take_plain_row(row);
  return into;
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
