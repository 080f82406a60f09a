// Makes the rows and links of trees that are all alike. What follows from their shape is written down once, in a TreePlan: which rows lie one
// behind the other, the values of whole columns, who is whose sibling. A tree is then its ids, put where the plan says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/hierarchy.h"
#include "registry/storage/storage.h"

namespace muster {

/// The shape of such trees. Nodes are numbered in pre-order, the root is 0; as a sibling 0 says "none". Remembers where rows went last,
/// so it is for the storage's thread alone.
struct TreePlan {
  /// The nodes of one archetype and depth. Their rows lie one behind the other, in pre-order. The root is a block of its own, the first.
  struct Block {
    Archetype* archetype = nullptr;
    std::uint32_t depth = 0;  ///< below the root
    std::uint32_t rows = 0;
    struct Column {
      std::uint16_t slot;
      std::uint32_t size;         ///< of one value
      std::uint32_t bytes;        ///< of all rows
      std::uint32_t at;           ///< in `values`
      std::byte* into = nullptr;  ///< the column of `open`
    };
    std::vector<Column> columns;
    std::vector<std::byte> values;
    // The open chunk, as it was found last.
    Chunk* open = nullptr;
    std::uint64_t changes = 0;  ///< Storage::chunk_changes() then; 0: never looked
    std::uint32_t open_depth = 0;
  };
  /// Siblings that follow one another in pre-order and in one block's rows. All nodes but the root are in one of these.
  struct Siblings {
    std::uint32_t first, count;  ///< nodes
    std::uint32_t block, row;    ///< of the first: which, and where in it
    std::uint32_t parent;
    std::uint32_t previous, next;  ///< the nodes before and behind them
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
  TreeRows(Storage& storage, Hierarchy& hierarchy) noexcept : storage_(storage), hierarchy_(hierarchy) {}

  /// Whether all rows of a tree with its root at this depth fit into chunks that are open, and are bytes.
  [[gnu::always_inline]] bool fits(TreePlan& plan, std::uint32_t depth) const {
    for (TreePlan::Block& block : plan.blocks) {
      if (block.changes != storage_.chunk_changes() || block.open_depth != depth + block.depth) [[unlikely]]
        if (!aim(block, depth + block.depth)) return false;
      if (block.open->capacity - block.open->count < block.rows) [[unlikely]]
        return false;
    }
    return true;
  }
  /// Makes a tree's rows with the plan's values, and the links between them; fits() was just asked. The ids may be created or were
  /// taken (Storage::take_ids), and have no links. `parent`, nil at depth 0, gets no link to the root. Gives the root's row.
  Row make(const TreePlan& plan, std::span<const Entity> ids, Entity parent);

 private:
  bool aim(TreePlan::Block& block, std::uint32_t depth) const;

  Storage& storage_;
  Hierarchy& hierarchy_;
};

}  // namespace muster
