// Destroys many rows, or moves them to other depths, for one message. Ids are processed first, in
// order, so that every row ends where it would if they were processed one by one. Then the values
// of the remaining rows are copied once each, from their original places. Rows that are destroyed
// are never copied. Only for archetypes that are plain().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/hierarchy.h"
#include "registry/storage/storage.h"

namespace muster {

class BulkRows {
 public:
  /// Destroys the living entities in `ids`, in order, and stops at the first one that does not
  /// stand alone (hierarchy.h). Returns the number of ids processed, and adds the number of
  /// destroyed entities to `destroyed`.
  std::size_t destroy(std::span<const Entity> ids, std::uint32_t& destroyed);
  /// Moves the rows of `tree`, a whole subtree in pre-order, so that its top moves from depth
  /// `from` to depth `to` and gets `parent`. Returns false and does nothing if a row's archetype is
  /// not plain().
  bool change_depth(std::span<const Entity> tree, std::uint32_t from, std::uint32_t to, Entity parent);

 protected:
  BulkRows(Storage& storage, const Hierarchy& hierarchy) : storage_(storage), hierarchy_(hierarchy) {}

 private:
  friend class Structure;  // registry/apply/structure.h
  /// Values of consecutive rows in two chunks: the destination and the origin of the first.
  struct Moved {
    Locator to, from;
    std::uint32_t rows;
  };
  class Runs;
  /// An entity whose row fills a hole: its index, and the original place of its row.
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
  /// Releases the indices of destroyed ids.
  void release(std::span<const Entity> ids);
  void drop_empty();
  void copy(std::span<const Moved> rows) const;

  Storage& storage_;
  const Hierarchy& hierarchy_;
  /// Nonzero if a row's values are in another, known place; indexed by the bits of the row's
  /// locator. All zero between calls.
  std::vector<std::uint8_t> elsewhere_;
  std::vector<Kept> kept_;     // scratch memory of a Taker
  std::vector<Chunk*> empty_;  // chunks in the order in which they became empty
  std::vector<Moved> moved_;
  struct Level {  // for change_depth
    std::vector<Moved> tree, kept;
  };
  std::vector<Level> levels_;
  std::vector<Locator> origins_;
};

}  // namespace muster
