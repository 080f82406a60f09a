// Counts the chunks announced by a saved state, so that the columns of a group get contiguous
// memory, as if all of its rows had been created at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "registry/storage/storage.h"

namespace muster {

class ChunksToCome {
 public:
  /// Announces another chunk of a group.
  void add(std::uint32_t archetype, std::uint32_t depth) { ++chunks_[{archetype, depth}]; }
  /// Must be called before the chunk at `place` of its group is created. The number of further
  /// chunks that are expected never exceeds the number already created, so a damaged state uses at
  /// most twice the memory of the chunks that have columns.
  void place(Storage& storage, const Archetype& archetype, std::uint32_t depth, std::size_t place) {
    if (place < believed_first || !std::has_single_bit(place)) return;
    const std::size_t said = chunks_[{archetype.number, depth}];
    if (said <= place) return;
    expected_.emplace(storage, archetype, depth, std::min(said - place, place) * chunk_capacity(archetype, 1));
  }
  /// Must be called after the last chunk has been created.
  void end() noexcept { expected_.reset(); }

 private:
  static constexpr std::size_t believed_first = 8;
  struct Expected {
    Storage::ExpectedRows rows;
    Expected(Storage& storage, const Archetype& archetype, std::uint32_t depth, std::size_t count)
        : rows(storage.expect_rows(archetype, depth, count)) {}
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> chunks_;  // by archetype and depth
  std::optional<Expected> expected_;
};

}  // namespace muster
