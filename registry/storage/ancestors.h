// Reads components of entities and their ancestors. A value is a pointer to its bytes; for tags,
// the pointer must not be read.
#pragma once

#include <cstddef>

#include "registry/storage/archetype.h"

namespace muster {

class Storage;

inline bool is_alive(const Storage& storage, Entity e) noexcept;  // registry/storage/storage.h

/// The entity's own value; null if the entity is not alive or lacks the type.
const std::byte* component_of(const Storage& storage, Entity e, TypeId type) noexcept;
/// The value of the nearest ancestor with `type`, for the entity of a row; null if no ancestor has
/// it.
const std::byte* component_above(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId type) noexcept;
/// The entity's own value, or that of its nearest ancestor with `type`; null if neither has it or
/// the entity is not alive.
const std::byte* component_at_or_above(const Storage& storage, Entity e, TypeId type) noexcept;
/// The value of the nearest ancestor with `anchor`; null if no ancestor has `anchor`, or that
/// ancestor lacks `type`.
const std::byte* component_of_anchor(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                     TypeId type) noexcept;
/// The value of the row's entity, or of its nearest ancestor with `type`. The search ends at the
/// first entity that has `anchor`, including the row's own; null if nothing was found.
const std::byte* component_up_to(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                 TypeId type) noexcept;

}  // namespace muster
