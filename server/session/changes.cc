#include "server/session/changes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>

namespace muster {

void sort_unique(std::vector<Entity>& entities) {
  // Mostly they are in order already.
  if (std::ranges::adjacent_find(entities, std::ranges::greater_equal()) == entities.end()) return;
  std::ranges::sort(entities);
  const auto doubles = std::ranges::unique(entities);
  entities.erase(doubles.begin(), doubles.end());
}

void merge_unique(std::vector<Entity>& entities, std::size_t sorted) {
  const auto middle = entities.begin() + static_cast<std::ptrdiff_t>(sorted);
  if (!std::is_sorted(middle, entities.end())) std::sort(middle, entities.end());
  std::vector<Entity> merged;
  merged.reserve(entities.size());
  std::set_union(entities.begin(), middle, middle, entities.end(), std::back_inserter(merged));
  const auto doubles = std::ranges::unique(merged);
  merged.erase(doubles.begin(), doubles.end());
  entities.swap(merged);
}

void Changes::want(TypeId component) {
  for (const auto& shadow : shadows_)
    if (shadow->type == component) {
      ++shadow->users;
      return;
    }
  const TypeDescriptor* type = registry_.types().find(component);
  auto shadow = std::make_unique<Shadow>();
  shadow->type = component;
  shadow->users = 1;
  const auto* stored = registry_.storage().component(component);
  shadow->size = stored ? stored->saved_size() : type ? type->size : 0;
  // Filled with what is there now, without telling anybody.
  for (const auto& archetype : registry_.storage().archetypes()) {
    if (!archetype || !archetype->has(component)) continue;
    each_chunk_of(*archetype, [&](const Chunk& chunk) {
      fill(*shadow, chunk, archetype->column(component));
      if (chunk.number >= seen_.size() || seen_[chunk.number].uid != chunk.uid) remember(chunk);
    });
  }
  shadows_.push_back(std::move(shadow));
}

void Changes::drop(TypeId component) {
  for (auto at = shadows_.begin(); at != shadows_.end(); ++at)
    if ((*at)->type == component) {
      if (--(*at)->users == 0) shadows_.erase(at);
      return;
    }
}

void Changes::want_structure() {
  if (++structure_users_ > 1) return;
  for (const auto& archetype : registry_.storage().archetypes())
    if (archetype)
      each_chunk_of(*archetype, [&](const Chunk& chunk) {
        compare_places(chunk);
        remember(chunk);
      });
  structure_changed_.clear();
  kinds_changed_.clear();
}

void Changes::drop_structure() {
  if (--structure_users_ == 0) std::vector<Place>().swap(places_);
}

void Changes::want_links() {
  if (++link_users_ > 1) return;
  for (std::uint32_t number = 0; number < registry_.hierarchy().pages(); ++number) compare_page(number);
  links_changed_.clear();
}

void Changes::drop_links() {
  if (--link_users_ == 0) std::vector<Linked>().swap(links_);
}

const Changes::Found& Changes::look() {
  found_.values.clear();
  found_.structure.clear();
  found_.kinds.clear();
  found_.links.clear();
  if (!wanted()) {
    seen_.clear();
    return found_;
  }
  const std::uint64_t since = looked_;
  looked_ = registry_.begin_version();
  look_at(since);
  for (const auto& shadow : shadows_)
    if (!shadow->changed.empty()) found_.values.push_back({shadow->type, std::exchange(shadow->changed, {})});
  found_.structure = std::exchange(structure_changed_, {});
  found_.kinds = std::exchange(kinds_changed_, {});
  found_.links = std::exchange(links_changed_, {});
  for (Values& values : found_.values) sort_unique(values.entities);
  sort_unique(found_.structure);
  sort_unique(found_.kinds);
  return found_;
}

void Changes::look_at(std::uint64_t since) {
  find_departed(since);
  if (link_users_ > 0)
    for (std::uint32_t number = 0; number < registry_.hierarchy().pages(); ++number)
      if (const Hierarchy::Page* page = registry_.hierarchy().page(number); page && page->version > since)
        compare_page(number);
  const Storage& storage = registry_.storage();
  for (const auto& archetype : storage.archetypes()) {
    if (!archetype || archetype->chunks == 0) continue;
    columns_.clear();
    for (const auto& shadow : shadows_)
      if (archetype->has(shadow->type)) columns_.emplace_back(shadow.get(), archetype->column(shadow->type));
    if (columns_.empty() && structure_users_ == 0) continue;
    each_chunk_of(*archetype, [&](const Chunk& chunk) {
      const bool known = chunk.number < seen_.size() && seen_[chunk.number].uid == chunk.uid;
      const bool rows_moved = !known || chunk.slots()[column_ids].version > since;
      if (rows_moved) remember(chunk);
      for (const auto& [shadow, column] : columns_)
        if (rows_moved || (column != no_column && chunk.slots()[column].version > since))
          compare(*shadow, chunk, column);
      if (structure_users_ > 0 && (rows_moved || (chunk.depth > 0 && chunk.slots()[column_parents].version > since)))
        compare_places(chunk);
    });
  }
  for (const Entity e : departed_) {
    const bool lives = registry_.alive(e);
    for (const auto& shadow : shadows_)
      if (shadow->has(e) && !(lives && registry_.find(e, shadow->type) != nullptr)) {
        shadow->erase(e);
        shadow->changed.push_back(e);
      }
    if (structure_users_ > 0 && !lives && e.index < places_.size() && places_[e.index].generation == e.generation) {
      places_[e.index] = {};
      structure_changed_.push_back(e);
    }
  }
}

/// Whose rows they are now, so that the next look finds those that went.
void Changes::remember(const Chunk& chunk) {
  if (seen_.size() <= chunk.number) seen_.resize(chunk.number + 1);
  seen_[chunk.number].uid = chunk.uid;
  seen_[chunk.number].ids.assign(chunk.ids(), chunk.ids() + chunk.count);
}

void Changes::find_departed(std::uint64_t since) {
  departed_.clear();
  const Storage& storage = registry_.storage();
  for (std::uint32_t number = 0; number < seen_.size(); ++number) {
    SeenChunk& seen = seen_[number];
    if (seen.uid == 0) continue;
    const Chunk* chunk = number < storage.chunk_numbers() ? storage.chunk(number) : nullptr;
    if (!chunk || chunk->uid != seen.uid) {
      departed_.insert(departed_.end(), seen.ids.begin(), seen.ids.end());
      seen = {};
    } else if (chunk->slots()[column_ids].version > since) {
      for (std::uint32_t row = 0; row < seen.ids.size(); ++row)
        if (row >= chunk->count || chunk->ids()[row] != seen.ids[row]) departed_.push_back(seen.ids[row]);
    }
  }
}

Changes::Shadow::Page& Changes::Shadow::page(std::uint32_t index) {
  const std::uint32_t number = index / page_indices;
  if (number >= pages.size()) pages.resize(number + 1);
  if (!pages[number]) {
    pages[number] = std::make_unique<Page>();
    pages[number]->values = std::make_unique_for_overwrite<std::byte[]>(std::size_t{size} * page_indices);
  }
  return *pages[number];
}

void Changes::Shadow::erase(Entity e) noexcept {
  std::unique_ptr<Page>& page = pages[e.index / page_indices];
  page->generations[e.index % page_indices] = 0;
  if (--page->count == 0) page.reset();
}

std::size_t Changes::bytes() const {
  std::size_t sum = 0;
  for (const auto& shadow : shadows_) {
    sum += shadow->pages.capacity() * sizeof(shadow->pages[0]);
    for (const auto& page : shadow->pages)
      if (page) sum += sizeof *page + std::size_t{shadow->size} * Shadow::page_indices;
  }
  return sum;
}

void Changes::compare(Shadow& shadow, const Chunk& chunk, std::uint16_t column) {
  const std::uint32_t size = column == no_column ? 0 : shadow.size;
  const std::byte* values = size > 0 ? chunk.slots()[column].data : nullptr;
  // Compared without a call, where the size is known here.
  switch (size) {
    case 4: return compare_values<4>(shadow, chunk, values, size);
    case 8: return compare_values<8>(shadow, chunk, values, size);
    case 12: return compare_values<12>(shadow, chunk, values, size);
    case 16: return compare_values<16>(shadow, chunk, values, size);
    case 20: return compare_values<20>(shadow, chunk, values, size);
    case 24: return compare_values<24>(shadow, chunk, values, size);
    case 28: return compare_values<28>(shadow, chunk, values, size);
    case 32: return compare_values<32>(shadow, chunk, values, size);
    case 40: return compare_values<40>(shadow, chunk, values, size);
    default: return compare_values<0>(shadow, chunk, values, size);
  }
}

/// `fixed`: the size; 0: any.
template <std::uint32_t fixed>
void Changes::compare_values(Shadow& shadow, const Chunk& chunk, const std::byte* values, std::uint32_t any_size) {
  const std::uint32_t size = fixed > 0 ? fixed : any_size;
  Shadow::Page* page = nullptr;
  std::uint32_t page_number = 0;
  for (std::uint32_t row = 0; row < chunk.count; ++row) {
    const Entity e = chunk.ids()[row];
    if (const std::uint32_t number = e.index / Shadow::page_indices; !page || number != page_number) {
      page = &shadow.page(e.index);
      page_number = number;
    }
    const std::uint32_t at = e.index % Shadow::page_indices;
    std::uint32_t& generation = page->generations[at];
    std::byte* kept = page->values.get() + std::size_t{at} * size;
    if (generation == e.generation && (size == 0 || std::memcmp(kept, values + std::size_t{row} * size, size) == 0))
      continue;
    if (generation == 0) ++page->count;
    // The index was given to a new entity since the last look: the old one is gone.
    if (generation != 0 && generation != e.generation) shadow.changed.push_back({e.index, generation});
    generation = e.generation;
    if (size > 0) std::memcpy(kept, values + std::size_t{row} * size, size);
    shadow.changed.push_back(e);
  }
}

void Changes::fill(Shadow& shadow, const Chunk& chunk, std::uint16_t column) {
  const std::uint32_t size = column == no_column ? 0 : shadow.size;
  const std::byte* values = size > 0 ? chunk.slots()[column].data : nullptr;
  for (std::uint32_t row = 0; row < chunk.count;) {
    const Entity e = chunk.ids()[row];
    Shadow::Page& page = shadow.page(e.index);
    // Entities that were made together lie together, mostly.
    const std::uint32_t at = e.index % Shadow::page_indices;
    std::uint32_t count = 0;
    for (; row + count < chunk.count && at + count < Shadow::page_indices; ++count) {
      const Entity next = chunk.ids()[row + count];
      if (next.index != e.index + count) break;
      page.generations[at + count] = next.generation;
    }
    page.count += count;
    if (size > 0)
      std::memcpy(page.values.get() + std::size_t{at} * size, values + std::size_t{row} * size,
                  std::size_t{count} * size);
    row += count;
  }
}

void Changes::compare_places(const Chunk& chunk) {
  const std::uint32_t archetype = chunk.archetype->number;
  for (std::uint32_t row = 0; row < chunk.count; ++row) {
    const Entity e = chunk.ids()[row];
    const Entity parent = chunk.depth > 0 ? chunk.parents()[row] : Entity{};
    if (e.index >= places_.size()) places_.resize(std::max<std::size_t>(e.index + 1, places_.size() * 2));
    Place& place = places_[e.index];
    const bool same = place.generation == e.generation;
    if (kind_users_ > 0 && !(same && place.archetype == archetype)) kinds_changed_.push_back(e);
    place.archetype = archetype;
    if (same && place.parent == parent) continue;
    if (place.generation != 0 && !same) structure_changed_.push_back({e.index, place.generation});
    place.generation = e.generation;
    place.parent = parent;
    structure_changed_.push_back(e);
  }
}

/// Of those who live. Who does not is told of as structure is.
void Changes::compare_page(std::uint32_t number) {
  const Hierarchy::Page* page = registry_.hierarchy().page(number);
  if (!page) return;
  constexpr std::uint32_t entities = 1u << Hierarchy::page_bits;
  const std::uint32_t first = number * entities;
  if (links_.size() < first + entities)
    links_.resize(std::max<std::size_t>(first + entities, links_.size() + links_.size() / 2));
  const auto& ids = registry_.storage().ids();
  for (std::uint32_t i = 0; i < entities; ++i) {
    const Linked now{page->links[i].previous, page->links[i].children};
    Linked& known = links_[first + i];
    if (known.previous == now.previous && known.children == now.children) continue;
    known = now;
    if (first + i >= ids.indices()) continue;
    const Entity e{first + i, ids.slot(first + i).generation};
    if (registry_.alive(e)) links_changed_.push_back(e);
  }
}

}  // namespace muster
