#include "registry/moments/row_return.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "messages/require.h"
#include "schema/muster.h"

namespace muster {

namespace {

constexpr TypeId type_of_name = TypeTraits<Name>::id;

template <class T>
T value_at(const std::byte* column, std::uint32_t row) noexcept {
  T value;
  std::memcpy(&value, column + row * sizeof value, sizeof value);
  return value;
}

std::uint32_t slot_of(const Chunk& chunk, const KeptColumn& column) noexcept {
  const std::uint32_t slot = column.id < column_first ? column.id : chunk.archetype->slot_of(column.id);
  require(slot != no_column, "Moments: a column is not there");
  return slot;
}

/// Returns the kept chunk, or null if it was dropped. A later chunk may have its number.
Chunk* living(const Storage& storage, const KeptChunk& kept) noexcept {
  Chunk* const chunk = storage.chunk(kept.number);
  return chunk && chunk->uid == kept.uid ? chunk : nullptr;
}

}  // namespace

// --- keeping ---

KeptChunk* RowKeeper::chunk_of(const Chunk& chunk, std::uint32_t slot) {
  if (!moment_) return nullptr;
  std::uint32_t at = by_chunk_.find(chunk.number);
  if (chunk.uid >= moment_->next_chunk_uid) {
    // A new chunk gets its first row when the ids are touched for the first time.
    if (slot == column_ids && at != ByChunk::created) {
      by_chunk_.put(chunk.number, ByChunk::created);
      moment_->created.push_back(chunk.number);
    }
    return nullptr;
  }
  if (at == ByChunk::none) {
    at = static_cast<std::uint32_t>(moment_->chunks.size());
    by_chunk_.put(chunk.number, at);
    moment_->chunks.push_back({.uid = chunk.uid,
                               .number = chunk.number,
                               .archetype = chunk.archetype->number,
                               .depth = chunk.depth,
                               .place = chunk.place,
                               .count = chunk.count,
                               .capacity = chunk.capacity});
  }
  return &moment_->chunks[at];
}

// --- returning ---

void RowReturn::begin(std::span<const RowMoment* const> moments) {
  moment_ = moments.front();
  for (const RowMoment* moment : moments) {
    for (const KeptChunk& chunk : moment->chunks) {
      if (chunk.uid >= moment_->next_chunk_uid) continue;
      Changed& changed = changed_of(chunk);
      for (std::uint32_t at = chunk.first_column; at != KeptColumn::none; at = moment->columns[at].next) {
        const KeptColumn& column = moment->columns[at];
        if (old_column(changed, column.id)) continue;
        columns_.push_back({&column, changed.first_column});
        changed.first_column = static_cast<std::uint32_t>(columns_.size() - 1);
        changed.rows = changed.rows || column.id == column_ids;
        changed.names = changed.names || column.id < column_first || column.id == type_of_name;
      }
    }
    created_.insert(created_.end(), moment->created.begin(), moment->created.end());
    for (const KeptArchetype& archetype : moment->dropped)
      if (archetype.number < moment_->next_archetype) archetypes_.push_back(&archetype);
  }
  std::erase_if(created_, [&](std::uint32_t number) {
    const Chunk* const chunk = storage_.chunk(number);
    return !chunk || chunk->uid < moment_->next_chunk_uid;
  });
}

RowReturn::Changed& RowReturn::changed_of(const KeptChunk& chunk) {
  std::uint32_t at = by_chunk_.find(chunk.number);
  if (at == ByChunk::none) {
    at = static_cast<std::uint32_t>(changed_.size());
    by_chunk_.put(chunk.number, at);
    changed_.push_back({.was = &chunk, .chunk = living(storage_, chunk)});
  }
  return changed_[at];
}

const std::byte* RowReturn::old_column(const Changed& changed, std::uint32_t id) const noexcept {
  for (std::uint32_t at = changed.first_column; at != KeptColumn::none; at = columns_[at].next)
    if (columns_[at].was->id == id) return columns_[at].was->bytes;
  return nullptr;
}

void RowReturn::leave() {
  for (Changed& changed : changed_) {
    if (changed.chunk) touch_columns(changed);
    if (changed.names) leave_names(changed);
    if (changed.chunk && changed.rows) set_values_aside(*changed.chunk);
  }
  for (const std::uint32_t number : created_) {
    Chunk& chunk = *storage_.chunk(number);
    storage_.touch_all(chunk);  // others may need its columns
    leave_all_names(chunk);
    set_values_aside(chunk);
  }
  for (const std::uint32_t number : created_)
    if (Chunk* const chunk = storage_.chunk(number)) drop_new(*chunk);
  std::vector<Archetype*> leaving;
  for (const auto& archetype : storage_.archetypes())
    if (archetype->number >= moment_->next_archetype) leaving.push_back(archetype.get());
  archetypes_left_ = !leaving.empty();
  if (archetypes_left_) storage_.drop_archetypes(leaving);
}

void RowReturn::touch_columns(const Changed& changed) {
  for (std::uint32_t at = changed.first_column; at != KeptColumn::none; at = columns_[at].next)
    storage_.touch(*changed.chunk, slot_of(*changed.chunk, *columns_[at].was));
}

RowReturn::Named RowReturn::named(const std::byte* ids, const std::byte* parents, const std::byte* names,
                                  std::uint32_t row) noexcept {
  return {.entity = value_at<Entity>(ids, row),
          .parent = parents ? value_at<Entity>(parents, row) : Entity{},
          .name = value_at<Name>(names, row).text};
}

void RowReturn::leave_name(const Named& row) {
  if (row.name) state_.names.remove(row.parent, row.name, state_.texts.find(row.name));
}

void RowReturn::leave_names(Changed& changed) {
  const std::byte *ids = old_column(changed, column_ids), *parents = old_column(changed, column_parents),
                  *names = old_column(changed, type_of_name);
  const Chunk* const chunk = changed.chunk;
  if (!chunk) {
    for (std::uint32_t row = 0; names && row < changed.was->count; ++row)
      named_.push_back(named(ids, parents, names, row));
    return;
  }
  if (chunk->archetype->name_column == no_column) return;
  const std::byte *ids_now = chunk->slots()[column_ids].data, *parents_now = chunk->slots()[column_parents].data,
                  *names_now = chunk->slots()[chunk->archetype->name_column].data;
  if (!ids) ids = ids_now;
  if (!parents) parents = parents_now;
  if (!names) names = names_now;
  const std::uint32_t rows = std::max(chunk->count, changed.was->count);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const Named now = row < chunk->count ? named(ids_now, parents_now, names_now, row) : Named{};
    const Named was = row < changed.was->count ? named(ids, parents, names, row) : Named{};
    if (now == was) continue;
    leave_name(now);
    named_.push_back(was);
  }
}

void RowReturn::leave_all_names(const Chunk& chunk) {
  const std::uint16_t column = chunk.archetype->name_column;
  if (column == no_column) return;
  for (std::uint32_t row = 0; row < chunk.count; ++row)
    leave_name(
        named(chunk.slots()[column_ids].data, chunk.slots()[column_parents].data, chunk.slots()[column].data, row));
}

void RowReturn::set_values_aside(Chunk& chunk) {
  const Archetype& archetype = *chunk.archetype;
  for (std::uint32_t slot = archetype.pod_slots; slot < archetype.slot_types.size(); ++slot) {
    const StoredType& type = *archetype.slot_types[slot];
    for (std::uint32_t row = 0; row < chunk.count; ++row) {
      Aside value{.ops = type.ops, .value = nullptr, .memory = std::make_unique<std::byte[]>(type.size + 64)};
      value.value = value.memory.get() + (-reinterpret_cast<std::uintptr_t>(value.memory.get()) & std::uintptr_t{63});
      type.ops->relocate(value.value, chunk.slots()[slot].data + std::size_t{row} * type.size);
      aside_.emplace(std::pair(chunk.ids()[row].bits(), type.id), std::move(value));
    }
  }
}

void RowReturn::drop_new(Chunk& chunk) {
  Group& group = *chunk.group;
  std::vector<Chunk*> gone;
  while (group.last && group.last->uid >= moment_->next_chunk_uid) {
    Chunk& last = *group.last;
    storage_.rows_ -= last.count;
    storage_.leave_last_chunk(group);
    gone.push_back(&last);
  }
  for (Chunk* each : gone) storage_.drop(*each);  // may move the group
}

void RowReturn::put() {
  for (const KeptArchetype* archetype : archetypes_) put_archetype(*archetype);
  if (!archetypes_.empty()) storage_.know_archetypes();
  std::vector<Changed*> gone;
  for (Changed& changed : changed_) {
    if (!changed.chunk) {
      gone.push_back(&changed);
      continue;
    }
    storage_.rows_ += changed.was->count;
    storage_.rows_ -= changed.chunk->count;
    changed.chunk->count = changed.was->count;
  }
  if (!gone.empty()) {
    // The chunks get their old numbers, which moments know.
    std::erase_if(storage_.free_chunk_numbers_, [&](std::uint32_t number) {
      const std::uint32_t at = by_chunk_.find(number);
      return at != ByChunk::none && !changed_[at].chunk;
    });
    std::ranges::sort(gone, {}, [](const Changed* changed) {
      return std::tuple(changed->was->archetype, changed->was->depth, changed->was->place);
    });
    for (Changed* changed : gone) put_chunk(*changed);
  }
  for (const Changed& changed : changed_) put_columns(changed);
  storage_.next_chunk_uid_ = moment_->next_chunk_uid;
  storage_.next_archetype_ = moment_->next_archetype;
  storage_.archetypes_came_ = moment_->archetypes_came;
  ++storage_.structure_;
  ++storage_.stamp_;
  ++storage_.chunk_changes_;
}

void RowReturn::put_archetype(const KeptArchetype& kept) {
  storage_.add_archetype(kept.number, kept.types);
  auto& all = storage_.archetypes_;
  const auto place = std::ranges::lower_bound(all.begin(), all.end() - 1, kept.number, {},
                                              [](const auto& archetype) { return archetype->number; });
  std::rotate(place, all.end() - 1, all.end());
}

void RowReturn::put_chunk(Changed& changed) {
  const KeptChunk& was = *changed.was;
  Archetype* const archetype = storage_.archetype_numbered(was.archetype);
  require(archetype, "Moments: a chunk of an archetype that is not there");
  storage_.free_chunk_numbers_.push_back(was.number);
  Chunk& chunk = storage_.new_chunk(*archetype, was.depth, was.capacity, was.uid);
  require(chunk.place == was.place, "Moments: a chunk before this one is missing");
  for (std::uint32_t slot = 0; slot < archetype->slot_types.size(); ++slot)
    chunk.slots()[slot].version = storage_.version_;
  chunk.count = was.count;
  storage_.rows_ += was.count;
  changed.chunk = &chunk;
}

void RowReturn::put_columns(const Changed& changed) {
  Chunk& chunk = *changed.chunk;
  for (std::uint32_t at = changed.first_column; at != KeptColumn::none; at = columns_[at].next) {
    const KeptColumn& column = *columns_[at].was;
    const std::uint32_t slot = slot_of(chunk, column);
    std::memcpy(chunk.slots()[slot].data, column.bytes, column.size);
    copied_ += column.size;
  }
  if (!changed.rows) return;
  DirectoryEntry* const directory = storage_.ids_.slots();
  Locator at = chunk.locator(0);
  for (const Entity e : std::span(chunk.ids(), chunk.count)) {
    put_entry(directory, e.bits(), at);
    at = at + 1;
  }
}

void RowReturn::arrive() {
  for (const Named& row : named_)
    if (row.name) state_.names.add(row.parent, row.name, row.entity);
  std::vector<const Changed*> with_values;
  for (const Changed& changed : changed_)
    if (changed.rows && !changed.chunk->archetype->plain()) with_values.push_back(&changed);
  std::ranges::sort(with_values, {}, [](const Changed* changed) {
    return std::tuple(changed->was->depth, changed->was->archetype, changed->was->place);
  });
  for (const Changed* changed : with_values) arrive_values(*changed);
  for (const auto& [of, value] : aside_) value.ops->destroy(value.value);
  aside_.clear();
}

void RowReturn::arrive_values(const Changed& changed) {
  Chunk& chunk = *changed.chunk;
  const Archetype& archetype = *chunk.archetype;
  for (std::uint32_t row = 0; row < chunk.count; ++row)
    for (std::uint32_t slot = archetype.pod_slots; slot < archetype.slot_types.size(); ++slot) {
      const StoredType& type = *archetype.slot_types[slot];
      std::byte* const value = chunk.slots()[slot].data + std::size_t{row} * type.size;
      const Entity e = chunk.ids()[row];
      if (const auto aside = aside_.find({e.bits(), type.id}); aside != aside_.end()) {
        type.ops->relocate(value, aside->second.value);
        aside_.erase(aside);
      } else {
        type.ops->construct(value);
        constructed_.push_back({e, type.id});
      }
    }
}

}  // namespace muster
