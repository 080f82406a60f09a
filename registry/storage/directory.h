// The directory has an 8-byte entry for each id index of a registry. An entry contains the
// generation and either the place of the entity's row or the reason why there is no row.
//
//   id       | index   | generation |
//   entry    | locator | generation |    adjacent, so that both are compared and written as one 64-bit number
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "registry/storage/entity_allocator.h"
#include "registry/storage/locator.h"
#include "schema/builtin.h"

namespace muster {

constexpr std::uint32_t id_page_bits = 12;  ///< ids are saved in pages of 4096

struct DirectoryEntry {
  Locator locator = Locator(IdState::free);
  std::uint32_t generation = 0;
};
static_assert(sizeof(DirectoryEntry) == 8 && std::endian::native == std::endian::little);
static_assert(offsetof(DirectoryEntry, locator) == 0 && offsetof(DirectoryEntry, generation) == 4);
static_assert(offsetof(Entity, index) == 0 && offsetof(Entity, generation) == 4);

/// The mask for the generation within an id or entry that is read as a single number.
constexpr std::uint64_t generation_mask = 0xffffffff00000000u;

/// Returns the bits of the entry's locator if the entry has the same generation as the id, and
/// otherwise a number of at least 2^32. Thus, a single comparison with Locator::no_row determines
/// whether the id is current and has a row.
constexpr std::uint64_t locator_of(const DirectoryEntry& entry, Entity e) noexcept {
  return std::bit_cast<std::uint64_t>(entry) ^ (std::uint64_t{e.generation} << 32);
}
/// Writes the entry of the id with these bits() in a single store. After two separate stores, a
/// later read of the whole entry would stall.
inline void put_entry(DirectoryEntry* directory, std::uint64_t id, Locator locator) noexcept {
  const std::uint64_t entry = (id & generation_mask) | locator.bits();
  std::memcpy(static_cast<void*>(directory + static_cast<std::uint32_t>(id)), &entry, sizeof entry);
}

/// Adapts EntityAllocator to directory entries.
struct DirectoryLayout {
  using Id = Entity;
  using Slot = DirectoryEntry;
  static constexpr std::uint64_t index_count = 0xffffffffull;
  static constexpr std::uint32_t generation_last = 0xfffffffeu, first_generation = 1, first_index = 1,
                                 minimum_free = 1024;
  static constexpr OnWrap on_wrap = OnWrap::retire;
  static constexpr Id make(std::uint32_t index, std::uint32_t generation) noexcept { return {index, generation}; }
  static constexpr std::uint32_t index(Id id) noexcept { return id.index; }
  static constexpr std::uint32_t generation(Id id) noexcept { return id.generation; }
  static constexpr std::uint32_t generation(const Slot& slot) noexcept { return slot.generation; }
  static constexpr void set_generation(Slot& slot, std::uint32_t g) noexcept { slot.generation = g; }
};

}  // namespace muster
