#include "registry/storage/hierarchy.h"

#include <algorithm>
#include <iterator>

#include "schema/muster.h"

namespace muster {

Entity Hierarchy::parent(Entity e) const noexcept {
  const Row row = storage_.find(e);
  return row && row.chunk->depth ? row.chunk->parents()[row.row] : Entity{};
}

Text Hierarchy::name(Entity e) const noexcept {
  const Row row = storage_.find(e);
  if (!row) return {};
  const std::uint16_t column = row.chunk->archetype->name_column;
  return column == no_column ? Text{} : reinterpret_cast<const Name*>(row.at(column, sizeof(Name)))->text;
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

void Hierarchy::first_change(Page& page, std::uint32_t number) {
  // Only a page that was just created has version 0.
  if (keeper_) keeper_->before_links(number, page.version ? &page : nullptr);
  page.version = storage_.version();
}

void Hierarchy::return_page(std::uint32_t number, const Links* links) {
  if (!links) {
    pages_[number].reset();
    return;
  }
  Page& page = restore_page(number);
  std::copy_n(links, std::size(page.links), page.links);
  page.version = storage_.version();
}

Hierarchy::Page& Hierarchy::restore_page(std::uint32_t number) {
  if (number >= page_count_) {
    pages_.resize(number + 1);
    page_count_ = number + 1;
  }
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
  const DirectoryEntry* const directory = storage_.ids().slots();
  // Collect entities in a local array first, because every append to a vector would store the
  // vector's end in memory.
  Entity some[64];
  std::size_t count = 0;
  some[count++] = top;
  // Entities that are below another entity have links.
  const Links* page = nullptr;
  std::uint32_t number = ~0u;
  const auto links_of = [&](std::uint32_t index) -> const Links& {
    if (index >> page_bits != number) [[unlikely]] {
      number = index >> page_bits;
      page = pages_[number]->links;
    }
    return page[index & ((1u << page_bits) - 1)];
  };
  // Traverses the tree in pre-order by following links. Does not use recursion, so the tree may
  // have any depth.
  for (std::uint32_t at = links(top.index).first_child; at;) {
    const Links* here = &links_of(at);
    if (count == std::size(some)) [[unlikely]] {
      out.insert(out.end(), some, some + count);
      count = 0;
    }
    some[count++] = {at, directory[at].generation};
    std::uint32_t next = here->first_child;
    if (!next) {
      while (!(next = here->next)) {
        const Entity up = parent(entity(at));
        if (up == top) break;
        at = up.index;
        here = &links_of(at);
      }
    }
    at = next;
  }
  out.insert(out.end(), some, some + count);
}

void Hierarchy::forget(Entity e) {
  if (const std::uint32_t page = e.index >> page_bits; page < pages_.size() && pages_[page]) change(e.index) = {};
}

}  // namespace muster
