// Answers ListChildren with a page of an entity's children in their order, or of the roots in order
// of id.
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

class ChildList : public Inquiry {
 public:
  ChildList(Asked asked, const session::ListChildren& what)
      : asked_(std::move(asked)), rows_max_(rows_allowed(what.limit, asked_.limits)), offset_(what.offset) {
    page_.entity = what.entity;
    page_.offset = what.offset;
  }

  Progress go_on(Steps& steps) final {
    if (asked_.sight && page_.entity && !asked_.sees(page_.entity)) {
      asked_.fault(dead_fault(page_.entity, "entity"));
      return Progress::done;
    }
    while (!whole_) {
      if (!steps.left()) return Progress::again;
      steps.spend(1);
      whole_ = !step(steps);
    }
    if (!asked_.has_room(bytes_)) return Progress::room;
    page_.sequence = asked_.registry.sequence();
    page_.total = total();
    steps.spend_bytes(bytes_);
    answer(asked_.to(), asked_.request, page_);
    return Progress::done;
  }

 protected:
  /// Examines the next entity. Returns false if there are no further entities or if the page is
  /// full.
  virtual bool step(Steps& steps) = 0;
  virtual std::uint32_t total() const = 0;
  bool is_full() const noexcept { return page_.entities.size() >= rows_max_ || bytes_ >= asked_.limits.page_bytes_max; }
  void add(Entity child, Steps& steps) {
    const EntityRegistry& registry = asked_.registry;
    std::span<const TypeId> components = registry.host().components(child);
    std::vector<TypeId> seen;
    if (asked_.sight) components = seen = asked_.sight->components(child);
    page_.entities.push_back(child);
    page_.names.emplace_back(shown_name(registry.name(child), asked_.limits.path_bytes_max));
    page_.child_counts.push_back(asked_.sight ? asked_.sight->child_count(child) : registry.child_count(child));
    page_.component_counts.push_back(static_cast<std::uint32_t>(components.size()));
    page_.components.insert(page_.components.end(), components.begin(), components.end());
    bytes_ += 32 + page_.names.back().size() + 4 * components.size();
    steps.spend(2);
  }
  void begin_anew() {
    page_.entities.clear();
    page_.names.clear();
    page_.child_counts.clear();
    page_.component_counts.clear();
    page_.components.clear();
    bytes_ = 128;
  }

  const Asked asked_;
  const std::uint32_t rows_max_, offset_;
  session::Children page_;

 private:
  std::size_t bytes_ = 128;
  bool whole_ = false;
};

/// Roots have no order of their own, so they are listed in order of id. As a result, consecutive
/// pages fit together.
class RootList final : public ChildList {
 public:
  using ChildList::ChildList;

 private:
  bool step(Steps& steps) override {
    const auto& ids = asked_.registry.host().storage().ids();
    if (is_full() || next_ >= ids.indices()) return false;
    const Entity e{next_, ids.slot(next_).generation};
    ++next_;
    if (asked_.sees(e) && asked_.registry.depth(e) == 0 && place_++ >= offset_) add(e, steps);
    return true;
  }
  std::uint32_t total() const override {
    if (asked_.sight) return asked_.sight->child_count({});
    std::uint32_t roots = 0;
    for (const auto& archetype : asked_.registry.host().storage().archetypes())
      if (archetype && !archetype->groups.empty())
        for (const Chunk* chunk : archetype->groups.front().chunks) roots += chunk->count;
    return roots;
  }

  std::uint32_t next_ = 1;  // next index to examine
  std::uint32_t place_ = 0;
};

class SiblingList final : public ChildList {
 public:
  using ChildList::ChildList;

 private:
  bool step(Steps& steps) override {
    if (is_full()) return false;
    const EntityRegistry& registry = asked_.registry;
    find_place_again();
    Entity next = passed_.empty() ? registry.first_child(page_.entity) : registry.next_sibling(passed_.back());
    for (; asked_.sight && next && !asked_.sees(next); next = registry.next_sibling(next)) steps.spend(1);
    if (!next) return false;
    if (place_++ >= offset_) add(next, steps);
    if (passed_.size() == passed_max) passed_.erase(passed_.begin(), passed_.begin() + passed_max / 2);
    passed_.push_back(next);
    return true;
  }
  /// Finds the position again, because the world may have changed since the previous slice.
  /// Continues after the most recent of the remembered children that is still a child. If none of
  /// them is still a child, the list starts over.
  void find_place_again() {
    while (!passed_.empty() &&
           !(asked_.registry.parent(passed_.back()) == page_.entity && asked_.sees(passed_.back()))) {
      passed_.pop_back();
      if (place_ > 0) --place_;
      if (!page_.entities.empty()) drop_last();
      if (passed_.empty()) {
        begin_anew();
        place_ = 0;
      }
    }
  }
  void drop_last() {
    page_.components.resize(page_.components.size() - page_.component_counts.back());
    page_.component_counts.pop_back();
    page_.child_counts.pop_back();
    page_.names.pop_back();
    page_.entities.pop_back();
  }
  std::uint32_t total() const override {
    return asked_.sight ? asked_.sight->child_count(page_.entity) : asked_.registry.child_count(page_.entity);
  }

  static constexpr std::size_t passed_max = 128;
  std::vector<Entity> passed_;  // the children that have been passed most recently
  std::uint32_t place_ = 0;     // position of the next child
};

}  // namespace

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::ListChildren& what) {
  if (!what.entity) return std::make_unique<RootList>(asked, what);
  if (!asked.sees(what.entity)) return refuse_dead(asked, what.entity, "entity");
  return std::make_unique<SiblingList>(asked, what);
}

}  // namespace muster
