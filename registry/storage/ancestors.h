// Reads components by id, and of ancestors. A value is a pointer to its bytes; for tags the pointer must not be read.
#pragma once

#include <cstddef>

#include "registry/storage/archetype.h"

namespace muster {

class Storage;

inline bool is_alive(const Storage& storage, Entity e) noexcept;  // registry/storage/storage.h
/// The entity's own value; null where the entity is not alive or lacks the type.
const std::byte* component_of(const Storage& storage, Entity e, TypeId type) noexcept;
/// The value of the nearest ancestor with `type` of the row's entity; null where no ancestor has it.
const std::byte* component_above(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId type) noexcept;
/// The entity's own value, or that of its nearest ancestor with `type`; null where none has it or the entity is not
/// alive.
const std::byte* component_at_or_above(const Storage& storage, Entity e, TypeId type) noexcept;
/// The value that the nearest ancestor with `anchor` has; null where no ancestor has `anchor`, or that one lacks
/// `type`.
const std::byte* component_of_anchor(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                     TypeId type) noexcept;
/// The value of the row's entity, or of its nearest ancestor with `type`. The search ends at the first that has
/// `anchor`, itself included; null where nothing was found by then.
const std::byte* component_up_to(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                 TypeId type) noexcept;

}  // namespace muster
