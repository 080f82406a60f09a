#include "registry/storage/storage.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "messages/require.h"
#include "schema/hash.h"
#include "schema/muster.h"

namespace muster {

namespace {

std::uint64_t hash_of(std::span<const TypeId> types) noexcept {
  return hash64({reinterpret_cast<const char*>(types.data()), types.size_bytes()});
}

/// `count` times the same value, one behind the other.
void fill_values(std::byte* to, const std::byte* value, std::uint32_t size, std::uint32_t count) noexcept {
  const auto fill = [&]<std::size_t bytes>() {
    struct Value {
      std::byte all[bytes];
    } one;
    std::memcpy(&one, value, bytes);
    for (std::uint32_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, &one, bytes);
  };
  switch (size) {
    case 4: return fill.operator()<4>();
    case 8: return fill.operator()<8>();
    case 16: return fill.operator()<16>();
    default:
      for (std::uint32_t i = 0; i < count; ++i) copy_value(to + std::size_t{i} * size, value, size);
  }
}

/// f(ops, value) for each runtime value in rows [begin, end).
template <class F>
void each_runtime(Chunk& chunk, std::uint32_t begin, std::uint32_t end, F f) {
  const Archetype& archetype = *chunk.archetype;
  for (std::uint32_t slot = archetype.pod_slots; slot < archetype.slot_types.size(); ++slot) {
    const StoredType& type = *archetype.slot_types[slot];
    for (std::uint32_t row = begin; row < end; ++row)
      f(*type.ops, chunk.slots()[slot].data + std::size_t{row} * type.size);
  }
}

}  // namespace

Storage::Storage() = default;

Storage::~Storage() {
  for (Chunk* chunk : chunks_) {
    if (!chunk) continue;
    each_runtime(*chunk, 0, chunk->count, [](const RuntimeOps& ops, void* at) { ops.destroy(at); });
    pool_.recycle(chunk);
  }
}

// --- ids ---

void Storage::mark_ids(std::span<const Entity> ids) {
  std::uint32_t marked = ~0u;
  for (const Entity e : ids)
    if (const std::uint32_t page = e.index >> id_page_bits; page != marked) {
      mark_id(e.index);
      marked = page;
    }
}

void Storage::take_ids(std::span<Entity> ids) {
  const std::size_t recycled = std::min(ids.size(), ids_.recyclable());
  const DirectoryEntry* const directory = ids_.slots();
  for (std::size_t done = 0; done < recycled;) {
    const std::span<const std::uint32_t> run = ids_.free_queue().run(done);
    const std::size_t count = std::min(run.size(), recycled - done);
    const std::uint32_t* const indices = run.data();
    Entity* const out = ids.data() + done;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i)
      put_id(out + i, (std::bit_cast<std::uint64_t>(directory[indices[i]]) & 0xffffffff00000000u) | indices[i]);
    done += count;
  }
  ids_.take_recycled(recycled);
  if (recycled == ids.size()) return;
  const std::span<Entity> fresh = ids.subspan(recycled);
  const std::uint32_t first = ids_.extend(static_cast<std::uint32_t>(fresh.size()));
  for (std::uint32_t i = 0; i < fresh.size(); ++i) fresh[i] = {first + i, DirectoryLayout::first_generation};
  mark_ids(fresh);
}

void Storage::reserve(std::span<Entity> ids) {
  take_ids(ids);
  const std::uint32_t reserved = state_bits(IdState::reserved);
  for (const Entity e : ids) {
    ids_.slot(e.index).locator = reserved;
    mark_known_id(e.index);
  }
}

Entity Storage::reserve_fresh() {
  const Entity e = ids_.create_fresh();
  ids_.slot(e.index).locator = state_bits(IdState::reserved);
  mark_id(e.index);
  return e;
}

void Storage::retire_id(Entity e) {
  ids_.slot(e.index).locator = state_bits(IdState::free);
  ids_.release_current(e.index);
}

void Storage::set_state(Entity e, IdState state) {
  ids_.slot(e.index).locator = state_bits(state);
  mark_id(e.index);
}

void Storage::give_up(Entity e) {
  set_state(e, IdState::free);
  ids_.release(e);
}

void Storage::grant(std::uint32_t first, std::uint32_t count) {
  require(first == ids_.indices(), "Storage::grant: not the first unused index");
  ids_.extend(count);
  for (std::uint32_t i = 0; i < count; ++i) set_state({first + i, 1}, IdState::granted);
}

void Storage::return_grant(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const Entity e{first + i, 1};
    if (!in_state(e, IdState::granted)) continue;
    set_state(e, IdState::free);
    ids_.give_back(e.index);
  }
}

// --- component types and archetypes ---

const StoredType& Storage::add_component(const TypeDescriptor& descriptor) {
  if (const std::uint32_t* known = component_by_id_.find(descriptor.id)) return *components_[*known];
  component_by_id_.put(descriptor.id, static_cast<std::uint32_t>(components_.size()));
  components_.push_back(std::make_unique<StoredType>(
      StoredType{descriptor.id, descriptor.tag ? 0 : descriptor.size, descriptor.align, &descriptor}));
  return *components_.back();
}

const StoredType* Storage::component(TypeId type) const noexcept {
  const std::uint32_t* known = component_by_id_.find(type);
  return known ? components_[*known].get() : nullptr;
}

Archetype& Storage::archetype(std::span<const TypeId> types) {
  const std::uint64_t hash = hash_of(types);
  if (const std::uint32_t* known = archetype_by_hash_.find(hash)) {
    if (std::ranges::equal(archetypes_[*known]->types, types)) return *archetypes_[*known];
    for (Archetype* other : archetypes_colliding_)
      if (std::ranges::equal(other->types, types)) return *other;
  }
  return add_archetype(next_archetype(), types);
}

Archetype& Storage::add_archetype(std::uint32_t number, std::span<const TypeId> types) {
  auto made = std::make_unique<Archetype>();
  made->number = number;
  made->types.assign(types.begin(), types.end());
  for (const TypeId type : types) {
    const StoredType* known = component(type);
    require(known, "Storage::archetype: a component type that was never added");
    made->components.push_back(known);
  }
  lay_out(*made);
  archetypes_.resize(number + 1);
  archetypes_[number] = std::move(made);
  Archetype& archetype = *archetypes_[number];
  if (const std::uint64_t hash = hash_of(types); archetype_by_hash_.find(hash))
    archetypes_colliding_.push_back(&archetype);
  else
    archetype_by_hash_.put(hash, number);
  if (on_archetype) on_archetype(on_archetype_context, archetype);
  return archetype;
}

void Storage::lay_out(Archetype& archetype) {
  archetype.slot_types.assign(column_first, nullptr);
  archetype.columns.assign(archetype.types.size(), no_column);
  archetype.slot_bytes.assign(column_first, 8);
  archetype.name_column = no_column;
  archetype.small_values = true;
  archetype.row_bytes = 16;
  for (const bool runtime : {false, true}) {
    for (std::size_t i = 0; i < archetype.types.size(); ++i) {
      const StoredType* type = archetype.components[i];
      if (type->size == 0 || (type->ops != nullptr) != runtime) continue;
      archetype.columns[i] = static_cast<std::uint16_t>(archetype.slot_types.size());
      if (type->id == TypeTraits<Name>::id) archetype.name_column = archetype.columns[i];
      archetype.slot_types.push_back(type);
      archetype.slot_bytes.push_back(type->size);
      archetype.small_values = archetype.small_values && is_small(type->size);
      archetype.row_bytes += type->size;
    }
    if (!runtime) archetype.pod_slots = static_cast<std::uint32_t>(archetype.slot_types.size());
  }
}

void Storage::set_runtime(TypeId type, const RuntimeOps* ops, std::uint32_t size, std::uint32_t align) {
  StoredType& stored = *components_[*component_by_id_.find(type)];
  if (!ops)
    for (Chunk* chunk : chunks_)
      if (chunk)
        each_runtime(*chunk, 0, chunk->count, [&](const RuntimeOps& its, void* at) {
          if (&its == stored.ops) its.destroy(at);
        });
  stored.ops = ops;
  stored.size = ops ? size : 0;
  stored.align = ops ? align : 1;
  for (const auto& archetype : archetypes_)
    if (archetype && archetype->has(type)) lay_out_again(*archetype);
}

void Storage::lay_out_again(Archetype& archetype) {
  const std::vector<const StoredType*> old_types = archetype.slot_types;
  lay_out(archetype);
  ++archetype.layout;
  const std::vector<const StoredType*>& types = archetype.slot_types;
  for (Group& group : archetype.groups)
    for (Chunk*& old : group.chunks) {
      Chunk* chunk = pool_.make(archetype, old->depth, old->capacity);
      chunk->group = &group;
      chunk->uid = old->uid;
      chunk->number = old->number;
      chunk->place = old->place;
      chunk->count = old->count;
      for (std::uint32_t slot = 0; slot < types.size(); ++slot) {
        const std::uint32_t source =
            slot < column_first
                ? slot
                : static_cast<std::uint32_t>(std::ranges::find(old_types, types[slot]) - old_types.begin());
        ColumnSlot& to = chunk->slots()[slot];
        const std::size_t size = archetype.slot_bytes[slot];
        if (slot < archetype.pod_slots) {
          to.version = old->slots()[source].version;
          if (to.data) std::memcpy(to.data, old->slots()[source].data, size * old->count);
          continue;
        }
        for (std::uint32_t row = 0; row < old->count; ++row) {
          if (source == old_types.size())
            types[slot]->ops->construct(to.data + row * size);
          else
            types[slot]->ops->relocate(to.data + row * size, old->slots()[source].data + row * size);
        }
      }
      chunks_[chunk->number] = chunk;
      group.last = chunk;
      pool_.recycle(std::exchange(old, chunk));
    }
  ++structure_;
  ++chunk_changes_;
  if (on_layout) on_layout(on_archetype_context, archetype);
}

Archetype& Storage::with(Archetype& archetype, TypeId type) {
  if (archetype.has(type)) return archetype;
  const std::uint64_t edge = std::uint64_t{archetype.number} << 33 | std::uint64_t{type} << 1 | 1;
  if (const std::uint32_t* known = edges_.find(edge)) return *archetypes_[*known];
  std::vector<TypeId> types = archetype.types;
  types.insert(std::ranges::lower_bound(types, type), type);
  Archetype& to = this->archetype(types);
  edges_.put(edge, to.number);
  return to;
}

Archetype& Storage::without(Archetype& archetype, TypeId type) {
  if (!archetype.has(type)) return archetype;
  const std::uint64_t edge = std::uint64_t{archetype.number} << 33 | std::uint64_t{type} << 1;
  if (const std::uint32_t* known = edges_.find(edge)) return *archetypes_[*known];
  std::vector<TypeId> types = archetype.types;
  std::erase(types, type);
  Archetype& to = this->archetype(types);
  edges_.put(edge, to.number);
  return to;
}

// --- rows ---

void Storage::first_touch(Chunk& chunk, std::uint32_t slot) {
  if (preserver_ && slot < chunk.archetype->pod_slots) preserver_->before_write(chunk, slot);
  chunk.slots()[slot].version = version_;
}

void Storage::first_touch_all(Chunk& chunk) {
  const std::uint32_t slots = chunk.archetype->pod_slots;
  for (std::uint32_t slot = 0; slot < slots; ++slot) touch(chunk, slot);
}

Chunk& Storage::new_chunk(Archetype& archetype, std::uint32_t depth, std::uint32_t capacity, std::uint64_t uid) {
  depths_ = std::max(depths_, depth + 1);
  Group& group = archetype.need_group(depth);
  Chunk* chunk = pool_.make(archetype, depth, capacity);
  chunk->group = &group;
  chunk->uid = uid;
  chunk->place = static_cast<std::uint32_t>(group.chunks.size());
  if (free_chunk_numbers_.empty()) {
    chunk->number = static_cast<std::uint32_t>(chunks_.size());
    require(chunk->number < 1u << 21, "storage: more than two million chunks");
    chunks_.push_back(chunk);
  } else {
    chunk->number = free_chunk_numbers_.back();
    free_chunk_numbers_.pop_back();
    chunks_[chunk->number] = chunk;
  }
  group.chunks.push_back(chunk);
  group.rows_before = group.rows();
  group.last = chunk;
  ++chunk_changes_;
  return *chunk;
}

Chunk& Storage::open_new_chunk(Archetype& archetype, std::uint32_t depth) {
  const std::size_t place = depth < archetype.groups.size() ? archetype.groups[depth].chunks.size() : 0;
  return new_chunk(archetype, depth, chunk_capacity(archetype, static_cast<std::uint32_t>(place)), next_chunk_uid_++);
}

void Storage::construct_runtime(Row row) {
  each_runtime(*row.chunk, row.row, row.row + 1, [](const RuntimeOps& ops, void* at) { ops.construct(at); });
}

Storage::Run Storage::create_run(std::span<const Entity> ids, Archetype& archetype) {
  Chunk& chunk = open_chunk(archetype, 0);
  touch_all(chunk);
  const std::uint32_t begin = chunk.count, first = chunk.number << 10 | begin;
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(chunk.capacity - begin, ids.size()));
  std::memcpy(chunk.ids() + begin, ids.data(), count * sizeof(Entity));
  DirectoryEntry* const directory = ids_.slots();
  std::uint64_t* const versions = id_page_versions_.data();
  const std::uint64_t version = version_;
  const Entity* const from = ids.data();
#pragma GCC unroll 4
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t index = from[i].index;
    directory[index].locator = first + i;
    versions[index >> id_page_bits] = version;
  }
  add_rows(chunk, count);
  return {&chunk, begin, count};
}

Storage::Run Storage::create_block(std::span<const Entity> ids, std::span<const BlockNode> nodes, Archetype& archetype,
                                   std::uint32_t depth) {
  Chunk& chunk = *archetype.groups[depth].last;
  touch_all(chunk);
  const std::uint32_t begin = chunk.count, first = chunk.number << 10 | begin;
  const auto count = static_cast<std::uint32_t>(nodes.size());
  DirectoryEntry* const directory = ids_.slots();
  Entity* const column = chunk.ids() + begin;
  Entity* const parents = chunk.parents() + begin;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Entity e = ids[nodes[i].node];
    put_entry(directory, std::bit_cast<std::uint64_t>(e), first + i);
    column[i] = e;
    parents[i] = ids[nodes[i].parent];
    mark_known_id(e.index);
  }
  add_rows(chunk, count);
  return {&chunk, begin, count};
}

void Storage::create_many(std::span<const Entity> ids, Archetype& archetype, std::span<const ValuePlace> values,
                          const std::byte* payload, std::vector<Entity>& refused) {
  for (std::size_t next = 0; next < ids.size();) {
    // Nothing to do for ids that are refused: no chunk is opened for them.
    if (!can_be_made(ids[next])) {
      refused.push_back(ids[next++]);
      continue;
    }
    // An id that is in the list twice can be made once: who is to get a row is taken for made at once.
    std::size_t end = next;
    for (; end < ids.size() && can_be_made(ids[end]); ++end)
      ids_.slot(ids[end].index).locator = state_bits(IdState::free);
    while (next < end) {
      const Run run = create_run(ids.subspan(next, end - next), archetype);
      next += run.count;
      for (const ValuePlace& value : values)
        fill_values(run.chunk->slots()[value.slot].data + std::size_t{run.begin} * value.size, payload + value.offset,
                    value.size, run.count);
    }
  }
}

void Storage::fill_large_values_of_hole(const Archetype& archetype, Row hole, const Chunk& last,
                                        std::uint32_t from) noexcept {
  fill_values_of_hole<false>(archetype, hole, last, from);
}

void Storage::leave_last_chunk(Group& group) {
  group.chunks.pop_back();
  group.last = group.chunks.empty() ? nullptr : group.chunks.back();
  if (group.last) group.rows_before -= group.last->count;
  ++chunk_changes_;
}

void Storage::drop(Chunk& chunk) {
  if (preserver_) preserver_->before_recycle(chunk);
  chunks_[chunk.number] = nullptr;
  free_chunk_numbers_.push_back(chunk.number);
  pool_.recycle(&chunk);
}

void Storage::take_row(Row gone, const Archetype* kept) {
  Archetype& archetype = *gone.chunk->archetype;
  if (!archetype.plain()) {
    Chunk& last = *gone.chunk->group->last;
    const std::uint32_t from = last.count - 1;
    const auto slot_count = static_cast<std::uint32_t>(archetype.slot_types.size());
    for (std::uint32_t slot = archetype.pod_slots; slot < slot_count; ++slot) {
      const StoredType& type = *archetype.slot_types[slot];
      std::byte* to = gone.chunk->slots()[slot].data + std::size_t{gone.row} * type.size;
      if (!kept || !kept->has(type.id)) type.ops->destroy(to);
      std::byte* filler = last.slots()[slot].data + std::size_t{from} * type.size;
      if (filler != to) type.ops->relocate(to, filler);
    }
  }
  take_plain_row(gone);
}

void Storage::destroy(Row row, bool park) {
  const Entity e = row.chunk->ids()[row.row];
  if (!park && row.chunk->archetype->plain()) return destroy_plain(row, e);
  if (destroyed_) log_destroyed(e);
  take_row(row);
  if (park)
    ids_.slot(e.index).locator = state_bits(IdState::parked);
  else
    free_id(e);
  mark_known_id(e.index);
}

void Storage::make_move_plan(const Archetype& from, const Archetype& to) {
  MovePlan& plan = move_plan_;
  plan = {&from, &to, from.layout, to.layout, std::move(plan.kept), std::move(plan.zeroed)};
  plan.kept.clear();
  plan.zeroed.clear();
  const auto pod_slots = static_cast<std::uint16_t>(to.pod_slots);
  for (std::uint16_t slot = column_first; slot < pod_slots; ++slot) {
    const std::uint16_t source = &from == &to ? slot : from.column(to.slot_types[slot]->id);
    (source == no_column ? plan.zeroed : plan.kept).push_back({source, slot, to.slot_bytes[slot]});
  }
}

Row Storage::move(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent) {
  const Row from = find(e);
  const Row to = append(e, open_chunk(archetype, depth), parent);
  const Archetype& old = *from.chunk->archetype;
  if (!archetype.plain()) {
    const auto slots = static_cast<std::uint16_t>(archetype.slot_types.size());
    for (std::uint32_t slot = archetype.pod_slots; slot < slots; ++slot) {
      const StoredType& type = *archetype.slot_types[slot];
      const std::uint16_t source = old.column(type.id);
      std::byte* value = to.chunk->slots()[slot].data + std::size_t{to.row} * type.size;
      if (source == no_column)
        type.ops->construct(value);
      else
        type.ops->relocate(value, from.at(source, type.size));
    }
  }
  const MovePlan& plan = move_plan(old, archetype);
  copy_columns(to, from, plan.kept);
  for (const ColumnCopy& value : plan.zeroed) std::memset(to.at(value.to, value.bytes), 0, value.bytes);
  const bool same_group = &old == &archetype && from.chunk->depth == depth;  // asked now: the chunk may go with its row
  if (old.plain())
    take_plain_row(from);
  else
    take_row(from, &archetype);
  // Taking the row may have moved the one just appended, where both are in one group: look it up again.
  return same_group ? find(e) : to;
}

void Storage::set_parent(Row row, Entity parent) {
  touch(*row.chunk, column_parents);
  ++structure_;
  row.chunk->parents()[row.row] = parent;
}

// --- reading saved state back ---

void Storage::restore_ids(GrowingArray<DirectoryEntry> slots, RingQueue<std::uint32_t> free, std::uint64_t retired) {
  id_page_versions_.assign((slots.size() >> id_page_bits) + 1, version_);
  ids_.restore(std::move(slots), std::move(free), retired);
}

Archetype& Storage::restore_archetype(std::uint32_t number, std::span<const TypeId> types) {
  require(number >= archetypes_.size(), "Storage::restore_archetype: numbers must ascend");
  return add_archetype(number, types);
}

Chunk& Storage::restore_chunk(Archetype& archetype, std::uint32_t depth, std::uint64_t uid, std::uint32_t rows) {
  const std::uint32_t place =
      depth < archetype.groups.size() ? static_cast<std::uint32_t>(archetype.groups[depth].chunks.size()) : 0;
  Chunk& chunk = new_chunk(archetype, depth, std::max(rows, chunk_capacity(archetype, place)), uid);
  for (std::uint32_t slot = 0; slot < archetype.slot_types.size(); ++slot) chunk.slots()[slot].version = version_;
  chunk.count = rows;
  each_runtime(chunk, 0, rows, [](const RuntimeOps& ops, void* at) { ops.construct(at); });
  rows_ += rows;
  ++structure_;
  return chunk;
}

bool Storage::place_ids(const Chunk& chunk, std::uint8_t state) noexcept {
  constexpr std::size_t block = 32;
  const std::uint64_t waits = 0x80000000u | state;
  const std::span<const Entity> ids(chunk.ids(), chunk.count);
  const auto locator = [&](std::size_t row) { return chunk.number << 10 | static_cast<std::uint32_t>(row); };
  for (std::size_t row = 0; row < ids.size();) {
    const Entity e = ids[row];
    // Rows that came together have ids in a row: those of a block are compared and written several at a time.
    if (row + block <= ids.size() && e.index + block <= ids_.indices()) {
      DirectoryEntry* const entries = ids_.slots() + e.index;
      std::uint64_t differs = 0;
      for (std::size_t i = 0; i < block; ++i) {
        differs |= locator_of(entries[i], ids[row + i]) ^ waits;
        differs |= ids[row + i].index ^ (e.index + static_cast<std::uint32_t>(i));
      }
      if (differs == 0) {
        for (std::size_t i = 0; i < block; ++i) entries[i].locator = locator(row + i);
        row += block;
        continue;
      }
    }
    if (e.index >= ids_.indices() || locator_of(ids_.slot(e.index), e) != waits) return false;
    ids_.slot(e.index).locator = locator(row++);
  }
  return true;
}

void Storage::restore_counters(std::uint64_t next_chunk_uid, std::uint32_t next_archetype, std::uint64_t version) {
  next_chunk_uid_ = next_chunk_uid;
  if (next_archetype > archetypes_.size()) archetypes_.resize(next_archetype);
  version_ = version;
}

}  // namespace muster
