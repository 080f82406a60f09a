#include "registry/apply/left_columns.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster {

void LeftColumns::learn(const Archetype& from, const Archetype& to, std::span<const TypeId> types) {
  columns_.clear();
  carried_.clear();
  counts_ = {};
  const auto pod_slots = static_cast<std::uint16_t>(from.pod_slots);
  for (std::uint16_t slot = column_first; slot < pod_slots; ++slot) {
    const TypeId type = from.slot_types[slot]->id;
    const std::uint16_t into = std::ranges::find(types, type) == types.end() ? to.slot_of(type) : no_column;
    const std::uint32_t bytes = from.slot_bytes[slot];
    columns_.push_back(
        {static_cast<std::uint32_t>(sizeof(Chunk) + slot * sizeof(ColumnSlot)), bytes, nullptr, nullptr, into});
    if (into != no_column) carried_.push_back({slot, into, bytes});
  }
  // Returns the column's index into `counts_`. Kept columns of usual sizes come first, followed by
  // columns whose values are left behind, and then by kept columns of other sizes.
  const auto way = [](const Column& column) -> std::uint32_t {
    if (column.to == no_column) return ColumnCounts::sizes;
    const std::uint32_t words = column.bytes / 4;
    return column.bytes % 4 == 0 && words - 1 < ColumnCounts::sizes ? words - 1 : ColumnCounts::sizes + 1;
  };
  usual_ = columns_.size() <= 0xff && std::ranges::all_of(columns_, [&](const Column& column) {
             return way(column) < ColumnCounts::sizes || (column.to == no_column && is_small(column.bytes));
           });
  std::ranges::sort(columns_, {}, [&](const Column& column) { return std::pair(way(column), column.slot); });
  if (!usual_) return;
  for (const Column& column : columns_)
    if (column.to != no_column) ++counts_.of[way(column)];
}

void LeftColumns::aim(const Chunk& open, const Chunk& last) noexcept {
  for (Column& column : columns_) {
    if (column.to != no_column) column.into = open.slots()[column.to].data;
    std::memcpy(static_cast<void*>(&column.filler), reinterpret_cast<const std::byte*>(&last) + column.slot,
                sizeof column.filler);
  }
}

void LeftColumns::ask(const Chunk& old, std::uint32_t row, const Chunk& last, bool from_end) const noexcept {
  constexpr std::uint32_t step = Storage::asked_rows, ahead = Storage::asked_rows_ahead, line = 64;
  const auto ask_rows = [&]<int write>(const Chunk& of, std::uint32_t begin, std::uint32_t end) {
    for (const Column& column : columns_) {
      const std::byte* at = data_of(of, column.slot) + std::size_t{begin} * column.bytes;
      for (const std::byte* const to = at + std::size_t{end - begin} * column.bytes; at < to; at += line)
        __builtin_prefetch(at, write);
    }
  };
  each_near(last, std::ptrdiff_t{last.count} - ahead - step, step,
            [&](const Chunk& of, std::uint32_t begin, std::uint32_t end) {
              ask_rows.template operator()<0>(of, begin, end);
            });
  if (from_end) return;
  each_near(old, std::ptrdiff_t{row} + ahead, step, [&](const Chunk& of, std::uint32_t begin, std::uint32_t end) {
    ask_rows.template operator()<1>(of, begin, end);
  });
}

}  // namespace muster
