// Destroys many rows, or moves them to other depths, for one message. Ids go first, one after another, so that every
// row ends where it would if they went one by one; then the values of rows that stay follow, once each, from where they
// were at first. Rows that go are never copied. Only for archetypes that are plain().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/hierarchy.h"
#include "registry/storage/storage.h"

namespace muster {

class BulkRows {
 public:
  BulkRows(Storage& storage, const Hierarchy& hierarchy) : storage_(storage), hierarchy_(hierarchy) {}

  /// Destroys those of `ids` that are alive, in order, and stops at the first that does not stand alone (hierarchy.h).
  /// Returns how many of `ids` it is done with; adds to `destroyed` how many of these were alive.
  std::size_t destroy(std::span<const Entity> ids, std::uint32_t& destroyed);
  /// Moves the rows of `tree`, a whole subtree in pre-order, so that its top goes from depth `from` to depth `to` and
  /// gets `parent`. False, and nothing done, where a row's archetype is not plain().
  bool change_depth(std::span<const Entity> tree, std::uint32_t from, std::uint32_t to, Entity parent);

 private:
  /// Values of rows that follow one another in two chunks: where the first of them goes, and where it is.
  struct Moved {
    Locator to, from;
    std::uint32_t rows;
  };
  class Runs;
  /// An entity whose row fills a hole: its index, and where its row was at first.
  struct Kept {
    std::uint32_t index;
    Locator from;
  };
  class Taker;
  struct Freed;
  struct Goers;
  Chunk& chunk(Locator locator) const noexcept { return *storage_.chunks_[locator.chunk()]; }
  void make_room(std::uint32_t chunks) {
    const std::size_t rows = std::size_t{chunks} * chunk_rows_max;
    if (elsewhere_.size() < rows) elsewhere_.resize(rows);
  }
  /// Gives back the indices of ids that were destroyed.
  void release(std::span<const Entity> ids);
  void drop_empty();
  void copy(std::span<const Moved> rows) const;

  Storage& storage_;
  const Hierarchy& hierarchy_;
  /// By the bits of a row's locator: whether its values are elsewhere, and it is known where. All zero between calls.
  std::vector<std::uint8_t> elsewhere_;
  std::vector<Kept> kept_;     // room for what a Taker keeps
  std::vector<Chunk*> empty_;  // in the order they became it
  std::vector<Moved> moved_;
  struct Level {  // of change_depth
    std::vector<Moved> tree, kept;
  };
  std::vector<Level> levels_;
  std::vector<Locator> origins_;
};

}  // namespace muster
