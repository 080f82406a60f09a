// Issues ids for consecutive rows. Takes indices from the queue of free indices, and writes ids and
// directory entries in a single loop. Entities that were created together are usually destroyed
// together, so their indices are usually consecutive in the queue. The entries of such a block are
// adjacent and are read and written through whole registers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "registry/storage/directory.h"

namespace muster {

struct DrawnIds {
  DirectoryEntry* directory;
  std::uint64_t* versions;  // versions of the directory's pages
  std::uint64_t version;

  /// The number of ids between the current one and the one whose entry is prefetched.
  static constexpr std::uint32_t asked_ahead = 128;
  static constexpr std::uint32_t block = 32;

  /// Writes the ids of `count` indices and assigns them to consecutive rows, starting at `first`.
  /// If `asks` is true, prefetches entries; at least `asked_ahead` more indices must then follow.
  template <bool asks>
  void draw(const std::uint32_t* indices, std::uint32_t count, Entity* ids, Locator first) const noexcept {
    for (; count >= block; count -= block, indices += block, ids += block, first = first + block) {
      if (!in_line(indices)) {
        draw_each<asks>(indices, block, ids, first);
        continue;
      }
      if constexpr (asks)
        for (std::uint32_t i = 0; i < block; i += line_entries)
          __builtin_prefetch(directory + indices[i + asked_ahead], 1);
      draw_block(directory + indices[0], indices[0], ids, first);
    }
    draw_each<false>(indices, count, ids, first);
  }

 private:
  static constexpr std::uint32_t line_entries = 64 / sizeof(DirectoryEntry);
  /// True if the indices of a block are consecutive.
  static bool in_line(const std::uint32_t* indices) noexcept {
    const std::uint32_t first = indices[0];
    if (indices[block - 1] - first != block - 1) return false;
    std::uint32_t differs = 0;
    for (std::uint32_t i = 0; i < block; ++i) differs |= (indices[i] - i) ^ first;
    return differs == 0;
  }
  void draw_block(DirectoryEntry* __restrict entries, std::uint32_t index, Entity* __restrict ids,
                  Locator first) const noexcept {
    std::uint64_t id_index = index, place = first.bits();
    for (std::uint32_t i = 0; i < block; ++i, ++id_index, ++place) {
      const std::uint64_t generation = std::bit_cast<std::uint64_t>(entries[i]) & generation_mask;
      const std::uint64_t id = generation | id_index, entry = generation | place;
      std::memcpy(static_cast<void*>(ids + i), &id, sizeof id);
      std::memcpy(static_cast<void*>(entries + i), &entry, sizeof entry);
    }
    versions[index >> id_page_bits] = version;
    versions[(index + block - 1) >> id_page_bits] = version;
  }
  template <bool asks>
  void draw_each(const std::uint32_t* indices, std::uint32_t count, Entity* ids, Locator first) const noexcept {
    DirectoryEntry* const entries = directory;
    std::uint64_t* const marks = versions;
    const std::uint64_t mark = version;
#pragma GCC unroll 4
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t index = indices[i];
      const std::uint64_t id = (std::bit_cast<std::uint64_t>(entries[index]) & generation_mask) | index;
      std::memcpy(static_cast<void*>(ids + i), &id, sizeof id);
      put_entry(entries, id, first + i);
      marks[index >> id_page_bits] = mark;
      if constexpr (asks) __builtin_prefetch(entries + indices[i + asked_ahead], 1);
    }
  }
};

}  // namespace muster
