#include "registry/storage/archetype.h"

#include <algorithm>
#include <new>
#include <utility>

namespace muster {

namespace {
constexpr std::uint32_t chunk_line = 64;
constexpr std::uint32_t full_bytes = 64u << 10;
constexpr std::uint32_t first_bytes = 4u << 10;
// Chunks of at least this size use a separate block for each column.
constexpr std::uint32_t apart_bytes = 8u << 10;
constexpr std::uint32_t to_line(std::uint32_t n) noexcept { return (n + chunk_line - 1) & ~(chunk_line - 1); }
}  // namespace

std::uint32_t chunk_capacity(const Archetype& archetype, std::uint32_t place) noexcept {
  const std::uint32_t budget = place == 0 ? first_bytes : full_bytes;
  return std::clamp(budget / archetype.row_bytes & ~7u, 8u, chunk_rows_max);
}

Group& Archetype::need_group(std::uint32_t depth) {
  if (depth < groups.size()) return groups[depth];
  if (depth >= groups.capacity()) {
    groups.reserve(std::max(std::size_t{depth} + 1, groups.capacity() * 2));
    for (Group& moved : groups)
      for (Chunk* chunk : moved.chunks) chunk->group = &moved;
  }
  groups.resize(std::size_t{depth} + 1);
  return groups[depth];
}

namespace {

/// The purpose of a block of memory. Blocks for the same purpose are adjacent. For a column, the
/// purpose is its type id. If a type id equals one of these values, blocks of equal size share a
/// shelf, which is harmless.
enum Purpose : std::uint32_t { headers, rows, ids, parents };

/// The layout of the memory for a chunk's columns.
struct ChunkLayout {
  const Archetype& archetype;
  std::uint32_t depth, capacity, slots, header, bytes = 0;

  ChunkLayout(const Archetype& of, std::uint32_t at_depth, std::uint32_t rows)
      : archetype(of),
        depth(at_depth),
        capacity(rows),
        slots(static_cast<std::uint32_t>(of.slot_types.size())),
        header(to_line(sizeof(Chunk) + slots * static_cast<std::uint32_t>(sizeof(ColumnSlot)))) {
    for (std::uint32_t slot = 0; slot < slots; ++slot) bytes += column_bytes(slot);
  }
  bool in_one_block() const noexcept { return bytes < apart_bytes; }
  std::uint32_t column_bytes(std::uint32_t slot) const noexcept {
    if (slot == column_parents && depth == 0) return 0;
    return to_line(capacity * (slot < column_first ? 8 : archetype.slot_types[slot]->size));
  }
  std::uint32_t purpose(std::uint32_t slot) const noexcept {
    return slot == column_ids ? ids : slot == column_parents ? parents : archetype.slot_types[slot]->id;
  }
};

}  // namespace

void ChunkPool::expect(const Archetype& archetype, std::uint32_t depth, std::uint32_t capacity, std::size_t chunks) {
  const ChunkLayout layout(archetype, depth, capacity);
  blocks_.expect(headers, layout.header, chunks);
  if (layout.in_one_block()) return blocks_.expect(rows, layout.bytes, chunks);
  // Columns share a shelf if their type ids coincide, which is no worse than expecting the columns
  // one at a time.
  for (std::uint32_t slot = 0; slot < layout.slots; ++slot)
    if (const std::uint32_t bytes = layout.column_bytes(slot)) blocks_.expect(layout.purpose(slot), bytes, chunks);
}

Chunk* ChunkPool::make(Archetype& archetype, std::uint32_t depth, std::uint32_t capacity) {
  const ChunkLayout layout(archetype, depth, capacity);
  auto* chunk = new (blocks_.take(headers, layout.header)) Chunk;
  chunk->archetype = &archetype;
  chunk->archetype_index = archetype.index;
  chunk->depth = depth;
  chunk->capacity = capacity;
  chunk->header_lines = static_cast<std::uint16_t>(layout.header / chunk_line);
  chunk->lone = depth == 0 && archetype.name_column == no_column && archetype.plain();
  chunk->in_one_block = layout.in_one_block();
  auto* at = chunk->in_one_block ? static_cast<std::byte*>(blocks_.take(rows, layout.bytes)) : nullptr;
  for (std::uint32_t slot = 0; slot < layout.slots; ++slot) {
    const std::uint32_t size = layout.column_bytes(slot);
    if (!chunk->in_one_block && size != 0) at = static_cast<std::byte*>(blocks_.take(layout.purpose(slot), size));
    new (chunk->slots() + slot) ColumnSlot{size ? at : nullptr, 0};
    if (chunk->in_one_block) at += size;
  }
  // Fills the slots up to the end of the header, so that a search for new versions does not need to
  // know the number of columns.
  for (std::uint32_t slot = layout.slots; slot < (layout.header - sizeof(Chunk)) / sizeof(ColumnSlot); ++slot)
    new (chunk->slots() + slot) ColumnSlot;
  return chunk;
}

void ChunkPool::recycle(Chunk* chunk) noexcept {
  const std::size_t slots =
      chunk->in_one_block ? 1 : (chunk->header_lines * chunk_line - sizeof(Chunk)) / sizeof(ColumnSlot);
  for (std::size_t slot = 0; slot < slots; ++slot)
    if (std::byte* const column = chunk->slots()[slot].data) blocks_.give_back(column);
  blocks_.give_back(chunk);
}

std::span<const TypeId> types_of(Row row, std::vector<TypeId>& room) {
  const Archetype& archetype = *row.chunk->archetype;
  if (!archetype.enableable) return archetype.types;
  room.clear();
  for (std::size_t i = 0; i < archetype.types.size(); ++i)
    if (archetype.presences[i] == no_column || row.presence(archetype.presences[i]) != 0)
      room.push_back(archetype.types[i]);
  return room.size() == archetype.types.size() ? std::span<const TypeId>(archetype.types) : room;
}

void enable_all(Chunk& chunk, std::uint32_t begin, std::uint32_t end) noexcept {
  for (const std::uint16_t slot : chunk.archetype->presences)
    if (slot != no_column)
      std::fill_n(reinterpret_cast<PresenceWord*>(chunk.slots()[slot].data) + begin, end - begin, PresenceWord{1});
}

}  // namespace muster
