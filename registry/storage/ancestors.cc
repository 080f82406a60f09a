#include "registry/storage/ancestors.h"

#include "registry/storage/storage.h"

namespace muster {

namespace {

const std::byte* value_in(Row at, TypeId type) noexcept {
  const Archetype& archetype = *at.chunk->archetype;
  if (archetype.enableable && !at.has(type)) [[unlikely]]
    return nullptr;
  const std::uint16_t column = archetype.column(type);
  if (column == no_column) return archetype.has(type) ? reinterpret_cast<const std::byte*>(at.chunk) : nullptr;
  return at.at(column, archetype.slot_types[column]->size);
}

}  // namespace

const std::byte* component_of(const Storage& storage, Entity e, TypeId type) noexcept {
  const Row at = storage.find(e);
  return at ? value_in(at, type) : nullptr;
}

const std::byte* component_above(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId type) noexcept {
  const Chunk* c = &chunk;
  while (c->depth) {
    const Row up = storage.find(c->parents()[row]);
    if (const std::byte* found = value_in(up, type)) return found;
    c = up.chunk;
    row = up.row;
  }
  return nullptr;
}

const std::byte* component_at_or_above(const Storage& storage, Entity e, TypeId type) noexcept {
  const Row at = storage.find(e);
  if (!at) return nullptr;
  const std::byte* own = value_in(at, type);
  return own ? own : component_above(storage, *at.chunk, at.row, type);
}

const std::byte* component_of_anchor(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                     TypeId type) noexcept {
  const Chunk* c = &chunk;
  while (c->depth) {
    const Row up = storage.find(c->parents()[row]);
    if (up.has(anchor)) return value_in(up, type);
    c = up.chunk;
    row = up.row;
  }
  return nullptr;
}

const std::byte* component_up_to(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                 TypeId type) noexcept {
  for (Row at = storage.find(chunk.ids()[row]);; at = storage.find(at.chunk->parents()[at.row])) {
    if (const std::byte* found = value_in(at, type)) return found;
    if (at.chunk->depth == 0 || at.has(anchor)) return nullptr;
  }
}

}  // namespace muster
