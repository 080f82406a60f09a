#include "registry/hierarchy.h"

namespace muster {

Entity Hierarchy::parent(Entity e) const noexcept {
  const Row row = storage_.find(e);
  return row && row.chunk->depth ? row.chunk->parents()[row.row] : Entity{};
}

std::uint32_t Hierarchy::depth(Entity e) const noexcept {
  const Row row = storage_.find(e);
  return row ? row.chunk->depth : 0;
}

bool Hierarchy::is_below(Entity e, Entity top) const noexcept {
  for (; e; e = parent(e))
    if (e == top) return true;
  return false;
}

Links& Hierarchy::change(std::uint32_t index) {
  const std::uint32_t number = index >> page_bits;
  Page& page = restore_page(number);
  page.version = storage_.version();
  return page.links[index & ((1u << page_bits) - 1)];
}

Hierarchy::Page& Hierarchy::restore_page(std::uint32_t number) {
  if (number >= pages_.size()) pages_.resize(number + 1);
  if (!pages_[number]) pages_[number] = std::make_unique<Page>();
  return *pages_[number];
}

void Hierarchy::link(Entity child, Entity parent, Entity before) {
  Links& above = change(parent.index);
  Links& self = change(child.index);
  if (before && this->parent(before) != parent) before = {};
  const std::uint32_t next = before.index;
  const std::uint32_t previous = next ? links(next).previous : above.last_child;
  self.next = next;
  self.previous = previous;
  if (next)
    change(next).previous = child.index;
  else
    above.last_child = child.index;
  if (previous)
    change(previous).next = child.index;
  else
    above.first_child = child.index;
  ++above.children;
}

void Hierarchy::link_tree(std::span<const Entity> ids, std::span<const Links> nodes) {
  Page* page = nullptr;
  std::uint32_t number = ~0u;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::uint32_t index = ids[i].index;
    if (index >> page_bits != number) {
      number = index >> page_bits;
      page = &restore_page(number);
      page->version = storage_.version();
    }
    // The root is nobody's child and nobody's sibling in the tree: 0 is none here too.
    const Links& node = nodes[i];
    const auto id = [&](std::uint32_t of) { return of ? ids[of].index : 0; };
    Links& links = page->links[index & ((1u << page_bits) - 1)];
    links.first_child = id(node.first_child);
    links.last_child = id(node.last_child);
    links.children = node.children;
    if (i == 0) continue;
    links.next = id(node.next);
    links.previous = id(node.previous);
  }
}

void Hierarchy::unlink(Entity child, Entity parent) {
  Links& above = change(parent.index);
  Links& self = change(child.index);
  if (self.next)
    change(self.next).previous = self.previous;
  else
    above.last_child = self.previous;
  if (self.previous)
    change(self.previous).next = self.next;
  else
    above.first_child = self.next;
  self.next = self.previous = 0;
  --above.children;
}

void Hierarchy::subtree(Entity top, std::vector<Entity>& out) const {
  out.push_back(top);
  // Pre-order by links alone: no recursion, whatever the depth.
  for (std::uint32_t at = links(top.index).first_child; at;) {
    const Links* here = &links(at);
    out.push_back(entity(at));
    if (here->first_child) {
      at = here->first_child;
      continue;
    }
    while (!here->next) {
      const Entity up = parent(entity(at));
      if (up == top) return;
      at = up.index;
      here = &links(at);
    }
    at = here->next;
  }
}

void Hierarchy::forget(Entity e) {
  if (const std::uint32_t page = e.index >> page_bits; page < pages_.size() && pages_[page]) change(e.index) = {};
}

}  // namespace muster
