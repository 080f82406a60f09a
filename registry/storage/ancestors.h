// Reading components by id and up the hierarchy.
#pragma once

#include <cstddef>

#include "registry/storage/archetype.h"

namespace muster {

class Storage;

/// The column of a type in the archetype last looked at.
struct ParentColumn {
  const Archetype* archetype = nullptr;
  std::uint16_t column = no_column;
  std::uint32_t size = 0;
};

bool is_alive(const Storage& storage, Entity e) noexcept;
/// Null where the entity is not alive or lacks the type; for tags a pointer that must not be read.
const std::byte* component_of(const Storage& storage, Entity e, TypeId type) noexcept;
/// Of the nearest ancestor of the row's entity that has `type`; null if none.
const std::byte* component_above(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId type) noexcept;
/// Of the entity or its nearest ancestor that has `type`; null if none, or if it is not alive.
const std::byte* component_at_or_above(const Storage& storage, Entity e, TypeId type) noexcept;
/// `type` of the nearest ancestor that has `anchor`; null if none, or if that one lacks it.
const std::byte* component_of_anchor(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                     TypeId type) noexcept;
/// `type` of the row's entity or its nearest ancestor that has it, none above the first that has `anchor`; null if none.
const std::byte* component_up_to(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                 TypeId type) noexcept;

}  // namespace muster
