#include "server/mirror/recent_changes.h"

namespace muster {

void RecentChanges::note(const SeenWorld::Found& found) {
  ++now_;
  for (const SeenWorld::Values& values : found.values) note(by_component_[values.component], values.entities);
  // If an entity lost a component in an earlier Look whose changes have not been sent yet, and has
  // since died, only the entity's death is sent.
  for (const Entity e : found.structure) {
    if (world_.alive(e)) continue;
    for (auto& [component, column] : by_component_) {
      if (!column.changed(e, forgotten_)) continue;
      column.last = now_;
      column.dead.push_back({now_, e});
      ++dead_;
    }
  }
  if (!found.structure.empty()) note(structure_, found.structure);
  if (!found.kinds.empty()) note(kinds_, found.kinds);
  if (!found.links.empty()) note(links_, found.links);
}

void RecentChanges::note(Column& column, const std::vector<Entity>& entities) {
  column.last = now_;
  column.last_changed.clear();
  for (const Entity e : entities) {
    if (!world_.alive(e)) {
      column.dead.push_back({now_, e});
      ++dead_;
      if (const std::uint32_t number = e.index / page_indices; number < column.pages.size() && column.pages[number])
        column.pages[number]->looks[e.index % page_indices] = 0;
      continue;
    }
    column.last_changed.push_back(e);
    const std::uint32_t number = e.index / page_indices;
    if (number >= column.pages.size()) column.pages.resize(number + 1);
    std::unique_ptr<Page>& page = column.pages[number];
    if (!page) page = std::make_unique<Page>();
    page->looks[e.index % page_indices] = page->last = now_;
  }
}

void RecentChanges::forget(Column& column, std::uint64_t before) {
  while (!column.dead.empty() && column.dead.front().look < before) {
    column.dead.pop_front();
    --dead_;
  }
}

void RecentChanges::forget(std::uint64_t before) {
  forgotten_ = before - 1;
  if (dead_ == 0) return;
  for (auto& [component, column] : by_component_) forget(column, before);
  forget(structure_, before);
  forget(kinds_, before);
  forget(links_, before);
}

void RecentChanges::clear() {
  by_component_.clear();
  for (Column* column : {&structure_, &kinds_, &links_}) *column = {};
  dead_ = 0;
}

}  // namespace muster
