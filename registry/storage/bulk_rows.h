// Creates or destroys many rows, or moves them to other depths, for a single message. When rows
// are destroyed or moved, the ids are first processed in order, which determines where each row
// would end up if the rows were removed or moved one at a time. Then, the values of each remaining
// row are copied only once, from the row's original place. Rows that are destroyed are never
// copied. Supports only archetypes that are plain().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/hierarchy.h"
#include "registry/storage/storage.h"

namespace muster {

class BulkRows {
 public:
  /// Appends rows of a plain() archetype at depth 0 for those of `ids` whose state is reserved or
  /// granted, in order, and appends the other ids to `refused`. Writes the values of `payload` to
  /// each row at the places in `values`.
  void create(std::span<const Entity> ids, Archetype& archetype, std::span<const ValuePlace> values,
              const std::byte* payload, std::vector<Entity>& refused);
  /// Destroys the living entities in `ids`, in order. Stops at the first entity that does not stand
  /// alone (see hierarchy.h). Returns the number of ids processed, and adds the number of destroyed
  /// entities to `destroyed`.
  std::size_t destroy(std::span<const Entity> ids, std::uint32_t& destroyed);
  /// Moves the rows of `tree`, a complete subtree in pre-order, so that its top moves from depth
  /// `from` to depth `to` and becomes a child of `parent`. Returns false and has no effect if the
  /// archetype of any row is not plain().
  bool change_depth(std::span<const Entity> tree, std::uint32_t from, std::uint32_t to, Entity parent);

 protected:
  BulkRows(Storage& storage, const Hierarchy& hierarchy) : storage_(storage), hierarchy_(hierarchy) {}

 private:
  friend class Structure;  // registry/apply/structure.h
  /// A copy of values from consecutive rows of one chunk to consecutive rows of another. `to` and
  /// `from` are the places of the first row.
  struct Moved {
    Locator to, from;
    std::uint32_t rows;
  };
  class Runs;
  /// An entity whose row fills a hole, described by its index and the original place of its row.
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
  /// Releases the id indices of destroyed entities.
  void release(std::span<const Entity> ids);
  void drop_empty();
  void copy(std::span<const Moved> rows) const;

  Storage& storage_;
  const Hierarchy& hierarchy_;
  /// Indexed by the bits of a row's locator: nonzero if the values of the row are in another, known
  /// place. All elements are zero between calls.
  std::vector<std::uint8_t> elsewhere_;
  std::vector<Kept> kept_;     // scratch memory of a Taker
  std::vector<Chunk*> empty_;  // chunks, in the order in which they became empty
  std::vector<Moved> moved_;
  struct Level {  // for change_depth
    std::vector<Moved> tree, kept;
  };
  std::vector<Level> levels_;
  std::vector<Locator> origins_;
};

}  // namespace muster
