#include "registry/apply/tree_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace muster {

bool TreeRows::aim(TreePlan::Block& block, std::uint32_t depth) const {
  if (!storage_.has_room(*block.archetype, depth, block.rows)) return false;
  block.open = block.archetype->groups[depth].last;
  block.open_depth = depth;
  block.changes = storage_.chunk_changes();
  for (TreePlan::Block::Column& column : block.columns) column.into = block.open->slots()[column.slot].data;
  return true;
}

Row TreeRows::make(const TreePlan& plan, std::span<const Entity> ids, Entity parent) {
  const Entity* const id = ids.data();
  DirectoryEntry* const directory = storage_.ids_.slots();

  // Pages of links are smaller than pages of ids, so a single check covers both.
  static_assert(Hierarchy::page_bits <= id_page_bits);
  std::uint32_t page = ~0u;
  Links* links = nullptr;
  const auto links_of = [&](std::uint32_t index) -> Links& {
    if (index >> Hierarchy::page_bits != page) [[unlikely]] {
      page = index >> Hierarchy::page_bits;
      links = hierarchy_.change_page(page).links;
      storage_.mark_known_id(index);
    }
    return links[index & ((1u << Hierarchy::page_bits) - 1)];
  };
  const TreePlan::Block& top = plan.blocks.front();
  const Row root{top.open, top.open->count};
  {
    Chunk& chunk = *root.chunk;
    storage_.touch_all(chunk);
    Storage::put_id(chunk.ids() + root.row, id->bits());
    if (chunk.depth) chunk.parents()[root.row] = parent;
    put_entry(directory, id->bits(), chunk.locator(root.row));
    storage_.mark_known_id(id->index);
  }
  for (const TreePlan::Siblings& siblings : plan.siblings) {
    Chunk& chunk = *plan.blocks[siblings.block].open;
    storage_.touch_all(chunk);
    const std::uint32_t row = chunk.count + siblings.row, count = siblings.count;
    const Entity* const child = id + siblings.first;
    std::memcpy(static_cast<void*>(chunk.ids() + row), child, count * sizeof(Entity));
    std::fill_n(reinterpret_cast<std::uint64_t*>(chunk.parents() + row), count, id[siblings.parent].bits());
    Locator at = chunk.locator(row);
    std::uint32_t previous = siblings.previous ? id[siblings.previous].index : 0, index = child->index;
    const auto put = [&](std::uint32_t next) {
      Links& own = links_of(index);
      own.next = next;
      own.previous = previous;
      directory[index].locator = at;  // the generation is already set
      at = at + 1;
      previous = index;
      index = next;
    };
    for (const Entity *next = child + 1, *const end = child + count; next != end; ++next) put(next->index);
    put(siblings.next ? id[siblings.next].index : 0);
  }
  for (const TreePlan::Parent& node : plan.parents) {
    Links& own = links_of(id[node.node].index);
    own.first_child = id[node.first_child].index;
    own.last_child = id[node.last_child].index;
    own.children = node.children;
  }
  for (const TreePlan::Block& block : plan.blocks) {
    const std::uint32_t begin = block.open->count;
    const std::byte* const values = block.values.data();
    for (const TreePlan::Block::Column& column : block.columns) {
      std::byte* const to = column.into + std::size_t{begin} * column.size;
      if (column.bytes > 32)
        std::memcpy(to, values + column.at, column.bytes);
      else
        copy_value(to, values + column.at, column.bytes);
    }
    storage_.add_rows(*block.open, block.rows);
  }
  return root;
}

}  // namespace muster
