// Makes the rows and links of trees that have the same shape. A TreePlan contains everything that
// follows from the shape: which rows are adjacent, the values of whole columns, the siblings of
// each node. Making a tree then only requires writing its ids to the planned places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/hierarchy.h"
#include "registry/storage/storage.h"

namespace muster {

/// The shape of such trees. Nodes are numbered in pre-order from the root, 0; as a sibling, 0 means
/// none. Remembers where the last rows went, so only the storage's thread may use it.
struct TreePlan {
  /// The nodes of one archetype and depth. Their rows are adjacent, in pre-order. The root is the
  /// first block, alone.
  struct Block {
    Archetype* archetype = nullptr;
    std::uint32_t depth = 0;  ///< depth below the root
    std::uint32_t rows = 0;
    struct Column {
      std::uint16_t slot;
      std::uint32_t size;         ///< size of one value
      std::uint32_t bytes;        ///< size of all rows
      std::uint32_t at;           ///< offset in `values`
      std::byte* into = nullptr;  ///< the column of `open`
    };
    std::vector<Column> columns;
    std::vector<std::byte> values;
    // The last open chunk found.
    Chunk* open = nullptr;
    std::uint64_t changes = 0;  ///< Storage::chunk_changes() at that time; 0 if never looked up
    std::uint32_t open_depth = 0;
  };
  /// Siblings that are adjacent in pre-order and in the rows of one block. Every node but the root
  /// is in one of these.
  struct Siblings {
    std::uint32_t first, count;  ///< nodes
    std::uint32_t block, row;    ///< block and row of the first sibling
    std::uint32_t parent;
    std::uint32_t previous, next;  ///< the siblings before and after these
  };
  /// A node with children.
  struct Parent {
    std::uint32_t node, first_child, last_child, children;
  };
  std::vector<Block> blocks;
  std::vector<Siblings> siblings;
  std::vector<Parent> parents;
};

class TreeRows {
 public:
  /// True if all rows of a tree with its root at this depth fit into open chunks, and consist of
  /// plain bytes.
  [[gnu::always_inline]] bool fits(TreePlan& plan, std::uint32_t depth) const {
    for (TreePlan::Block& block : plan.blocks) {
      if (block.changes != storage_.chunk_changes() || block.open_depth != depth + block.depth) [[unlikely]]
        if (!aim(block, depth + block.depth)) return false;
      if (block.open->capacity - block.open->count < block.rows) [[unlikely]]
        return false;
    }
    return true;
  }
  /// Makes a tree's rows with the plan's values, and the links between them. fits() must have just
  /// returned true. The ids must be reserved, granted or taken (Storage::take_ids), and have no
  /// links. Does not link the root to `parent`, which is nil at depth 0. Returns the root's row.
  Row make(const TreePlan& plan, std::span<const Entity> ids, Entity parent);

 private:
  friend class Structure;
  TreeRows(Storage& storage, Hierarchy& hierarchy) noexcept : storage_(storage), hierarchy_(hierarchy) {}
  bool aim(TreePlan::Block& block, std::uint32_t depth) const;

  Storage& storage_;
  Hierarchy& hierarchy_;
};

}  // namespace muster
