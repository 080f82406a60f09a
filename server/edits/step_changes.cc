#include "server/edits/step_changes.h"

namespace muster {

std::uint64_t StepChanges::depth(Entity e) {
  std::uint64_t depth = 0;
  for (Entity at = parent(e); at; at = parent(at)) ++depth;
  return depth;
}

void StepChanges::put(Entity e, Entity parent, std::uint64_t height) {
  parents_[e] = parent;
  std::uint64_t levels = height;
  for (Entity at = parent; at; at = this->parent(at)) {
    std::uint64_t& below = below_[at];
    if (below >= ++levels) return;  // and so it is for the ancestors
    below = levels;
  }
}

void StepChanges::spawn(const Template& what, std::span<const Entity> ids, Entity parent) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t node = i % what.size();
    create(ids[i], node == 0 ? parent : ids[i - node + what.nodes()[node].parent]);
  }
}

void StepChanges::merge(const Template& what, std::span<const Entity> ids) {
  for (std::size_t i = 1; i < std::min<std::size_t>(ids.size(), what.size()); ++i)
    if (!registry_.alive(ids[i]) && !parents_.contains(ids[i])) create(ids[i], ids[what.nodes()[i].parent]);
}

}  // namespace muster
