// The order of children. Parents and depths are stored in the rows. This class stores the links
// from parents to children and between siblings, for those entities that have any. Links are
// indices rather than ids, because both ends are always alive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

/// The links of an entity, as id indices. 0 means that there is none, because index 0 is never
/// issued.
struct Links {
  std::uint32_t first_child = 0, last_child = 0, next = 0, previous = 0;
  std::uint32_t children = 0;
};

class LinkKeeper;

class Hierarchy {
 public:
  explicit Hierarchy(Storage& storage) : storage_(storage) {}

  Entity parent(Entity e) const noexcept;
  std::uint32_t depth(Entity e) const noexcept;
  /// Returns the text of the entity's Name component, or nil if it has none.
  Text name(Entity e) const noexcept;
  Entity first_child(Entity e) const noexcept { return entity(links(e.index).first_child); }
  Entity next_sibling(Entity e) const noexcept { return entity(links(e.index).next); }
  /// Prefetches the links of `e`.
  void prefetch(Entity e) const noexcept { __builtin_prefetch(&links(e.index)); }
  /// Returns a single link of an entity, for checks of saved state.
  std::uint32_t previous(Entity e) const noexcept { return links(e.index).previous; }
  std::uint32_t last_child(Entity e) const noexcept { return links(e.index).last_child; }
  [[gnu::always_inline]] std::uint32_t children(Entity e) const noexcept {
    const std::uint32_t number = e.index >> page_bits;
    if (number >= page_count_) return 0;
    const Page* const page = pages_[number].get();
    return page ? page->links[e.index & ((1u << page_bits) - 1)].children : 0;
  }
  /// True if `e` is `top` or one of its descendants.
  bool is_below(Entity e, Entity top) const noexcept;
  bool alive(Entity e) const noexcept { return storage_.alive(e); }

  /// Links a child that is not linked yet. The child is placed before `before`, or at the end if
  /// `before` is nil or not a child of `parent`.
  void link(Entity child, Entity parent, Entity before);
  /// Unlinks a child from its parent and siblings. The child keeps its own children.
  void unlink(Entity child, Entity parent);
  /// Appends `e` and all its descendants to `out`, parents before children, siblings in order.
  void subtree(Entity e, std::vector<Entity>& out) const;
  /// Must be called before the index of `e` is reused, at a time when `e` has no children or
  /// siblings. New entities must start without links, and unused links must be zero.
  void forget(Entity e);

  // Links are saved in pages.
  static constexpr std::uint32_t page_bits = 10;
  struct Page {
    Links links[1u << page_bits];
    std::uint64_t version = 0;
  };
  std::uint32_t pages() const noexcept { return page_count_; }
  const Page* page(std::uint32_t number) const noexcept { return pages_[number].get(); }
  Page& restore_page(std::uint32_t number);
  /// Must be called before links in the page are changed. Returns the page, which is created if
  /// necessary, and gives it the current version.
  Page& change_page(std::uint32_t number) {
    Page& page = restore_page(number);
    if (page.version != storage_.version()) [[unlikely]]
      first_change(page, number);
    return page;
  }
  /// Sets the object that is called before a page changes for the first time in a version, or
  /// removes it if null. The object must outlive the hierarchy or remain valid until the next call.
  void set_keeper(LinkKeeper* keeper) noexcept { keeper_ = keeper; }
  /// Gives a page its earlier links, or removes it if `links` is null. Does not call the keeper.
  void return_page(std::uint32_t number, const Links* links);
  /// Exchanges all links with another hierarchy. The two storages must be swapped, too.
  void swap(Hierarchy& other) noexcept {
    pages_.swap(other.pages_);
    std::swap(page_count_, other.page_count_);
  }

 private:
  const Links& links(std::uint32_t index) const noexcept {
    static constexpr Links none{};
    const std::uint32_t page = index >> page_bits;
    return page < pages_.size() && pages_[page] ? pages_[page]->links[index & ((1u << page_bits) - 1)] : none;
  }
  Links& change(std::uint32_t index) { return change_page(index >> page_bits).links[index & ((1u << page_bits) - 1)]; }
  void first_change(Page& page, std::uint32_t number);
  Entity entity(std::uint32_t index) const noexcept {
    return index ? Entity{index, storage_.ids().slot(index).generation} : Entity{};
  }

  Storage& storage_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::uint32_t page_count_ = 0;  // size of `pages_`
  LinkKeeper* keeper_ = nullptr;
};

/// Keeps the old links of pages, as a ColumnPreserver keeps the old bytes of columns.
class LinkKeeper {
 public:
  virtual ~LinkKeeper() = default;
  /// Called before a page changes for the first time in a version. `page` is null if the page did
  /// not exist before.
  virtual void before_links(std::uint32_t number, const Hierarchy::Page* page) = 0;
};

/// True if destroying the entity removes only its row. This is the usual case: the entity has no
/// name, no parent, and no children, and its values are plain bytes.
inline bool stands_alone(Row row, Entity e, const Hierarchy& hierarchy) noexcept {
  return row.chunk->lone && hierarchy.children(e) == 0;
}

}  // namespace muster
