// The two built-in value types of schemas: an entity's id and an interned text. They have the
// layouts of muster.Entity and of a `text` field in muster.fbs. Headers by schemac refer to them.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "schema/language.h"

namespace muster {

/// The id of an entity: 32 bits of index, 32 bits of generation. The nil id is all zero; issued ids
/// have generations from 1. An id is a weak reference, and never names a second entity.
///
///     bytes  0        4        8
///            | index  | generation |     little-endian
struct alignas(8) Entity {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;

  /// True for every id except nil, also if the entity is dead.
  constexpr explicit operator bool() const noexcept { return (index | generation) != 0; }
  friend constexpr bool operator==(Entity, Entity) noexcept = default;
  /// Compares index, then generation. For sorted containers; it is not the order of creation.
  friend constexpr auto operator<=>(Entity, Entity) noexcept = default;
  /// Returns the id as one number, with the generation in the upper half.
  constexpr std::uint64_t bits() const noexcept { return (std::uint64_t{generation} << 32) | index; }
  static constexpr Entity from_bits(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
  }
};
static_assert(sizeof(Entity) == 8 && alignof(Entity) == 8);

/// A reference to an interned text: hash64 of its bytes, or 0 for no text. The bytes are in the
/// world's text table.
struct Text {
  std::uint64_t hash = 0;
  constexpr explicit operator bool() const noexcept { return hash != 0; }
  friend constexpr bool operator==(Text, Text) noexcept = default;
  friend constexpr auto operator<=>(Text, Text) noexcept = default;
};
static_assert(sizeof(Text) == 8 && alignof(Text) == 8);

}  // namespace muster

template <>
struct std::hash<muster::Entity> {
  std::size_t operator()(muster::Entity e) const noexcept { return (e.bits() * 0x9e3779b97f4a7c15ull) >> 7; }
};
template <>
struct std::hash<muster::Text> {
  std::size_t operator()(muster::Text t) const noexcept { return t.hash; }
};
