// A set of entities. An undo adds as many as it revives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schema/builtin.h"

namespace muster::history {

/// Contains at most one generation of each index. Takes one bit for each index up to the largest.
class IdSet {
 public:
  void add(Entity e) {
    const std::size_t word = e.index / 64;
    if (word >= words_.size()) words_.resize(word + 1 + word / 8);
    words_[word] |= bit(e);
  }
  bool contains(Entity e) const noexcept {
    const std::size_t word = e.index / 64;
    return word < words_.size() && (words_[word] & bit(e)) != 0;
  }
  void clear() noexcept { words_.clear(); }

 private:
  static std::uint64_t bit(Entity e) noexcept { return std::uint64_t{1} << e.index % 64; }

  std::vector<std::uint64_t> words_;
};

}  // namespace muster::history
