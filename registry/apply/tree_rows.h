// Creates the rows and links of trees that all have the same shape. A TreePlan contains everything
// that can be derived from the shape: which rows are adjacent, the values of whole columns, and the
// siblings of each node. Creating a tree then only requires writing its ids to the planned places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/hierarchy.h"
#include "registry/storage/storage.h"

namespace muster {

/// The shape of a tree. Nodes are numbered in pre-order, starting with 0 for the root; as a sibling
/// number, 0 means that there is no sibling. Remembers where the previous rows were placed, so only
/// the registry's thread may use it.
struct TreePlan {
  /// The nodes with the same archetype and depth. Their rows are adjacent and in pre-order. The
  /// first block contains only the root.
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
    // The open chunk most recently found.
    Chunk* open = nullptr;
    std::uint64_t changes = 0;  ///< Storage::chunk_changes() when the chunk was found; 0 if never
    std::uint32_t open_depth = 0;
  };
  /// Siblings that are adjacent both in pre-order and in the rows of a block. Every node except the
  /// root belongs to exactly one of these groups.
  struct Siblings {
    std::uint32_t first, count;  ///< nodes
    std::uint32_t block, row;    ///< block and row of the first sibling
    std::uint32_t parent;
    std::uint32_t previous, next;  ///< the siblings before and after this group
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
  /// True if all rows of a tree whose root is at this depth fit into open chunks and consist of
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
  /// Creates the rows of a tree with the plan's values, and the links between them. fits() must
  /// just have returned true. The ids must be reserved, granted, or taken (see Storage::take_ids),
  /// and must not have links. Does not link the root to `parent`, which is nil at depth 0. Returns
  /// the row of the root.
  Row make(const TreePlan& plan, std::span<const Entity> ids, Entity parent);

 private:
  friend class Structure;
  TreeRows(Storage& storage, Hierarchy& hierarchy) noexcept : storage_(storage), hierarchy_(hierarchy) {}
  bool aim(TreePlan::Block& block, std::uint32_t depth) const;

  Storage& storage_;
  Hierarchy& hierarchy_;
};

}  // namespace muster
