#include "registry/state/state_links.h"

namespace muster {

namespace {

class LinkCheck {
 public:
  LinkCheck(const Storage& storage, const Hierarchy& hierarchy) : storage_(storage), hierarchy_(hierarchy) {}

  const char* run() {
    for (std::uint32_t number = 0; number < storage_.chunk_numbers(); ++number)
      if (const Chunk* chunk = storage_.chunk(number); chunk && chunk->depth)
        if (const char* wrong = parents(*chunk)) return wrong;
    for (page_ = 0; page_ < hierarchy_.pages(); ++page_) {
      const Hierarchy::Page* page = hierarchy_.page(page_);
      if (!page) continue;
      for (std::uint32_t i = 0; i < std::size(page->links); ++i) {
        const Links& links = page->links[i];
        if ((links.first_child | links.last_child | links.next | links.previous | links.children) == 0) continue;
        if (const char* wrong = entry((page_ << Hierarchy::page_bits) + i, links)) return wrong;
      }
    }
    page_ = 0;
    return listed_ == children_ ? nullptr : "a child is not in any list of children";
  }
  std::uint32_t page() const noexcept { return page_; }

 private:
  const char* parents(const Chunk& chunk) {
    children_ += chunk.count;
    for (std::uint32_t row = 0; row < chunk.count; ++row) {
      const Row up = storage_.find(chunk.parents()[row]);
      if (!up || up.chunk->depth + 1 != chunk.depth) return "a child's parent is not alive, or is at the wrong depth";
    }
    return nullptr;
  }
  const char* entry(std::uint32_t index, const Links& links) {
    const Entity e = living(index);
    if ((links.next | links.previous) != 0 && !hierarchy_.parent(e)) return "an entity without a parent has siblings";
    if (links.children == 0)
      return (links.first_child | links.last_child) == 0 ? nullptr : "an entity without children has links to children";
    return e ? list(e, links) : "a dead entity has children";
  }
  const char* list(Entity parent, const Links& links) {
    std::uint32_t previous = 0, found = 0;
    for (Entity child = hierarchy_.first_child(parent); child; child = hierarchy_.next_sibling(child)) {
      if (!storage_.alive(child) || hierarchy_.parent(child) != parent)
        return "a list of children holds an entity that is not a child";
      if (hierarchy_.previous(child) != previous) return "links between siblings disagree";
      if (++found > links.children) return "a list of children is longer than its count";
      previous = child.index;
    }
    if (found != links.children || links.last_child != previous) return "a list of children is shorter than its count";
    listed_ += found;
    return nullptr;
  }
  /// Returns the living entity with this index, or nil.
  Entity living(std::uint32_t index) const noexcept {
    if (index >= storage_.ids().indices()) return {};
    const Entity e{index, storage_.ids().slot(index).generation};
    return storage_.alive(e) ? e : Entity{};
  }

  const Storage& storage_;
  const Hierarchy& hierarchy_;
  std::uint32_t page_ = 0;
  std::uint64_t children_ = 0, listed_ = 0;  // rows with a parent; entries in lists
};

}  // namespace

std::optional<StateError> check_links(const Storage& storage, const Hierarchy& hierarchy) {
  LinkCheck check(storage, hierarchy);
  if (const char* wrong = check.run()) return StateError{{StateSection::hierarchy, check.page(), 0}, wrong};
  return {};
}

}  // namespace muster
