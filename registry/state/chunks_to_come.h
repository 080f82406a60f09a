// Which chunks saved state says are to come, so that columns of a group lie together in memory as they do where all of its rows are created
// at once.
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
  /// One more chunk of a group is said to come.
  void add(std::uint32_t archetype, std::uint32_t depth) { ++chunks_[{archetype, depth}]; }
  /// To be called before the chunk at `place` of its group is made. Of those that are said to come no more are believed than came: what
  /// damaged state says takes no more memory than twice what the chunks take of which some column came.
  void place(Storage& storage, const Archetype& archetype, std::uint32_t depth, std::size_t place) {
    if (place < believed_first || !std::has_single_bit(place)) return;
    const std::size_t said = chunks_[{archetype.number, depth}];
    if (said <= place) return;
    expected_.emplace(storage, archetype, depth, std::min(said - place, place) * chunk_capacity(archetype, 1));
  }
  /// All came.
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
