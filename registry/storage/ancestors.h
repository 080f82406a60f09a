// Reads components of entities and their ancestors. A value is returned as a pointer to its bytes.
// For tags, the pointer must not be dereferenced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "registry/storage/archetype.h"
#include "registry/storage/flat_map.h"

namespace muster {

class Storage;

inline bool is_alive(const Storage& storage, Entity e) noexcept;  // registry/storage/storage.h

/// Returns the entity's own value, or null if the entity is not alive or does not have the type.
const std::byte* component_of(const Storage& storage, Entity e, TypeId type) noexcept;
/// Returns the entity's own value, or else the value of its nearest ancestor that has `type`.
/// Returns null if there is none, or if the entity is not alive.
const std::byte* component_at_or_above(const Storage& storage, Entity e, TypeId type) noexcept;

/// Searches the ancestors of many rows. If a search passes many entities, its result is remembered
/// for the distant ones, so that a pass over a chain of N entities takes N steps instead of N * N.
/// Results are remembered until a row is added, removed, moved, or given another parent, or an
/// enableable component is added or removed.
class AncestorSearch {
 public:
  enum class Kind : std::uint8_t {
    /// The value of the nearest ancestor that has `type`, or null.
    above,
    /// The value of the nearest ancestor that has `anchor`. Null if no ancestor has `anchor`, or if
    /// that ancestor does not have `type`.
    of_anchor,
    /// The value of the row's entity, or else of its nearest ancestor that has `type`. The search
    /// stops at the first entity that has `anchor`, which may be the row's own.
    up_to,
  };
  AncestorSearch(Kind kind, TypeId type, TypeId anchor = 0) noexcept : kind_(kind), type_(type), anchor_(anchor) {}
  Kind kind() const noexcept { return kind_; }
  TypeId type() const noexcept { return type_; }
  TypeId anchor() const noexcept { return anchor_; }
  const std::byte* find(const Storage& storage, const Chunk& chunk, std::uint32_t row);

 private:
  struct Known {
    std::uint64_t round = 0;
    const std::byte* value = nullptr;
  };
  /// Forgets all results if they may be outdated.
  void check(const Storage& storage);

  Kind kind_;
  TypeId type_, anchor_;
  std::uint64_t stamp_ = 0, structure_ = 0, presences_ = 0;
  std::uint64_t round_ = 0;              // only results of this round are valid
  FlatMap<std::uint64_t, Known> known_;  // by Entity::bits()
  std::vector<std::uint64_t> passed_;    // scratch memory
};

}  // namespace muster
