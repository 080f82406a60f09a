// The passive part of a registry: ids, archetypes, chunks, and their versions. Storage is unaware
// of messages; callers change it while applying them. Users access it through EntityRegistry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "registry/storage/ancestors.h"
#include "registry/storage/archetype.h"
#include "registry/storage/component_types.h"
#include "registry/storage/directory.h"
#include "registry/storage/flat_map.h"
#include "registry/storage/returned_ids.h"

namespace muster {

/// Memory is prefetched if a storage has at least this many rows. Smaller storages fit into the
/// last-level cache, where prefetching costs more than waiting (12% in a battle of 100,000 units).
constexpr std::uint64_t rows_far_away = 300'000;

/// The values that a row keeps when it moves to another archetype. Remembered for the next row.
struct MovePlan {
  const Archetype *from = nullptr, *to = nullptr;
  std::uint32_t from_layout = 0, to_layout = 0;
  std::vector<ColumnCopy> kept, zeroed;
};

/// The part of a storage that swap() exchanges: everything except callbacks, logs, and preservers.
/// The members are documented in Storage.
struct StorageContents {
  using Ids = EntityAllocator<DirectoryLayout>;
  Ids ids_;
  ReturnedIds returned_;  // ranges of ids in the state `returned`
  std::vector<std::uint64_t> id_page_versions_;
  std::vector<std::unique_ptr<Archetype>> archetypes_;  // ascending by number
  std::vector<Archetype*> archetype_by_index_;          // null if the index is free
  std::vector<std::uint32_t> free_archetype_indices_;
  std::uint32_t next_archetype_ = 0;
  std::size_t used_archetypes_ = 0;  // number of archetypes with rows
  std::uint64_t archetype_drops_ = 0;
  bool archetypes_came_ = false;
  FlatMap<std::uint64_t, std::uint32_t> archetype_by_hash_;  // hash of types -> index; verified
  std::vector<Archetype*> archetypes_colliding_;
  FlatMap<std::uint64_t, std::uint32_t> edges_;  // index << 33 | type << 1 | (1: with, 0: without) -> index
  ChunkPool pool_;
  std::size_t expected_chunks_ = 0;  // number of new chunks whose columns continue others
  std::vector<Chunk*> chunks_;       // indexed by number
  std::vector<std::uint32_t> free_chunk_numbers_;
  std::uint64_t next_chunk_uid_ = 1, version_ = 1, rows_ = 0;
  // Separates two members that every row changes, so that compilers do not combine them.
  std::uint64_t chunk_changes_ = 1;
  std::uint64_t structure_ = 0, stamp_ = 1, presences_ = 0;
  // One element per depth that has rows. Depths have no gaps, because ancestors have rows, too.
  std::vector<std::uint32_t> chunks_by_depth_;
  MovePlan move_plan_;
};

class Storage : private StorageContents {
 public:
  /// Creates a storage with its own component types.
  Storage();
  /// Creates a storage that shares the component types of other storages.
  explicit Storage(std::shared_ptr<ComponentTypes> types);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  /// Exchanges ids, archetypes, and rows with a storage that has the same component types.
  /// Callbacks, logs, and preservers are not exchanged. All outgoing chunks are offered to this
  /// storage's preservers as if they were recycled. Afterward, version(), stamp(), chunk_changes(),
  /// structure(), and archetype_drops() return greater numbers than ever before for this storage,
  /// so that code that compares them detects a change.
  void swap(Storage& other);

  // --- ids ---
  using StorageContents::Ids;
  const Ids& ids() const noexcept { return ids_; }
  /// Reads a single array element.
  bool alive(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    return entry < ids_.slots_end() && locator_of(*entry, e) < Locator::no_row;
  }
  /// Returns the bits() of a live entity's Locator. For other ids, returns Locator::no_row or more.
  [[gnu::always_inline]] std::uint64_t locate(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    return entry < ids_.slots_end() ? locator_of(*entry, e) : ~std::uint64_t{0};
  }
  /// Returns the row at a place that locate() returned for a live entity.
  [[gnu::always_inline]] Row row_at(std::uint64_t place) const noexcept {
    return {chunks_[place >> Locator::row_bits], static_cast<std::uint32_t>(place) & (Locator::rows_max - 1)};
  }
  /// Returns the row of a live entity, or a null Row for other ids.
  Row find(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    if (entry >= ids_.slots_end() || entry->generation != e.generation) return {};
    // An id without a row is rare: it was issued, but its Create has not been delivered yet.
    const Locator locator = entry->locator;
    if (!locator.has_row()) [[unlikely]]
      return {};
    Chunk* const chunk = chunks_[locator.chunk()];
    if (!chunk) __builtin_unreachable();
    return {chunk, locator.row()};
  }
  /// Issues a new id in the state `reserved`.
  Entity reserve() {
    if (ids_.recyclable() == 0) [[unlikely]]
      return reserve_fresh();
    const std::uint32_t index = ids_.free_queue().front();
    ids_.take_recycled(1);
    DirectoryEntry& entry = ids_.slot(index);
    entry.locator = Locator(IdState::reserved);
    mark_known_id(index);
    return {index, entry.generation};
  }
  /// Fills `ids` with new ids in the state `reserved`.
  void reserve(std::span<Entity> ids);
  /// A position in the sequence of issued ids (reserve, take_ids). undraw() takes back all ids
  /// issued after that position. Since then, no id may have been released or created.
  struct Drawn {
    std::size_t indices, free;
  };
  Drawn drawn() const noexcept { return {ids_.indices(), ids_.free_queue().size()}; }
  void undraw(const Drawn& before) noexcept;
  /// True if `e` is a current id that does not have a row and is in this state.
  bool in_state(Entity e, IdState state) const noexcept {
    return ids_.current(e) && ids_.slot(e.index).locator == Locator(state);
  }
  /// True if `e` may be created because its state is reserved or granted.
  bool can_be_made(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    return entry < ids_.slots_end() && entry->generation == e.generation && entry->locator.can_be_made();
  }
  /// Returns the first index of the next grant of `count` ids. The index is in a returned range if
  /// one is large enough. Otherwise, it equals ids().indices().
  std::uint32_t next_grant(std::uint32_t count) const noexcept;
  const ReturnedIds& returned_ids() const noexcept { return returned_; }
  std::uint64_t id_page_version(std::uint32_t page) const noexcept {
    return page < id_page_versions_.size() ? id_page_versions_[page] : 0;
  }

  // --- component types and archetypes ---
  const std::shared_ptr<ComponentTypes>& types() const noexcept { return types_; }
  const StoredType* component(TypeId type) const noexcept { return types_->find(type); }
  std::span<const std::unique_ptr<StoredType>> components() const noexcept { return types_->all(); }
  /// Returns the archetypes, in ascending order of their numbers.
  std::span<const std::unique_ptr<Archetype>> archetypes() const noexcept { return archetypes_; }
  /// Returns the archetype with this number, or null.
  Archetype* archetype_numbered(std::uint64_t number) const noexcept;
  /// True if archetypes were added since the previous call of this function. Called at the end of
  /// push, flush, and advance.
  bool archetypes_came() noexcept { return std::exchange(archetypes_came_, false); }
  /// Drops all archetypes without rows if there are more than 1024 of them and more than twice as
  /// many as those with rows. Their numbers are not reused. Calls on_drop first, for code that
  /// remembers archetypes. Returns true if any archetype was dropped.
  bool drop_idle_archetypes();
  /// Changes whenever archetypes are dropped.
  std::uint64_t archetype_drops() const noexcept { return archetype_drops_; }
  /// Returns the number of depths that have rows.
  std::uint32_t depths() const noexcept { return static_cast<std::uint32_t>(chunks_by_depth_.size()); }

  // --- rows ---
  /// Rows remain expected until this object is destroyed.
  class ExpectedRows {
   public:
    ExpectedRows() = default;
    ~ExpectedRows() {
      if (storage_) storage_->forget_expected();
    }
    ExpectedRows(const ExpectedRows&) = delete;
    ExpectedRows& operator=(const ExpectedRows&) = delete;

   private:
    friend class Storage;
    explicit ExpectedRows(Storage* storage) : storage_(storage) {}
    Storage* storage_ = nullptr;
  };
  /// Announces that the next `count` rows belong to this archetype, and that no others are added
  /// during the lifetime of the result. New chunks for these rows get contiguous memory.
  [[nodiscard]] ExpectedRows expect_rows(const Archetype& archetype, std::uint32_t depth, std::size_t count);
  /// True if the archetype is plain() and its open chunk has room for `count` more rows.
  bool has_room(const Archetype& archetype, std::uint32_t depth, std::size_t count) const noexcept {
    if (depth >= archetype.groups.size() || !archetype.plain()) return false;
    const Chunk* const last = archetype.groups[depth].last;
    return last && last->capacity - last->count >= count;
  }
  /// Consecutive rows of a single chunk.
  struct Run {
    Chunk* chunk;
    std::uint32_t begin, count;
  };
  /// The chunk that receives the rows of an archetype, and the chunk whose rows fill the holes.
  /// Both belong to plain() archetypes, are at depth 0, and have been touched.
  struct MoveAim {
    /// `open` is a chunk of the other archetype and has free rows. `last` is the last of its group.
    Chunk *open = nullptr, *last = nullptr;
    Entity *open_ids = nullptr, *last_ids = nullptr;
    std::uint32_t open_first = 0, last_first = 0;  ///< bits() of the locators of their first rows
  };
  /// Changes whenever a chunk is added, removed, or laid out again, or a version begins. Code that
  /// remembers an open chunk compares this number.
  std::uint64_t chunk_changes() const noexcept { return chunk_changes_; }
  /// Prefetches `asked_rows` rows some distance before the last row of a group's last chunk, and
  /// the directory entries of their ids. These rows will soon fill holes, and the processor does
  /// not detect backward reads. Useful for registries with at least rows_far_away rows.
  void ask_for_last_rows(const Chunk& last) const noexcept;
  /// Like ask_for_last_rows(), but prefetches only the ids and directory entries.
  void ask_for_last_ids(const Chunk& last) const noexcept;
  /// Prefetches the ids of `asked_rows` rows, starting at `ids`. Also prefetches the directory
  /// entries of the same number of rows, starting at `entries`, whose ids must already have been
  /// prefetched. Both positions are counted from the first row of `near`, as in each_near().
  void ask_for_ids(const Chunk& near, std::ptrdiff_t ids, std::ptrdiff_t entries) const noexcept;
  static constexpr std::uint32_t asked_rows = 16;
  /// The number of rows between a prefetch and its use. It is large enough for the prefetch to
  /// finish and small enough for the memory to remain cached.
  static constexpr std::uint32_t asked_rows_ahead = 32;
  /// True if the ids of removed rows are logged.
  bool logs_destroyed() const noexcept { return destroyed_ != nullptr; }
  /// Appends the ids of removed rows to `log` from now on, or stops doing so if null.
  void log_destroyed(std::vector<Entity>* log) noexcept { destroyed_ = log; }

  // --- versions ---
  /// Must be called before every write to a column. Sets the version of the column to the current
  /// one, and lets each ColumnPreserver preserve the old bytes.
  void touch(Chunk& chunk, std::uint32_t slot) {
    if (chunk.slots()[slot].version != version_) [[unlikely]]
      first_touch(chunk, slot);
  }
  std::uint64_t version() const noexcept { return version_; }
  /// Starts a new version: later writes get a version greater than the one returned.
  std::uint64_t begin_version() noexcept {
    ++stamp_;
    ++chunk_changes_;
    return version_++;
  }
  /// Changes whenever a chunk is dropped or laid out again, or a version begins; never 0. Until it
  /// changes, chunk numbers and column addresses remain valid, and touched columns stay touched.
  std::uint64_t stamp() const noexcept { return stamp_; }
  /// Calls the preserver until it is removed. There may be several preservers.
  void add_preserver(ColumnPreserver& preserver) { preservers_.push_back(&preserver); }
  void remove_preserver(ColumnPreserver& preserver) noexcept { std::erase(preservers_, &preserver); }
  /// Calls before_exchange() of all preservers except `by`.
  void tell_exchange(const ColumnPreserver* by = nullptr) {
    const std::vector<ColumnPreserver*> told = preservers_;
    for (ColumnPreserver* preserver : told)
      if (preserver != by) preserver->before_exchange();
  }

  Chunk* chunk(std::uint32_t number) const noexcept { return chunks_[number]; }
  std::uint32_t chunk_numbers() const noexcept { return static_cast<std::uint32_t>(chunks_.size()); }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Returns the number of bytes allocated for chunks, including memory held for new ones.
  std::size_t chunk_bytes() const noexcept { return pool_.bytes(); }
  /// structure() changes whenever a row is added, removed, moved, or given another parent, and
  /// presences() whenever a row gains or loses an enableable type without being moved.
  std::uint64_t structure() const noexcept { return structure_; }
  std::uint64_t presences() const noexcept { return presences_; }

  // --- restoring a saved state ---
  /// Sets the version of later writes. The storage must be empty.
  void restore_version(std::uint64_t version) noexcept { version_ = version; }
  void restore_ids(GrowingArray<DirectoryEntry> slots, RingQueue<std::uint32_t> free, std::uint64_t retired);
  /// Adds an archetype with this number. Numbers must be in ascending order and may have gaps.
  Archetype& restore_archetype(std::uint32_t number, std::span<const TypeId> types);
  /// Appends a chunk of `rows` rows to its group. The caller must fill its columns and then call
  /// place_ids.
  Chunk& restore_chunk(Archetype& archetype, std::uint32_t depth, std::uint64_t uid, std::uint32_t rows);
  /// Sets the directory entries of the chunk's rows. Their ids must be in `state`, so that no id
  /// gets two rows. At the first id in another state, stops and returns false; the entries of the
  /// preceding rows have then been set.
  bool place_ids(const Chunk& chunk, IdState state) noexcept;
  std::uint64_t next_chunk_uid() const noexcept { return next_chunk_uid_; }
  std::uint32_t next_archetype() const noexcept { return next_archetype_; }
  void restore_counters(std::uint64_t next_chunk_uid, std::uint32_t next_archetype);

  /// Called with every new archetype, so that handlers can bind to its columns.
  void (*on_archetype)(void* context, Archetype&) = nullptr;
  void* on_archetype_context = nullptr;
  /// Called with on_archetype_context and each archetype whose slots were reassigned.
  void (*on_layout)(void* context, Archetype&) = nullptr;
  /// Called with on_archetype_context and archetypes that are about to be dropped.
  void (*on_drop)(void* context, std::span<Archetype* const>) = nullptr;

 protected:
  // --- writing structure: reserved for Structure, for all messages, and for HostCall, for some of
  // the host's own calls. Messages from sessions reach these functions only through Structure
  // (registry/apply/structure.h), so a log of edits sees all of them there. ---

  // Ids.
  /// Issues new ids that do not have a state. create_run or create_plain must be called before any
  /// other code reads them.
  void take_ids(std::span<Entity> ids);
  [[gnu::always_inline]] Entity take_id() {
    if (ids_.recyclable() == 0) [[unlikely]]
      return reserve_fresh();
    const std::uint32_t index = ids_.free_queue().front();
    ids_.take_recycled(1);
    return {index, ids_.slot(index).generation};
  }
  /// Undoes take_id(), in the same way as undraw().
  void undraw_taken(Entity e) noexcept;
  /// Takes ids that may be created. Afterward, they do not have a state, like those from
  /// take_ids(). Returns false and has no effect if an id may not be created, occurs twice, or is
  /// not in the same state as the first.
  bool take_given(std::span<const Entity> ids) noexcept;
  void set_state(Entity e, IdState state);
  /// Takes back a reserved id that will never be created.
  void give_up(Entity e);
  /// Releases a parked id, as if its entity had been destroyed now.
  void release_parked(Entity e) {
    free_id(e);
    mark_known_id(e.index);
  }
  /// Puts the never-used indices [first, first + count) in the state `granted`. Returns false and
  /// has no effect if `first` is not next_grant(count).
  bool grant(std::uint32_t first, std::uint32_t count);
  /// Takes back those of the granted indices [first, first + count) that are unused. Runs of at
  /// least ReturnedIds::run_min are held for later grants; shorter runs go to the FIFO.
  void return_grant(std::uint32_t first, std::uint32_t count);

  // Archetypes. Their numbers are part of the state.
  /// Returns the archetype of `types`, creating it if necessary. The types must be ascending,
  /// distinct, and already added.
  Archetype& archetype(std::span<const TypeId> types);
  Archetype& with(Archetype& archetype, TypeId type);
  Archetype& without(Archetype& archetype, TypeId type);

  // Rows.
  /// Appends a row for `e`, whose state must be reserved, granted, or parked. The caller must fill
  /// all component columns. All types are marked as present in the presence columns.
  [[gnu::always_inline]] Row create(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent) {
    mark_known_id(e.index);
    const Row row = append(e, open_chunk(archetype, depth), parent);
    if (!archetype.simple) [[unlikely]]
      complete(row);
    return row;
  }
  /// Appends a row for `e` to a chunk of a plain() archetype at depth 0, and returns its number.
  /// The chunk must have room. The caller must fill all columns.
  [[gnu::always_inline]] std::uint32_t create_plain(Entity e, Chunk& open) {
    mark_known_id(e.index);
    return append_id(e, open).row;
  }
  /// Appends rows at depth 0 for the first of `ids`, which must be from take_ids(). Appends only
  /// the rows that fit into the open chunk of a plain() archetype, but at least one. The rows have
  /// all types of the archetype.
  Run create_run(std::span<const Entity> ids, Archetype& archetype);
  /// Like create_run() above, but for up to `count` new ids, which are issued as by take_ids() and
  /// written to the rows. If `far` is true, prefetches the directory.
  Run create_run(std::size_t count, Archetype& archetype, bool far);
  /// Returns the chunk in which the next row of a group will be placed.
  Chunk& open_chunk(Archetype& archetype, std::uint32_t depth) {
    if (depth < archetype.groups.size()) [[likely]] {
      Chunk* const last = archetype.groups[depth].last;
      if (last && last->count < last->capacity) [[likely]]
        return *last;
    }
    return open_new_chunk(archetype, depth);
  }
  /// Removes the row and releases the id, or parks the id if `park` is true. The last row of the
  /// group fills the hole.
  void destroy(Entity e, bool park = false) { destroy(find(e), park); }
  void destroy(Row row, bool park = false);
  /// Removes the row of `e` in a plain() archetype and releases the id. Inlined into loops.
  [[gnu::always_inline]] void destroy_plain(Row row, Entity e) {
    if (destroyed_) [[unlikely]]
      log_destroyed(e);
    take_plain_row(row);
    free_id(e);
    mark_known_id(e.index);
  }
  MoveAim aim_moves(Chunk& open, Chunk& last) {
    touch_all(open);
    touch_all(last);
    return {&open, &last, open.ids(), last.ids(), open.locator(0).bits(), last.locator(0).bits()};
  }
  /// Touches all columns of a chunk.
  void touch_chunk(Chunk& chunk) { touch_all(chunk); }
  /// Moves the row of `e` out of `old`, a touched chunk of the group that `aim` fills. `place`
  /// holds the bits of its Locator. The group's last row fills the hole. `copy<fills>(row, old,
  /// hole, last_row)` copies the values that the new row keeps and, if `fills`, the last row's
  /// values into the hole. Returns the new row's number. Equivalent to append() and
  /// take_plain_row(), but its only call is at the end, so no registers are saved.
  template <class Copy>
  [[gnu::always_inline]] std::uint32_t move_plain(Entity e, Chunk& old, std::uint32_t place, const MoveAim& aim,
                                                  Copy copy) {
    const std::uint32_t row = aim.open->count, last = aim.last->count - 1;
    aim.open->count = row + 1;
    aim.last->count = last;
    structure_ += 2;
    put_id(aim.open_ids + row, e.bits());
    ids_.slot(e.index).locator = Locator::from_bits(aim.open_first + row);
    const std::uint32_t hole = place & (Locator::rows_max - 1);
    if (place != aim.last_first + last) {
      const Entity filler = aim.last_ids[last];
      old.ids()[hole] = filler;
      ids_.slot(filler.index).locator = Locator::from_bits(place);
      copy.template operator()<true>(row, old, hole, last);
    } else {
      copy.template operator()<false>(row, old, hole, last);
    }
    return last == 0 ? drop_last_chunk_and_give(*aim.last->group, row) : row;
  }
  /// Removes a row of a plain() archetype but keeps its id. The group's last row fills the hole.
  [[gnu::always_inline]] void take_plain_row(Row gone) {
    Group& group = *gone.chunk->group;
    if (holes_.group != &group || holes_.changes != chunk_changes_) [[unlikely]]
      aim_holes(group);
    // Use this chunk instead of the group's own, so that the row that fills the hole does not have
    // to wait for the lookup of the removed row's chunk.
    Chunk& last = *holes_.last;
    const std::uint32_t from = last.count - 1;
    if (gone.chunk != &last || gone.row != from) {
      if (gone.chunk != &last) touch_all(*gone.chunk);
      fill_hole(*gone.chunk->archetype, gone, last, from);
    }
    last.count = from;
    --rows_;
    ++structure_;
    if (from % asked_rows == 0) [[unlikely]]
      rows_left(group);
  }
  /// Moves the row of `e` and returns the new row. Columns that exist in both archetypes keep their
  /// values. All others are set to zero, so new enableable types are still absent.
  Row move(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent);
  /// Gives a row an enableable type of its archetype, identified by the slot of its presence
  /// column. If the row was just appended, the old presence may have any value.
  [[gnu::always_inline]] void enable(Row row, std::uint16_t presence) {
    if (row.presence(presence) == 1) return;
    touch(*row.chunk, presence);
    ++presences_;
    row.presence(presence) = 1;
  }
  /// Removes the type from the row. `column` contains its values, or is no_column for a tag.
  [[gnu::always_inline]] void disable(Row row, std::uint16_t presence, std::uint16_t column, std::uint32_t size) {
    touch(*row.chunk, presence);
    ++presences_;
    row.presence(presence) = 0;
    if (column == no_column) return;
    touch(*row.chunk, column);
    std::memset(row.at(column, size), 0, size);
  }
  void set_parent(Row row, Entity parent);

 private:
  friend class Structure;   // registry/apply/structure.h
  friend class HostCall;    // registry/delivery/host_call.h
  friend struct OpenChunk;  // registry/apply/row_sites.h, for HostCall
  friend struct MoveSite;   //
  friend class BulkRows;    // for Structure
  friend class TreeRows;    //
  friend class ComponentTypes;
  friend class RowKeeper;  // registry/moments/row_moment.h
  friend class RowReturn;  // registry/moments/row_return.h
  friend class IdMoments;  // registry/moments/id_moments.h
  static void put_id(Entity* to, std::uint64_t id) noexcept { std::memcpy(static_cast<void*>(to), &id, sizeof id); }
  [[gnu::noinline]] void log_destroyed(Entity e) { destroyed_->push_back(e); }
  [[gnu::always_inline]] void free_id(Entity e) {
    if (e.generation == DirectoryLayout::generation_last) [[unlikely]]
      return retire_id(e);
    put_entry(ids_.slots(), e.bits() + next_generation, Locator(IdState::free));
    ids_.give_back(e.index);
  }
  void read_ids(const std::uint32_t* indices, Entity* out, std::size_t count) const noexcept;
  /// Like take_ids(), but for ids that are not contiguous in the queue.
  void take_ids_in_parts(std::span<Entity> ids);
  static constexpr std::uint64_t next_generation = std::uint64_t{1} << 32;
  void retire_id(Entity e);
  void keep_returned(std::uint32_t first, std::uint32_t count);
  Entity reserve_fresh();
  void first_touch(Chunk& chunk, std::uint32_t slot);
  /// Offers a column to all preservers.
  void offer(const Chunk& chunk, std::uint32_t slot) const;
  void mark_id(std::uint32_t index) {
    const std::uint32_t page = index >> id_page_bits;
    if (page >= id_page_versions_.size()) id_page_versions_.resize(page + 1);
    id_page_versions_[page] = version_;
  }
  void mark_ids(std::span<const Entity> ids);
  /// Like mark_id(), but for an index that is already marked, as every issued index is.
  void mark_known_id(std::uint32_t index) noexcept { id_page_versions_[index >> id_page_bits] = version_; }
  void place_id(std::uint32_t index, const Chunk& chunk, std::uint32_t row) noexcept {
    ids_.slot(index).locator = chunk.locator(row);
  }
  Archetype& add_archetype(std::uint32_t number, std::span<const TypeId> types);
  Chunk& open_new_chunk(Archetype& archetype, std::uint32_t depth);
  /// Constructs the runtime values of a new row and sets its presence columns.
  void complete(Row row);
  void forget_expected() noexcept;
  Chunk& new_chunk(Archetype& archetype, std::uint32_t depth, std::uint32_t capacity, std::uint64_t uid);
  [[gnu::always_inline]] Row append(Entity e, Chunk& chunk, Entity parent) {
    const Row row = append_id(e, chunk);
    if (chunk.depth) chunk.parents()[row.row] = parent;
    return row;
  }
  [[gnu::always_inline]] Row append_id(Entity e, Chunk& chunk) {
    touch_all(chunk);
    const std::uint32_t row = chunk.count++;
    const std::uint64_t id = e.bits();
    put_id(chunk.ids() + row, id);
    put_entry(ids_.slots(), id, chunk.locator(row));
    ++rows_;
    ++structure_;
    return {&chunk, row};
  }
  void add_rows(Chunk& chunk, std::uint32_t count) noexcept {
    chunk.count += count;
    rows_ += count;
    ++structure_;
  }
  void lay_out(Archetype& archetype);
  void lay_out_again(Archetype& archetype);
  /// Destroys the values of a runtime type. Must be called before the functions of the type change.
  void destroy_values(const StoredType& type);
  /// Must be called when the size of a type's values has changed.
  void lay_out_again(TypeId type);
  /// Offers to the preservers all columns that they have not preserved yet.
  void leave_to_preservers();
  /// Removes a row and destroys its runtime values, except those of types in `kept`, which have
  /// been relocated.
  void take_row(Row row, const Archetype* kept = nullptr);
  /// Copies the bytes of row `from` of the group's last chunk into `hole`.
  [[gnu::always_inline]] void fill_hole(const Archetype& archetype, Row hole, const Chunk& last, std::uint32_t from) {
    const Entity filler = last.ids()[from];
    hole.chunk->ids()[hole.row] = filler;
    if (last.depth) hole.chunk->parents()[hole.row] = last.parents()[from];
    if (archetype.small_values) [[likely]]
      fill_values_of_hole<true>(archetype, hole, last, from);
    else
      fill_large_values_of_hole(archetype, hole, last, from);
    place_id(filler.index, *hole.chunk, hole.row);
  }
  template <bool small>
  [[gnu::always_inline]] static void fill_values_of_hole(const Archetype& archetype, Row hole, const Chunk& last,
                                                         std::uint32_t from) noexcept {
    const ColumnSlot* to = hole.chunk->slots() + column_first;
    const ColumnSlot* source = last.slots() + column_first;
    const std::uint32_t* bytes = archetype.slot_bytes.data() + column_first;
    for (const std::uint32_t* const end = archetype.slot_bytes.data() + archetype.pod_slots; bytes != end; ++bytes)
      copy_value<small>(to++->data, hole.row, source++->data, from, *bytes);
  }
  static void fill_large_values_of_hole(const Archetype& archetype, Row hole, const Chunk& last,
                                        std::uint32_t from) noexcept;
  void drop_last_chunk(Group& group) {
    Chunk& last = *group.last;
    leave_last_chunk(group);
    drop(last);
  }
  [[gnu::noinline]] std::uint32_t drop_last_chunk_and_give(Group& group, std::uint32_t row) {
    drop_last_chunk(group);
    return row;
  }
  /// The group in which a hole was most recently filled, and its last chunk, which is touched.
  /// Valid as long as chunk_changes() does not change.
  struct Holes {
    const Group* group = nullptr;
    std::uint64_t changes = 0;
    Chunk* last = nullptr;
  };
  [[gnu::noinline]] void aim_holes(Group& group);
  /// Must be called when the number of rows remaining in a group's last chunk is 0 or a multiple of
  /// asked_rows.
  [[gnu::noinline]] void rows_left(Group& group);
  void leave_last_chunk(Group& group);
  void drop(Chunk& chunk);
  const MovePlan& move_plan(const Archetype& from, const Archetype& to) {
    const MovePlan& plan = move_plan_;
    if (plan.from != &from || plan.to != &to || plan.from_layout != from.layout || plan.to_layout != to.layout)
        [[unlikely]]
      make_move_plan(from, to);
    return plan;
  }
  void make_move_plan(const Archetype& from, const Archetype& to);
  void touch_all(Chunk& chunk) {
    // Ids are touched only in this function. If they have the current version, so do all columns.
    if (chunk.slots()[column_ids].version != version_) [[unlikely]]
      first_touch_all(chunk);
  }
  void first_touch_all(Chunk& chunk);

  void know_archetype(Archetype& archetype);
  /// Finds archetypes by their types again, after some were dropped or inserted.
  void know_archetypes();
  /// Drops archetypes, none of which has rows.
  void drop_archetypes(std::span<Archetype* const> leaving);
  static constexpr std::size_t idle_archetypes_max = 1024;
  std::shared_ptr<ComponentTypes> types_;
  std::vector<ColumnPreserver*> preservers_;
  std::vector<Entity>* destroyed_ = nullptr;
  Holes holes_;
};

inline bool is_alive(const Storage& storage, Entity e) noexcept { return storage.alive(e); }

}  // namespace muster
