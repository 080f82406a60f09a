// Ids and rows. storage_archetypes.cc contains component types and archetypes, and
// storage_restore.cc reads saved states.
//
// - Indices are reused through a FIFO, but only while it contains more than 1024. An index whose
//   generations are used up is retired. An id is final when it is issued.
// - Sessions and threads use ids from a Grant, so they do not need a round trip, and a replay
//   produces the same ids. Unused ids are returned by ReturnGrant. Runs of 64 or more are held for
//   later grants, which take the shortest run that is long enough (returned_ids.h). Shorter runs go
//   to the FIFO.
// - Archetype numbers are assigned in the order in which rows need the archetypes, and are never
//   reused. At the end of a call, if there are more than 1024 archetypes without rows, and more
//   than twice as many as those with rows, all archetypes without rows are dropped.
// - An `enableable` component has a second column with 4 bytes per row: 1 if the component is
//   present, and 0 if it is not, in which case the value is zero. This column is moved, saved, and
//   hashed like any other. Bits would require separate code for each of these.
#include "registry/storage/storage.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "messages/require.h"
#include "registry/storage/drawn_ids.h"

namespace muster {

namespace {

/// If `ahead` is true, prefetches `row` and the rows after it; otherwise, prefetches the rows
/// before it. The processor does not prefetch the beginning and end of a chunk's columns, so
/// without this, the first access to each column would have to wait.
void ask_for_rows(const Chunk& chunk, std::uint32_t row, bool ahead) noexcept {
  constexpr std::size_t line = 64, lines = 4;
  const Archetype& archetype = *chunk.archetype;
  for (std::uint32_t slot = 0; slot < archetype.pod_slots; ++slot) {
    const std::byte* const column = chunk.slots()[slot].data;
    const std::size_t size = slot < column_first ? sizeof(Entity) : archetype.slot_bytes[slot];
    if (!column || chunk.capacity * size < lines * line) continue;
    const std::byte* const at = column + row * size - (ahead ? 0 : std::min(row * size, lines * line));
    for (std::size_t i = 0; i < lines; ++i) __builtin_prefetch(at + i * line, 1);
  }
}

}  // namespace

Storage::Storage() : Storage(std::make_shared<ComponentTypes>()) {}

Storage::Storage(std::shared_ptr<ComponentTypes> types) : types_(std::move(types)) {
  types_->storages_.push_back(this);
}

Storage::~Storage() {
  std::erase(types_->storages_, this);
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
  const std::span<const std::uint32_t> queued = ids_.free_queue().run(0);
  if (ids.size() > queued.size() || ids.size() > ids_.recyclable()) [[unlikely]]
    return take_ids_in_parts(ids);
  read_ids(queued.data(), ids.data(), ids.size());
  ids_.take_recycled(ids.size());
}

[[gnu::always_inline]] inline void Storage::read_ids(const std::uint32_t* indices, Entity* out,
                                                     std::size_t count) const noexcept {
  const DirectoryEntry* const directory = ids_.slots();
#pragma GCC unroll 4
  for (std::size_t i = 0; i < count; ++i)
    put_id(out + i, (std::bit_cast<std::uint64_t>(directory[indices[i]]) & generation_mask) | indices[i]);
}

void Storage::take_ids_in_parts(std::span<Entity> ids) {
  const std::size_t recycled = std::min(ids.size(), ids_.recyclable());
  for (std::size_t done = 0; done < recycled;) {
    const std::span<const std::uint32_t> run = ids_.free_queue().run(done);
    const std::size_t count = std::min(run.size(), recycled - done);
    read_ids(run.data(), ids.data() + done, count);
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
  const Locator reserved(IdState::reserved);
  for (const Entity e : ids) {
    ids_.slot(e.index).locator = reserved;
    mark_known_id(e.index);
  }
}

bool Storage::take_given(std::span<const Entity> ids) noexcept {
  if (ids.empty() || !can_be_made(ids.front())) return false;
  DirectoryEntry* const directory = ids_.slots();
  const auto indices = static_cast<std::uint32_t>(ids_.indices());
  const Locator given = directory[ids.front().index].locator, taken(IdState::free);
  for (const Entity& e : ids) {
    const std::uint64_t bits = e.bits();
    const auto index = static_cast<std::uint32_t>(bits);
    // A taken id does not have a state, so the same id cannot be taken twice.
    if (index < indices && std::bit_cast<std::uint64_t>(directory[index]) == ((bits & generation_mask) | given.bits()))
        [[likely]] {
      put_entry(directory, bits, taken);
      continue;
    }
    for (const Entity* back = ids.data(); back != &e; ++back) directory[back->index].locator = given;
    return false;
  }
  return true;
}

void Storage::undraw(const Drawn& before) noexcept {
  const std::size_t recycled = before.free - ids_.free_queue().size();
  ids_.undraw(recycled, ids_.indices() - before.indices);
  for (std::size_t i = 0; i < recycled; ++i) ids_.slot(ids_.free_queue()[i]).locator = Locator(IdState::free);
}

void Storage::undraw_taken(Entity e) noexcept {
  const bool fresh = ids_.slot(e.index).locator == Locator(IdState::reserved);  // as reserve_fresh() leaves it
  ids_.undraw(fresh ? 0 : 1, fresh ? 1 : 0);
}

Entity Storage::reserve_fresh() {
  const Entity e = ids_.create_fresh();
  ids_.slot(e.index).locator = Locator(IdState::reserved);
  mark_id(e.index);
  return e;
}

void Storage::retire_id(Entity e) {
  ids_.slot(e.index).locator = Locator(IdState::free);
  ids_.release_current(e.index);
}

void Storage::set_state(Entity e, IdState state) {
  ids_.slot(e.index).locator = Locator(state);
  mark_id(e.index);
}

void Storage::give_up(Entity e) {
  set_state(e, IdState::free);
  ids_.release(e);
}

std::uint32_t Storage::next_grant(std::uint32_t count) const noexcept {
  const std::uint32_t returned = returned_.find(count);
  return returned ? returned : static_cast<std::uint32_t>(ids_.indices());
}

bool Storage::grant(std::uint32_t first, std::uint32_t count) {
  if (first != next_grant(count)) return false;
  if (first == ids_.indices()) {
    ids_.extend(count);
  } else {
    const std::uint32_t all = returned_.take(first);
    keep_returned(first + count, all - count);
  }
  for (std::uint32_t i = 0; i < count; ++i) set_state({first + i, 1}, IdState::granted);
  return true;
}

void Storage::return_grant(std::uint32_t first, std::uint32_t count) {
  const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{first} + count, ids_.indices());
  std::uint32_t run = 0;
  for (std::uint64_t index = first; index < end; ++index) {
    if (in_state({static_cast<std::uint32_t>(index), 1}, IdState::granted)) {
      ++run;
    } else {
      keep_returned(static_cast<std::uint32_t>(index - run), run);
      run = 0;
    }
  }
  keep_returned(static_cast<std::uint32_t>(end - run), run);
}

void Storage::keep_returned(std::uint32_t first, std::uint32_t count) {
  const bool waits = count >= ReturnedIds::run_min;
  for (std::uint32_t i = 0; i < count; ++i) {
    set_state({first + i, 1}, waits ? IdState::returned : IdState::free);
    if (!waits) ids_.give_back(first + i);
  }
  if (waits) returned_.add(first, count);
}

// --- rows ---

void Storage::first_touch(Chunk& chunk, std::uint32_t slot) {
  if (!preservers_.empty() && slot < chunk.archetype->pod_slots) offer(chunk, slot);
  chunk.slots()[slot].version = version_;
}

void Storage::offer(const Chunk& chunk, std::uint32_t slot) const {
  for (ColumnPreserver* preserver : preservers_) preserver->before_write(chunk, slot);
}

void Storage::first_touch_all(Chunk& chunk) {
  const std::uint32_t count = chunk.archetype->pod_slots;
  const std::uint64_t version = version_;
  ColumnSlot* const slots = chunk.slots();
  if (!preservers_.empty())
    for (std::uint32_t slot = 0; slot < count; ++slot)
      if (slots[slot].version != version) offer(chunk, slot);
  for (std::uint32_t slot = 0; slot < count; ++slot) slots[slot].version = version;
}

Chunk& Storage::new_chunk(Archetype& archetype, std::uint32_t depth, std::uint32_t capacity, std::uint64_t uid) {
  if (depth >= chunks_by_depth_.size()) chunks_by_depth_.resize(std::size_t{depth} + 1);
  ++chunks_by_depth_[depth];
  if (archetype.chunks++ == 0) ++used_archetypes_;
  Group& group = archetype.need_group(depth);
  Chunk* chunk = pool_.make(archetype, depth, capacity);
  chunk->group = &group;
  chunk->uid = uid;
  chunk->place = static_cast<std::uint32_t>(group.chunks.size());
  if (free_chunk_numbers_.empty()) {
    chunk->number = static_cast<std::uint32_t>(chunks_.size());
    require(chunk->number < Locator::chunks_max, "storage: more than two million chunks");
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
  Chunk& chunk =
      new_chunk(archetype, depth, chunk_capacity(archetype, static_cast<std::uint32_t>(place)), next_chunk_uid_++);
  // The columns of expected chunks continue those of the previous chunks, so a prefetch would only
  // interfere.
  if (expected_chunks_ == 0)
    ask_for_rows(chunk, 0, true);
  else
    --expected_chunks_;
  return chunk;
}

Storage::ExpectedRows Storage::expect_rows(const Archetype& archetype, std::uint32_t depth, std::size_t count) {
  std::size_t room = chunk_capacity(archetype, 0);
  if (depth < archetype.groups.size())
    if (const Chunk* const last = archetype.groups[depth].last) room = last->capacity - last->count;
  const std::uint32_t capacity = chunk_capacity(archetype, 1);
  if (count <= room + capacity) return {};
  const std::size_t chunks = (count - room + capacity - 1) / capacity;
  try {
    pool_.expect(archetype, depth, capacity, chunks);
  } catch (...) {
    forget_expected();
    throw;
  }
  if (rows_ + count >= rows_far_away) expected_chunks_ = chunks;
  return ExpectedRows(this);
}

void Storage::forget_expected() noexcept {
  expected_chunks_ = 0;
  pool_.forget_expected();
}

void Storage::complete(Row row) {
  each_runtime(*row.chunk, row.row, row.row + 1, [](const RuntimeOps& ops, void* at) { ops.construct(at); });
  enable_all(*row.chunk, row.row, row.row + 1);
}

Storage::Run Storage::create_run(std::span<const Entity> ids, Archetype& archetype) {
  Chunk& chunk = open_chunk(archetype, 0);
  touch_all(chunk);
  const std::uint32_t begin = chunk.count;
  const Locator first = chunk.locator(begin);
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
  if (archetype.enableable) enable_all(chunk, begin, begin + count);
  add_rows(chunk, count);
  return {&chunk, begin, count};
}

Storage::Run Storage::create_run(std::size_t most, Archetype& archetype, bool far) {
  Chunk& chunk = open_chunk(archetype, 0);
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(chunk.capacity - chunk.count, most));
  if (count > ids_.recyclable()) [[unlikely]] {
    std::array<Entity, chunk_rows_max> ids;
    take_ids(std::span(ids).first(count));
    return create_run(std::span(ids).first(count), archetype);
  }
  touch_all(chunk);
  const std::uint32_t begin = chunk.count;
  const DrawnIds drawn{ids_.slots(), id_page_versions_.data(), version_};
  for (std::uint32_t done = 0; done < count;) {
    const std::span<const std::uint32_t> queued = ids_.free_queue().run(done);
    const auto some = static_cast<std::uint32_t>(std::min<std::size_t>(queued.size(), count - done));
    Entity* const ids = chunk.ids() + begin + done;
    const Locator first = chunk.locator(begin + done);
    if (far && queued.size() >= some + DrawnIds::asked_ahead)
      drawn.draw<true>(queued.data(), some, ids, first);
    else
      drawn.draw<false>(queued.data(), some, ids, first);
    done += some;
  }
  ids_.take_recycled(count);
  if (archetype.enableable) enable_all(chunk, begin, begin + count);
  add_rows(chunk, count);
  return {&chunk, begin, count};
}

void Storage::fill_large_values_of_hole(const Archetype& archetype, Row hole, const Chunk& last,
                                        std::uint32_t from) noexcept {
  fill_values_of_hole<false>(archetype, hole, last, from);
}

void Storage::aim_holes(Group& group) {
  touch_all(*group.last);
  holes_ = {&group, chunk_changes_, group.last};
}

void Storage::rows_left(Group& group) {
  if (group.last->count == 0) return drop_last_chunk(group);
  if (rows_ >= rows_far_away) ask_for_last_rows(*group.last);
}

void Storage::ask_for_ids(const Chunk& near, std::ptrdiff_t ids, std::ptrdiff_t entries) const noexcept {
  constexpr std::uint32_t line = 64 / sizeof(Entity);
  each_near(near, ids, asked_rows, [](const Chunk& of, std::uint32_t begin, std::uint32_t end) {
    for (; begin < end; begin += line) __builtin_prefetch(of.ids() + begin);
  });
  const DirectoryEntry* const directory = ids_.slots();
  each_near(near, entries, asked_rows, [&](const Chunk& of, std::uint32_t begin, std::uint32_t end) {
#pragma GCC unroll 16
    for (; begin < end; ++begin) __builtin_prefetch(directory + of.ids()[begin].index, 1);
  });
}

void Storage::ask_for_last_ids(const Chunk& last) const noexcept {
  const std::ptrdiff_t soon = std::ptrdiff_t{last.count} - asked_rows_ahead;
  ask_for_ids(last, soon - asked_rows_ahead, soon - asked_rows);
}

void Storage::ask_for_last_rows(const Chunk& last) const noexcept {
  ask_for_last_ids(last);
  const Archetype& archetype = *last.archetype;
  const std::ptrdiff_t first = std::ptrdiff_t{last.count} - asked_rows_ahead - asked_rows;
  each_near(last, first, asked_rows, [&](const Chunk& of, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t slot = column_first; slot < archetype.pod_slots; ++slot) {
      constexpr std::size_t line = 64;
      const std::size_t size = archetype.slot_bytes[slot];
      const std::byte* const from = of.slots()[slot].data + begin * size;
      for (std::size_t at = 0; at < (end - begin) * size; at += line) __builtin_prefetch(from + at);
    }
  });
}

void Storage::leave_last_chunk(Group& group) {
  if (--group.last->archetype->chunks == 0) --used_archetypes_;
  --chunks_by_depth_[group.last->depth];
  while (!chunks_by_depth_.empty() && chunks_by_depth_.back() == 0) chunks_by_depth_.pop_back();
  group.chunks.pop_back();
  group.last = group.chunks.empty() ? nullptr : group.chunks.back();
  ++chunk_changes_;
  if (!group.last) return;
  group.rows_before -= group.last->count;
  ask_for_rows(*group.last, group.last->count, false);
}

namespace {

/// Empty groups above this depth remain, so that rows that come and go there need no memory.
constexpr std::size_t groups_kept = 64;

/// Removes the empty groups below the deepest row. Otherwise, a list that a single deep row has
/// made long would remain as long as the archetype.
void drop_empty_groups(Archetype& archetype) {
  std::vector<Group>& groups = archetype.groups;
  while (groups.size() > groups_kept && groups.back().chunks.empty()) groups.pop_back();
  if (groups.capacity() <= 4 * std::max(groups.size(), groups_kept)) return;
  groups.shrink_to_fit();
  for (Group& moved : groups)
    for (Chunk* chunk : moved.chunks) chunk->group = &moved;
}

}  // namespace

void Storage::drop(Chunk& chunk) {
  for (ColumnPreserver* preserver : preservers_) preserver->before_recycle(chunk);
  ++stamp_;
  chunks_[chunk.number] = nullptr;
  free_chunk_numbers_.push_back(chunk.number);
  Archetype& archetype = *chunk.archetype;
  pool_.recycle(&chunk);
  if (archetype.groups.size() > groups_kept) drop_empty_groups(archetype);
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
    ids_.slot(e.index).locator = Locator(IdState::parked);
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
    const std::uint16_t source = &from == &to ? slot : from.slot_of(to.slot_types[slot]->id);
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
  // Compute this value now, because the old chunk may be removed together with the row.
  const bool same_group = &old == &archetype && from.chunk->depth == depth;
  if (old.plain())
    take_plain_row(from);
  else
    take_row(from, &archetype);
  // If both rows are in the same group, removing the old row may have moved the new one, so the new
  // row must be looked up again.
  return same_group ? find(e) : to;
}

void Storage::set_parent(Row row, Entity parent) {
  touch(*row.chunk, column_parents);
  ++structure_;
  row.chunk->parents()[row.row] = parent;
}

}  // namespace muster
