#include "registry/archetype.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace muster {

namespace {
constexpr std::uint32_t line = 64;
constexpr std::uint32_t full_bytes = 64u << 10;
constexpr std::uint32_t first_bytes = 4u << 10;
constexpr std::uint32_t to_line(std::uint32_t n) noexcept { return (n + line - 1) & ~(line - 1); }
}  // namespace

std::uint32_t chunk_capacity(const Archetype& archetype, std::uint32_t place) noexcept {
  const std::uint32_t budget = place == 0 ? first_bytes : full_bytes;
  return std::clamp(budget / archetype.row_bytes & ~7u, 8u, chunk_rows_max);
}

ChunkPool::~ChunkPool() {
  for (const Shelf& shelf : shelves_)
    for (void* block : shelf.blocks) ::operator delete(block, std::align_val_t{line});
}

Chunk* ChunkPool::make(Archetype& archetype, std::uint32_t depth, std::uint32_t capacity) {
  const auto slots = static_cast<std::uint32_t>(archetype.slot_types.size());
  const std::uint32_t head = to_line(sizeof(Chunk) + slots * static_cast<std::uint32_t>(sizeof(ColumnSlot)));
  const auto column_bytes = [&](std::uint32_t slot) -> std::uint32_t {
    if (slot == column_parents && depth == 0) return 0;
    return to_line(capacity * (slot < column_first ? 8 : archetype.slot_types[slot]->size));
  };
  std::uint32_t bytes = head;
  for (std::uint32_t slot = 0; slot < slots; ++slot) bytes += column_bytes(slot);

  void* block = nullptr;
  for (Shelf& shelf : shelves_)
    if (shelf.bytes == bytes && !shelf.blocks.empty()) {
      block = shelf.blocks.back();
      shelf.blocks.pop_back();
      break;
    }
  if (!block) block = ::operator new(bytes, std::align_val_t{line});
  auto* chunk = new (block) Chunk;
  chunk->archetype = &archetype;
  chunk->archetype_number = archetype.number;
  chunk->depth = depth;
  chunk->capacity = capacity;
  chunk->block_bytes = bytes;
  chunk->lone = depth == 0 && archetype.name_column == no_column && archetype.plain();
  std::uint32_t at = head;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const std::uint32_t size = column_bytes(slot);
    new (chunk->slots() + slot) ColumnSlot{size ? static_cast<std::byte*>(block) + at : nullptr, 0};
    at += size;
  }
  return chunk;
}

void ChunkPool::recycle(Chunk* chunk) noexcept {
  const std::uint32_t bytes = chunk->block_bytes;
  for (Shelf& shelf : shelves_)
    if (shelf.bytes == bytes) {
      shelf.blocks.push_back(chunk);
      return;
    }
  shelves_.push_back({bytes, {chunk}});
}

}  // namespace muster
