#include "server/session/changes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>

namespace muster {

namespace {

constexpr std::uint32_t block = 16;  // rows that are compared at once
constexpr std::size_t line = 64;     // bytes of a cache line

/// In a world of many archetypes most of a look is waiting for the headers of chunks in which nothing changed: whoever goes through
/// chunks by number asks for those to come.
void ask_ahead(const Storage& storage, std::uint32_t number) {
  constexpr std::uint32_t ahead = 12;
  if (number + ahead >= storage.chunk_numbers()) return;
  const auto* const next = reinterpret_cast<const std::byte*>(storage.chunk(number + ahead));
  if (!next) return;
  for (std::size_t at = 0; at < 3 * line; at += line) __builtin_prefetch(next + at);
}

/// Whether any column was written, ids and parents among them. Its archetype, which lies elsewhere, is not asked: slots behind
/// the last column have version 0.
bool is_written(const Chunk& chunk, std::uint64_t since) {
  const std::size_t slots = (chunk.header_lines * line - sizeof(Chunk)) / sizeof(ColumnSlot);
  return std::ranges::any_of(std::span(chunk.slots(), slots),
                             [&](const ColumnSlot& slot) { return slot.version > since; });
}

/// By index: two passes over what a comparing sort looks at sixteen times and more, where they are many.
void sort_by_index(std::vector<Entity>& entities) {
  constexpr std::uint32_t bits = 11, values = 1u << bits;
  std::uint32_t largest = 0;
  for (const Entity e : entities) largest = std::max(largest, e.index);
  std::vector<Entity> other(entities.size());
  std::vector<std::uint32_t> ends(values);
  for (std::uint32_t shift = 0; shift < 32 && (shift == 0 || largest >> shift > 0); shift += bits) {
    std::ranges::fill(ends, 0);
    const auto digit = [&](Entity e) { return (e.index >> shift) & (values - 1); };
    for (const Entity e : entities) ++ends[digit(e)];
    std::uint32_t begin = 0;
    for (std::uint32_t& end : ends) begin += std::exchange(end, begin);
    for (const Entity e : entities) other[ends[digit(e)]++] = e;
    entities.swap(other);
  }
  // Of one index there are seldom several: those are brought in order here.
  for (std::size_t i = 1; i < entities.size(); ++i)
    for (std::size_t k = i; k > 0 && entities[k] < entities[k - 1]; --k) std::swap(entities[k], entities[k - 1]);
}

}  // namespace

void sort_unique(std::vector<Entity>& entities) {
  // Mostly they are in order already.
  if (std::ranges::adjacent_find(entities, std::ranges::greater_equal()) == entities.end()) return;
  if (entities.size() > 2048)
    sort_by_index(entities);
  else
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

/// Where nothing was found until now there is no look to go back to.
void Changes::begin_finding() {
  if (wanted()) return;
  seen_.clear();
  looked_ = registry_.begin_version();
}

void Changes::want(TypeId component) {
  const auto at = std::ranges::lower_bound(shadows_, component, {}, [](const auto& each) { return each->type; });
  if (at != shadows_.end() && (*at)->type == component) {
    ++(*at)->users;
    return;
  }
  begin_finding();
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
      const bool is_new = !knows(chunk);
      if (is_new) remember(chunk);
      if (is_new || chunk.slots()[column_ids].version <= looked_)
        fill(*shadow, chunk, archetype->column(component));
      else
        fill_seen(*shadow, chunk);
    });
  }
  shadows_.insert(at, std::move(shadow));
}

void Changes::drop(TypeId component) {
  for (auto at = shadows_.begin(); at != shadows_.end(); ++at)
    if ((*at)->type == component) {
      if (--(*at)->users == 0) shadows_.erase(at);
      return;
    }
}

void Changes::want_structure() {
  if (structure_users_ == 0) begin_finding();
  if (++structure_users_ > 1) return;
  for (const auto& archetype : registry_.storage().archetypes())
    if (archetype)
      each_chunk_of(*archetype, [&](const Chunk& chunk) {
        compare_places(chunk);
        if (!knows(chunk)) remember(chunk);
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
  find_moved(since);
  if (link_users_ > 0)
    for (std::uint32_t number = 0; number < registry_.hierarchy().pages(); ++number)
      if (const Hierarchy::Page* page = registry_.hierarchy().page(number); page && page->version > since)
        compare_page(number);
  const Storage& storage = registry_.storage();
  const Archetype* last = nullptr;
  for (std::uint32_t number = 0; number < storage.chunk_numbers(); ++number) {
    ask_ahead(storage, number);
    if (!storage.chunk(number)) continue;
    const Chunk& chunk = *storage.chunk(number);
    const bool rows_moved = !knows(chunk);  // also where they moved: find_moved forgot them
    if (!rows_moved && !is_written(chunk, since)) continue;
    if (chunk.archetype != std::exchange(last, chunk.archetype)) find_columns(*chunk.archetype);
    if (columns_.empty() && structure_users_ == 0) continue;
    if (rows_moved) remember(chunk);
    const std::uint32_t moved = chunk.number < moved_numbers_.size() ? moved_numbers_[chunk.number] : no_chunk;
    for (const auto& [shadow, column] : columns_)
      if (rows_moved)
        compare_moved(*shadow, chunk, column, moved);
      else if (column != no_column && chunk.slots()[column].version > since)
        compare(*shadow, chunk, column);
    if (structure_users_ > 0 && (rows_moved || (chunk.depth > 0 && chunk.slots()[column_parents].version > since)))
      compare_places(chunk);
  }
  note_departed();
}

/// What there is to compare in it.
void Changes::find_columns(const Archetype& archetype) {
  columns_.clear();
  auto shadow = shadows_.begin();
  for (std::size_t i = 0; i < archetype.types.size(); ++i) {
    while (shadow != shadows_.end() && (*shadow)->type < archetype.types[i]) ++shadow;
    if (shadow == shadows_.end()) return;
    if ((*shadow)->type == archetype.types[i]) columns_.emplace_back(shadow->get(), archetype.columns[i]);
  }
}

/// Whose rows they are now, so that the next look finds those that went.
void Changes::remember(const Chunk& chunk) {
  if (seen_.size() <= chunk.number) seen_.resize(chunk.number + 1);
  seen_[chunk.number].uid = chunk.uid;
  seen_[chunk.number].ids.assign(chunk.ids(), chunk.ids() + chunk.count);
}

/// Forgets the chunks whose rows moved or that are gone, but for what this look needs of them.
void Changes::find_moved(std::uint64_t since) {
  const Storage& storage = registry_.storage();
  departed_.clear();
  moved_.clear();
  moved_numbers_.assign(seen_.size(), no_chunk);
  for (const auto& shadow : shadows_) shadow->before.clear();
  for (std::uint32_t number = 0; number < seen_.size(); ++number) {
    ask_ahead(storage, number);
    SeenChunk& seen = seen_[number];
    if (seen.uid == 0) continue;
    const Chunk* chunk = number < storage.chunk_numbers() ? storage.chunk(number) : nullptr;
    const bool gone = !chunk || chunk->uid != seen.uid;
    if (!gone && chunk->slots()[column_ids].version <= since) continue;
    const auto moved = static_cast<std::uint32_t>(moved_.size());
    for (std::uint32_t row = 0; row < seen.ids.size(); ++row)
      if (gone || row >= chunk->count || chunk->ids()[row] != seen.ids[row])
        departed_.push_back({seen.ids[row], moved, row});
    moved_.push_back(std::move(seen.ids));
    if (!gone) moved_numbers_[number] = moved;
    seen = {};
    for (const auto& shadow : shadows_) {
      shadow->before.emplace_back();
      if (number < shadow->copies.size()) shadow->before.back() = std::move(shadow->copies[number]);
    }
  }
  std::ranges::sort(departed_, std::less());
}

/// Null: it had none.
const std::byte* Changes::value_before(const Shadow& shadow, Entity e) const {
  for (auto at = std::ranges::lower_bound(departed_, Departed{.entity = e}, std::less());
       at != departed_.end() && at->entity == e; ++at)
    if (const std::byte* copy = shadow.before[at->moved].get()) return copy + std::size_t{at->row} * shadow.size;
  return nullptr;
}

/// Those who have a component no more, and those who are no more.
void Changes::note_departed() {
  for (const auto& [e, moved, row] : departed_) {
    const Row now = registry_.storage().find(e);
    for (const auto& shadow : shadows_)
      if (shadow->before[moved] && !(now && now.chunk->archetype->has(shadow->type))) shadow->changed.push_back(e);
    if (structure_users_ > 0 && !now && e.index < places_.size() && places_[e.index].generation == e.generation) {
      places_[e.index] = {};
      structure_changed_.push_back(e);
    }
  }
  for (const auto& shadow : shadows_) shadow->before.clear();
}

std::byte* Changes::Shadow::make_copy(std::uint32_t chunk, std::size_t rows) {
  if (chunk >= copies.size()) copies.resize(chunk + 1);
  // The next copy of the chunk mostly fits where this one was.
  constexpr std::size_t step = 16;
  copies[chunk] = std::make_unique_for_overwrite<std::byte[]>(size * ((rows + step - 1) / step * step));
  return copies[chunk].get();
}

std::size_t Changes::bytes() const {
  std::size_t sum = 0;
  for (const auto& shadow : shadows_) {
    sum += shadow->copies.capacity() * sizeof(Bytes);
    for (std::uint32_t number = 0; number < seen_.size(); ++number)
      if (shadow->copy(number)) sum += std::size_t{shadow->size} * seen_[number].ids.size();
  }
  return sum;
}

void Changes::fill(Shadow& shadow, const Chunk& chunk, std::uint16_t column) {
  std::byte* const copy = shadow.make_copy(chunk.number, chunk.count);
  if (column != no_column && shadow.size > 0)
    std::memcpy(copy, chunk.slots()[column].data, std::size_t{shadow.size} * chunk.count);
}

/// Of the rows that are remembered, where they are others now: what the next look finds of them begins here.
void Changes::fill_seen(Shadow& shadow, const Chunk& chunk) {
  const std::vector<Entity>& ids = seen_[chunk.number].ids;
  std::byte* const copy = shadow.make_copy(chunk.number, ids.size());
  for (std::size_t row = 0; shadow.size > 0 && row < ids.size(); ++row) {
    std::byte* const to = copy + row * shadow.size;
    if (const std::byte* value = registry_.find(ids[row], shadow.type))
      std::memcpy(to, value, shadow.size);
    else
      std::memset(to, 0, shadow.size);  // who has it no more is told as if it had had it until now
  }
}

/// Of a chunk whose rows are where they were.
void Changes::compare(Shadow& shadow, const Chunk& chunk, std::uint16_t column) {
  const std::size_t size = shadow.size;
  if (size == 0) return;
  const std::byte* const values = chunk.slots()[column].data;
  std::byte* const copy = shadow.copy(chunk.number);
  for (std::uint32_t first = 0; first < chunk.count; first += block) {
    const std::uint32_t end = std::min(first + block, chunk.count);
    const std::size_t bytes = (end - first) * size;
    if (std::memcmp(copy + first * size, values + first * size, bytes) == 0) continue;
    for (std::uint32_t row = first; row < end; ++row)
      if (std::memcmp(copy + row * size, values + row * size, size) != 0) shadow.changed.push_back(chunk.ids()[row]);
    std::memcpy(copy + first * size, values + first * size, bytes);
  }
}

/// Of a chunk whose rows are others, or stand elsewhere, or that is new.
void Changes::compare_moved(Shadow& shadow, const Chunk& chunk, std::uint16_t column, std::uint32_t moved) {
  const std::size_t size = column == no_column ? 0 : shadow.size;
  const std::byte* const values = size > 0 ? chunk.slots()[column].data : nullptr;
  const std::byte* const before = moved == no_chunk ? nullptr : shadow.before[moved].get();
  const std::span<const Entity> ids_before =
      before ? std::span<const Entity>(moved_[moved]) : std::span<const Entity>();
  for (std::uint32_t first = 0; first < chunk.count; first += block) {
    const std::uint32_t end = std::min(first + block, chunk.count);
    // Most are where they were, also here.
    if (end <= ids_before.size() && std::equal(chunk.ids() + first, chunk.ids() + end, &ids_before[first]) &&
        (size == 0 || std::memcmp(before + first * size, values + first * size, (end - first) * size) == 0))
      continue;
    for (std::uint32_t row = first; row < end; ++row) {
      const Entity e = chunk.ids()[row];
      const std::byte* const old =
          row < ids_before.size() && ids_before[row] == e ? before + row * size : value_before(shadow, e);
      if (!old || (size > 0 && std::memcmp(old, values + row * size, size) != 0)) shadow.changed.push_back(e);
    }
  }
  fill(shadow, chunk, column);
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
