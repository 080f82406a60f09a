// Defines the two hash functions used on disk and on the wire. Both are variants of FNV-1a (Fowler,
// Noll, Vo), which takes about five lines of code in any language.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

/// Computes 32-bit FNV-1a, which is used for type ids (of full names such as "game.Health") and
/// field ids (of paths such as "position.x"). To continue an earlier hash, pass it as `seed`.
constexpr std::uint32_t hash32(std::string_view text, std::uint32_t seed = 0x811c9dc5u) noexcept {
  std::uint32_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x01000193u;
  return hash;
}

/// Computes 64-bit FNV-1a, which is used for the contents of interned texts and for layout
/// fingerprints. To continue an earlier hash, pass it as `seed`.
constexpr std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325ull) noexcept {
  std::uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x00000100000001b3ull;
  return hash;
}

}  // namespace muster
