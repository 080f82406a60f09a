// Describes the columns of the old row when an entity moves to another archetype. Kept values are
// copied to the new row, and the hole is filled with the values of the chunk's last row. Most
// values have 4, 8, 12, or 16 bytes. The code that copies these values knows how many columns of
// each size there are, so it does not have to look up sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

/// The numbers of kept columns whose values have 4, 8, 12, and 16 bytes.
struct ColumnCounts {
  static constexpr std::uint32_t sizes = 4;
  std::array<std::uint8_t, sizes> of{};
  constexpr std::uint32_t all() const noexcept { return std::uint32_t{of[0]} + of[1] + of[2] + of[3]; }
  friend constexpr bool operator==(const ColumnCounts&, const ColumnCounts&) = default;
};

/// The columns of the old archetype, sorted by how they are handled, then by the size of their
/// values.
class LeftColumns {
 public:
  /// Prepares to move rows between these archetypes. The rows keep all values except those of
  /// `types`. Both archetypes must be plain().
  void learn(const Archetype& from, const Archetype& to, std::span<const TypeId> types);
  /// Stores the columns of `open`, the chunk that receives the rows, and of `last`, the chunk whose
  /// last row fills holes.
  void aim(const Chunk& open, const Chunk& last) noexcept;
  /// True if the functions below may be called. This requires each value to have one of the sizes
  /// in ColumnCounts, or to be small and left behind.
  bool usual() const noexcept { return usual_; }
  const ColumnCounts& counts() const noexcept { return counts_; }

  /// Copies the values that a row keeps to row `to` of the receiving chunk. Then, if `fills` is
  /// true, fills the hole with all values of row `last`, the last row of its group. `counts` must
  /// equal counts(), and `leaves` must equal leaves_any().
  template <ColumnCounts counts, bool leaves, bool fills>
  [[gnu::always_inline]] void copy_counted(std::uint32_t to, Chunk& old, std::uint32_t hole,
                                           std::uint32_t last) const noexcept {
    const Column* const column = columns_.data();
    constexpr std::uint32_t after4 = counts.of[0], after8 = after4 + counts.of[1], after12 = after8 + counts.of[2];
    copy_each<4, fills, 0, after4>(column, to, old, hole, last);
    copy_each<8, fills, after4, after8>(column, to, old, hole, last);
    copy_each<12, fills, after8, after12>(column, to, old, hole, last);
    copy_each<16, fills, after12, counts.all()>(column, to, old, hole, last);
    if constexpr (leaves && fills) fill_left(column + counts.all(), old, hole, last);
  }
  /// Like copy_counted(), but for arbitrary counts.
  template <bool fills>
  [[gnu::always_inline]] void copy(std::uint32_t to, Chunk& old, std::uint32_t hole,
                                   std::uint32_t last) const noexcept {
    const Column* column = columns_.data();
    column = copy_until<4, fills>(column, counts_.of[0], to, old, hole, last);
    column = copy_until<8, fills>(column, counts_.of[1], to, old, hole, last);
    column = copy_until<12, fills>(column, counts_.of[2], to, old, hole, last);
    column = copy_until<16, fills>(column, counts_.of[3], to, old, hole, last);
    if constexpr (fills) fill_left(column, old, hole, last);
  }
  bool leaves_any() const noexcept { return counts_.all() != columns_.size(); }
  /// Prefetches the values of the Storage::asked_rows rows that will leave a few moves later,
  /// assuming that rows leave in order, starting with `row`. If `last` is the group's last chunk,
  /// also prefetches the values of the rows that will fill the holes (the same number). If
  /// `from_end` is true, rows leave from the end, so the leaving rows are the ones that would fill
  /// the holes.
  void ask(const Chunk& old, std::uint32_t row, const Chunk& last, bool from_end) const noexcept;
  /// Copies all kept values, regardless of size, to any row.
  void carry(Row into, Row old) const noexcept { copy_columns(into, old, carried_); }

 private:
  struct Column {
    std::uint32_t slot;  // slot of the old row, as an offset in bytes from the start of its chunk
    std::uint32_t bytes;
    std::byte* into;    // column of the chunk that receives the rows
    std::byte* filler;  // column of the chunk whose last row fills holes
    std::uint16_t to;   // slot of `into`, or no_column if the value is left behind
  };
  static std::byte* data_of(const Chunk& chunk, std::uint32_t slot) noexcept {
    return *reinterpret_cast<std::byte* const*>(reinterpret_cast<const std::byte*>(&chunk) + slot);
  }
  template <std::size_t bytes, bool fills>
  [[gnu::always_inline]] static void copy_one(const Column& column, std::uint32_t to, Chunk& old, std::uint32_t hole,
                                              std::uint32_t last) noexcept {
    std::byte* const into = column.into + std::size_t{to} * bytes;
    std::byte* const place = data_of(old, column.slot) + std::size_t{hole} * bytes;
    std::memcpy(into, place, bytes);
    if constexpr (fills) std::memcpy(place, column.filler + std::size_t{last} * bytes, bytes);
  }
  /// Calls copy_one() for columns [begin, end). The condition avoids a GCC warning about unrolling
  /// an empty loop.
  template <std::size_t bytes, bool fills, std::uint32_t begin, std::uint32_t end>
  [[gnu::always_inline]] static void copy_each([[maybe_unused]] const Column* column, std::uint32_t to, Chunk& old,
                                               std::uint32_t hole, std::uint32_t last) noexcept {
    if constexpr (begin < end) {
#pragma GCC unroll 8
      for (std::uint32_t i = begin; i < end; ++i) copy_one<bytes, fills>(column[i], to, old, hole, last);
    }
  }
  template <std::size_t bytes, bool fills>
  [[gnu::always_inline]] static const Column* copy_until(const Column* column, std::uint32_t count, std::uint32_t to,
                                                         Chunk& old, std::uint32_t hole, std::uint32_t last) noexcept {
    for (const Column* const end = column + count; column != end; ++column)
      copy_one<bytes, fills>(*column, to, old, hole, last);
    return column;
  }
  /// Fills the hole in column `column` and in all columns after it. The values of these columns are
  /// left behind.
  [[gnu::always_inline]] void fill_left(const Column* column, Chunk& old, std::uint32_t hole,
                                        std::uint32_t last) const noexcept {
    for (const Column* const end = columns_.data() + columns_.size(); column != end; ++column)
      copy_value<true>(data_of(old, column->slot), hole, column->filler, last, column->bytes);
  }

  std::vector<Column> columns_;
  ColumnCounts counts_;
  bool usual_ = false;
  std::vector<ColumnCopy> carried_;
};

}  // namespace muster
