// Reads components of entities and their ancestors. A value is returned as a pointer to its bytes.
// For tags, the pointer must not be dereferenced.
#pragma once

#include <cstddef>

#include "registry/storage/archetype.h"

namespace muster {

class Storage;

inline bool is_alive(const Storage& storage, Entity e) noexcept;  // registry/storage/storage.h

/// Returns the entity's own value, or null if the entity is not alive or does not have the type.
const std::byte* component_of(const Storage& storage, Entity e, TypeId type) noexcept;
/// Returns the value of the nearest ancestor that has `type`, starting from the entity of a row, or
/// null if no ancestor has it.
const std::byte* component_above(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId type) noexcept;
/// Returns the entity's own value, or else the value of its nearest ancestor that has `type`.
/// Returns null if there is none, or if the entity is not alive.
const std::byte* component_at_or_above(const Storage& storage, Entity e, TypeId type) noexcept;
/// Returns the value of the nearest ancestor that has `anchor`. Returns null if no ancestor has
/// `anchor`, or if that ancestor does not have `type`.
const std::byte* component_of_anchor(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                     TypeId type) noexcept;
/// Returns the value of the row's entity, or else of its nearest ancestor that has `type`. The
/// search stops at the first entity that has `anchor`, which may be the row's own. Returns null if
/// no value was found.
const std::byte* component_up_to(const Storage& storage, const Chunk& chunk, std::uint32_t row, TypeId anchor,
                                 TypeId type) noexcept;

}  // namespace muster
