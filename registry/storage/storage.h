// The passive half of a registry: ids, archetypes, chunks and their versions. It knows no messages; what changes it
// acts for one. Users go through EntityRegistry.
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

/// From so many rows on memory is asked for in steps. Fewer lie in the processor's last cache, where asking costs more than waiting: 12 % of a
/// battle of 100,000 units.
constexpr std::uint64_t rows_far_away = 300'000;

/// Keeps old bytes: Storage calls it before a column changes for the first time since Storage::begin_version. Called by the thread that
/// owns the storage.
class ColumnPreserver {
 public:
  virtual ~ColumnPreserver() = default;
  /// The chunk's rows and their count are as they were, and the slot still has its old version.
  virtual void before_write(const Chunk& chunk, std::uint32_t slot) = 0;
  /// Called before a chunk's memory is given to others, whether its columns were preserved or not: because the chunk goes, or because its
  /// rows were laid out anew in other memory, which a chunk of the same uid has from then on.
  virtual void before_recycle(const Chunk& chunk) = 0;
};

/// Which values a row keeps on its way from one archetype to another; remembered for the next row.
struct MovePlan {
  const Archetype *from = nullptr, *to = nullptr;
  std::uint32_t from_layout = 0, to_layout = 0;
  std::vector<ColumnCopy> kept, zeroed;
};

/// What two storages exchange when they swap: all that is not wiring. Storage says what the members mean.
struct StorageContents {
  using Ids = EntityAllocator<DirectoryLayout>;
  Ids ids_;
  ReturnedIds returned_;  // as the directory's states say
  std::vector<std::uint64_t> id_page_versions_;
  std::vector<std::unique_ptr<Archetype>> archetypes_;  // ascending by number
  std::vector<Archetype*> archetype_by_index_;          // null: free
  std::vector<std::uint32_t> free_archetype_indices_;
  std::uint32_t next_archetype_ = 0;
  std::size_t used_archetypes_ = 0;  // that have rows
  std::uint64_t archetype_drops_ = 0;
  bool archetypes_came_ = false;
  FlatMap<std::uint64_t, std::uint32_t> archetype_by_hash_;  // hash of types -> index; verified
  std::vector<Archetype*> archetypes_colliding_;
  FlatMap<std::uint64_t, std::uint32_t> edges_;  // index << 33 | type << 1 | (1: with, 0: without) -> index
  ChunkPool pool_;
  std::size_t expected_chunks_ = 0;  // whose columns go on where others end
  std::vector<Chunk*> chunks_;       // by number
  std::vector<std::uint32_t> free_chunk_numbers_;
  std::uint64_t next_chunk_uid_ = 1;
  std::uint64_t version_ = 1;
  std::uint64_t rows_ = 0;
  // Between the two that each row changes, which compilers would put into one register of 16 bytes.
  std::uint64_t chunk_changes_ = 1;
  std::uint64_t structure_ = 0;
  std::uint64_t stamp_ = 1;
  std::vector<std::uint32_t> chunks_by_depth_;  // as deep as there are rows, which have ancestors at all depths above
  MovePlan move_plan_;
};

class Storage : private StorageContents {
 public:
  /// With component types of its own.
  Storage();
  /// With those that other storages share.
  explicit Storage(std::shared_ptr<ComponentTypes> types);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  /// Exchanges ids, archetypes and rows with a storage of the same component types. Callbacks, logs and preservers stay
  /// where they are; this one's preservers are offered all that leaves, as if it were recycled. Afterwards version(),
  /// stamp(), chunk_changes(), structure() and archetype_drops() are greater than they ever were here, so that whatever
  /// compares them finds that everything changed.
  void swap(Storage& other);

  // --- ids ---
  using StorageContents::Ids;
  const Ids& ids() const noexcept { return ids_; }
  /// One array read.
  bool alive(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    return entry < ids_.slots_end() && locator_of(*entry, e) < Locator::no_row;
  }
  /// The bits() of a live entity's Locator; of others a number that is no less than Locator::no_row.
  [[gnu::always_inline]] std::uint64_t locate(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    return entry < ids_.slots_end() ? locator_of(*entry, e) : ~std::uint64_t{0};
  }
  /// The row at a place that locate() gave of a live entity.
  [[gnu::always_inline]] Row row_at(std::uint64_t place) const noexcept {
    Chunk* const chunk = chunks_[place >> Locator::row_bits];
    if (!chunk) __builtin_unreachable();
    return {chunk, static_cast<std::uint32_t>(place) & (Locator::rows_max - 1)};
  }
  /// The row of a live entity; a null Row otherwise.
  Row find(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    if (entry >= ids_.slots_end() || entry->generation != e.generation) return {};
    // No row is rare here: an id given out and not created yet.
    const Locator locator = entry->locator;
    if (!locator.has_row()) [[unlikely]]
      return {};
    Chunk* const chunk = chunks_[locator.chunk()];
    if (!chunk) __builtin_unreachable();
    return {chunk, locator.row()};
  }
  /// A new id in state `reserved`.
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
  /// Fills `ids` with new ids in state `reserved`.
  void reserve(std::span<Entity> ids);
  /// Gives new ids that are in no state: create_run or create_plain must follow before anything else looks at them.
  void take_ids(std::span<Entity> ids);
  [[gnu::always_inline]] Entity take_id() {
    if (ids_.recyclable() == 0) [[unlikely]]
      return reserve_fresh();
    const std::uint32_t index = ids_.free_queue().front();
    ids_.take_recycled(1);
    return {index, ids_.slot(index).generation};
  }
  /// How far ids were drawn (reserve, take_ids), and that those drawn since then were not: nothing was released or created since.
  struct Drawn {
    std::size_t indices, free;
  };
  Drawn drawn() const noexcept { return {ids_.indices(), ids_.free_queue().size()}; }
  void undraw(const Drawn& before) noexcept;
  /// Undoes take_id(), likewise.
  void undraw_taken(Entity e) noexcept;
  /// Whether `e` is current and has no row because of this state.
  bool in_state(Entity e, IdState state) const noexcept {
    return ids_.current(e) && ids_.slot(e.index).locator == Locator(state);
  }
  /// Whether `e` may be created: its state is reserved or granted.
  bool can_be_made(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    return entry < ids_.slots_end() && entry->generation == e.generation && entry->locator.can_be_made();
  }
  /// Takes ids that may be created out of their state, as take_ids() gives them. False, and nothing done, where one may not be created, is
  /// there twice, or has another state than the first.
  bool take_given(std::span<const Entity> ids) noexcept;
  void set_state(Entity e, IdState state);
  /// Takes back a reserved id that will never be created.
  void give_up(Entity e);
  /// Where a grant of so many ids begins: in a range that came back, else at ids().indices().
  std::uint32_t next_grant(std::uint32_t count) const noexcept;
  /// Brings the never-used indices [first, first + count) into state `granted`. False, and nothing done, where `first` is not
  /// next_grant(count).
  bool grant(std::uint32_t first, std::uint32_t count);
  /// Takes back those of the indices [first, first + count) that were granted and not used: runs of ReturnedIds::run_min or more
  /// wait for the next grants, shorter ones go into the FIFO.
  void return_grant(std::uint32_t first, std::uint32_t count);
  const ReturnedIds& returned_ids() const noexcept { return returned_; }
  std::uint64_t id_page_version(std::uint32_t page) const noexcept {
    return page < id_page_versions_.size() ? id_page_versions_[page] : 0;
  }

  // --- component types and archetypes ---
  const std::shared_ptr<ComponentTypes>& types() const noexcept { return types_; }
  const StoredType* component(TypeId type) const noexcept { return types_->find(type); }
  std::span<const std::unique_ptr<StoredType>> components() const noexcept { return types_->all(); }
  /// The archetype of `types`, which are ascending, without doubles, and all added before. Creates it if there is none.
  Archetype& archetype(std::span<const TypeId> types);
  Archetype& with(Archetype& archetype, TypeId type);
  Archetype& without(Archetype& archetype, TypeId type);
  /// Ascending by number.
  std::span<const std::unique_ptr<Archetype>> archetypes() const noexcept { return archetypes_; }
  /// By its number; null where there is none of it (any more).
  Archetype* archetype_numbered(std::uint64_t number) const noexcept;
  /// Whether archetypes came since this was answered last; for whoever ends a call from outside.
  bool archetypes_came() noexcept { return std::exchange(archetypes_came_, false); }
  /// Drops all archetypes without rows, where there are more than 1024 of them and more than twice as many as those with rows; their
  /// numbers are not given again. Nobody may hold one: what remembers some is told by on_drop. True: some were dropped.
  bool drop_idle_archetypes();
  /// Changes whenever archetypes were dropped.
  std::uint64_t archetype_drops() const noexcept { return archetype_drops_; }
  /// How many depths have rows.
  std::uint32_t depths() const noexcept { return static_cast<std::uint32_t>(chunks_by_depth_.size()); }

  // --- rows ---
  /// Appends a row for `e`, whose state is reserved or granted. The caller fills all its component columns; presence columns say
  /// that it has all types.
  [[gnu::always_inline]] Row create(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent) {
    mark_known_id(e.index);
    const Row row = append(e, open_chunk(archetype, depth), parent);
    if (!archetype.simple) [[unlikely]]
      complete(row);
    return row;
  }
  /// Appends a row for `e` to a chunk at depth 0 of a plain() archetype that has room; gives its number. The caller
  /// fills all its columns.
  [[gnu::always_inline]] std::uint32_t create_plain(Entity e, Chunk& open) {
    mark_known_id(e.index);
    return append_id(e, open).row;
  }
  /// As long as it is there, rows are expected.
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
  /// Says that so many rows of an archetype come next, and no others as long as what it gives is there: the memory of those for which there are
  /// no chunks yet lies together.
  [[nodiscard]] ExpectedRows expect_rows(const Archetype& archetype, std::uint32_t depth, std::size_t count);
  /// Rows of a chunk that follow one another.
  struct Run {
    Chunk* chunk;
    std::uint32_t begin, count;
  };
  /// Appends rows at depth 0 for the first of `ids`, which take_ids gave: as many as the open chunk of a plain()
  /// archetype has room for, at least one. They have all its types.
  Run create_run(std::span<const Entity> ids, Archetype& archetype);
  /// Likewise, `count` rows at most, for ids that are drawn for them, as take_ids() draws them; they are those of the rows. `far`: the
  /// directory is asked for ahead.
  Run create_run(std::size_t count, Archetype& archetype, bool far);
  /// Appends rows of a plain() archetype at depth 0 for those of `ids` whose state is reserved or granted, and appends
  /// the others to `refused`. Each row gets the values of `payload` at the places that `values` names.
  void create_many(std::span<const Entity> ids, Archetype& archetype, std::span<const ValuePlace> values,
                   const std::byte* payload, std::vector<Entity>& refused);
  /// Whether the archetype is plain() and its open chunk has room for `count` rows more.
  bool has_room(const Archetype& archetype, std::uint32_t depth, std::size_t count) const noexcept {
    if (depth >= archetype.groups.size() || !archetype.plain()) return false;
    const Chunk* const last = archetype.groups[depth].last;
    return last && last->capacity - last->count >= count;
  }
  /// The chunk that takes the next row of a group.
  Chunk& open_chunk(Archetype& archetype, std::uint32_t depth) {
    if (depth < archetype.groups.size()) [[likely]] {
      Chunk* const last = archetype.groups[depth].last;
      if (last && last->count < last->capacity) [[likely]]
        return *last;
    }
    return open_new_chunk(archetype, depth);
  }
  /// Changes whenever a chunk came or went, or was laid out anew, or a version began. What remembers an open chunk compares it.
  std::uint64_t chunk_changes() const noexcept { return chunk_changes_; }
  /// Takes the row away and the id back. The group's last row fills the hole. `park` is reserved for undo: the id is
  /// parked.
  void destroy(Entity e, bool park = false) { destroy(find(e), park); }
  void destroy(Row row, bool park = false);
  /// Takes the row of `e` away, of a plain() archetype, and the id back. Inlined into loops.
  [[gnu::always_inline]] void destroy_plain(Row row, Entity e) {
    if (destroyed_) [[unlikely]]
      log_destroyed(e);
    take_plain_row(row);
    free_id(e);
    mark_known_id(e.index);
  }
  /// Appends a second row for a living `e`; take_plain_row() of the first must follow. Both archetypes are plain().
  [[gnu::always_inline]] Row append_moved(Entity e, Chunk& open, Entity parent) { return append(e, open, parent); }
  /// Where rows of one archetype go, and what fills their holes. Both chunks are of plain() archetypes, at depth 0, and touched.
  struct MoveAim {
    Chunk *open = nullptr, *last = nullptr;  ///< of another archetype, with room; the group's last
    Entity *open_ids = nullptr, *last_ids = nullptr;
    std::uint32_t open_first = 0, last_first = 0;  ///< bits() of the locators of their first rows
  };
  MoveAim aim_moves(Chunk& open, Chunk& last) {
    touch_all(open);
    touch_all(last);
    return {&open, &last, open.ids(), last.ids(), open.locator(0).bits(), last.locator(0).bits()};
  }
  /// Touches all columns of a chunk.
  void touch_chunk(Chunk& chunk) { touch_all(chunk); }
  /// Moves the row of `e`, whose Locator has the bits `place`, out of `old`, a touched chunk of the group that `aim` fills. The group's last
  /// row fills the hole. `copy<fills>(row, old, hole, last_row)` copies what the new row keeps, and where `fills` the last row's values into the
  /// hole. Gives the new row's number. Equals append_moved() and take_plain_row(), and calls nothing before its end, so that it need not save
  /// registers.
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
  /// Takes away a row of a plain() archetype and leaves its id alone. The group's last row fills the hole.
  [[gnu::always_inline]] void take_plain_row(Row gone) {
    Group& group = *gone.chunk->group;
    if (holes_.group != &group || holes_.changes != chunk_changes_) [[unlikely]]
      aim_holes(group);
    // Not the group's: what fills the hole need not wait until the row's chunk is known.
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
  /// Asks for `asked_rows` rows some way before the last one of a group's last chunk, and for their ids' entries in the directory: they fill
  /// holes soon, and the processor does not see by itself that it is read towards the front. For registries of rows_far_away.
  void ask_for_last_rows(const Chunk& last) const noexcept;
  /// Asks for their ids and entries alone.
  void ask_for_last_ids(const Chunk& last) const noexcept;
  /// Asks for the ids of `asked_rows` rows from `ids` on, and for the entries of as many from `entries` on, whose ids have come by now. Both count
  /// from the first row of `near`, as each_near() does.
  void ask_for_ids(const Chunk& near, std::ptrdiff_t ids, std::ptrdiff_t entries) const noexcept;
  static constexpr std::uint32_t asked_rows = 16;
  /// How far ahead of its use the first of them is asked for: far enough that it has come then, and near enough that it is still there.
  static constexpr std::uint32_t asked_rows_ahead = 32;
  /// Moves the row of `e`. Columns that both archetypes have keep their values, others are zero: enableable types that are new are not
  /// there yet. Returns the new row.
  Row move(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent);
  /// Gives a row an enableable type that its archetype has, by the slot of its presence column. One that was just appended may say
  /// anything there.
  void enable(Row row, std::uint16_t presence) {
    if (row.presence(presence) == 1) return;
    touch(*row.chunk, presence);
    row.presence(presence) = 1;
  }
  /// Takes it from the row; `column` is that of its values, no_column of a tag.
  [[gnu::always_inline]] void disable(Row row, std::uint16_t presence, std::uint16_t column, std::uint32_t size) {
    touch(*row.chunk, presence);
    row.presence(presence) = 0;
    if (column == no_column) return;
    touch(*row.chunk, column);
    std::memset(row.at(column, size), 0, size);
  }
  void set_parent(Row row, Entity parent);
  /// Whether the ids of rows that go are logged.
  bool logs_destroyed() const noexcept { return destroyed_ != nullptr; }
  /// From now on the ids of rows that go are appended to `log`; null: to none.
  void log_destroyed(std::vector<Entity>* log) noexcept { destroyed_ = log; }

  // --- versions ---
  /// To be called before every write to a column: gives it the present version, and has each ColumnPreserver keep the old
  /// bytes.
  void touch(Chunk& chunk, std::uint32_t slot) {
    if (chunk.slots()[slot].version != version_) [[unlikely]]
      first_touch(chunk, slot);
  }
  std::uint64_t version() const noexcept { return version_; }
  /// Everything written from now on has a version greater than the one returned.
  std::uint64_t begin_version() noexcept {
    ++stamp_;
    ++chunk_changes_;
    return version_++;
  }
  /// Changes whenever a chunk went or was laid out anew, or a version began; never 0. While it is the same, a chunk's number is the same
  /// chunk's, its columns are where they were, and those that were touched are touched.
  std::uint64_t stamp() const noexcept { return stamp_; }
  /// Told from now on, until it is removed; several may be.
  void add_preserver(ColumnPreserver& preserver) { preservers_.push_back(&preserver); }
  void remove_preserver(ColumnPreserver& preserver) noexcept { std::erase(preservers_, &preserver); }

  Chunk* chunk(std::uint32_t number) const noexcept { return chunks_[number]; }
  std::uint32_t chunk_numbers() const noexcept { return static_cast<std::uint32_t>(chunks_.size()); }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Bytes of memory for chunks, those that wait for the next ones too.
  std::size_t chunk_bytes() const noexcept { return pool_.bytes(); }
  /// Changes whenever a row came, went, moved or got another parent.
  std::uint64_t structure() const noexcept { return structure_; }

  // --- reading saved state back ---
  /// Everything written from now on has this version; to be called while nothing is there.
  void restore_version(std::uint64_t version) noexcept { version_ = version; }
  void restore_ids(GrowingArray<DirectoryEntry> slots, RingQueue<std::uint32_t> free, std::uint64_t retired);
  /// Adds an archetype that has this number. Numbers come ascending and may leave gaps.
  Archetype& restore_archetype(std::uint32_t number, std::span<const TypeId> types);
  /// Appends a chunk of so many rows to its group. The caller fills its columns, then calls place_ids.
  Chunk& restore_chunk(Archetype& archetype, std::uint32_t depth, std::uint64_t uid, std::uint32_t rows);
  /// Gives the chunk's rows their directory entries, which must have `state` until then; so no id gets two rows. False
  /// at the first id that is not in the directory with that state; the rows before it have their entries.
  bool place_ids(const Chunk& chunk, IdState state) noexcept;
  std::uint64_t next_chunk_uid() const noexcept { return next_chunk_uid_; }
  std::uint32_t next_archetype() const noexcept { return next_archetype_; }
  void restore_counters(std::uint64_t next_chunk_uid, std::uint32_t next_archetype);

  /// Storage calls it with every new archetype, so that handlers can bind their columns.
  void (*on_archetype)(void* context, Archetype&) = nullptr;
  void* on_archetype_context = nullptr;
  /// Storage calls it with on_archetype_context and an archetype whose slots were given out anew.
  void (*on_layout)(void* context, Archetype&) = nullptr;
  /// Storage calls it with on_archetype_context and archetypes that are about to be dropped.
  void (*on_drop)(void* context, std::span<Archetype* const>) = nullptr;

 private:
  friend class BulkRows;
  friend class TreeRows;
  friend class ComponentTypes;
  static void put_id(Entity* to, std::uint64_t id) noexcept { std::memcpy(static_cast<void*>(to), &id, sizeof id); }
  [[gnu::noinline]] void log_destroyed(Entity e) { destroyed_->push_back(e); }
  [[gnu::always_inline]] void free_id(Entity e) {
    if (e.generation == DirectoryLayout::generation_last) [[unlikely]]
      return retire_id(e);
    put_entry(ids_.slots(), e.bits() + next_generation, Locator(IdState::free));
    ids_.give_back(e.index);
  }
  void read_ids(const std::uint32_t* indices, Entity* out, std::size_t count) const noexcept;
  /// take_ids() where not all are in the queue, one behind the other.
  void take_ids_in_parts(std::span<Entity> ids);
  static constexpr std::uint64_t next_generation = std::uint64_t{1} << 32;
  void retire_id(Entity e);
  void keep_returned(std::uint32_t first, std::uint32_t count);
  Entity reserve_fresh();
  void first_touch(Chunk& chunk, std::uint32_t slot);
  /// To all readers of the past.
  void offer(const Chunk& chunk, std::uint32_t slot) const;
  void mark_id(std::uint32_t index) {
    const std::uint32_t page = index >> id_page_bits;
    if (page >= id_page_versions_.size()) id_page_versions_.resize(page + 1);
    id_page_versions_[page] = version_;
  }
  void mark_ids(std::span<const Entity> ids);
  /// mark_id() for an index that was marked before, as every index is that was ever given out.
  void mark_known_id(std::uint32_t index) noexcept { id_page_versions_[index >> id_page_bits] = version_; }
  void place_id(std::uint32_t index, const Chunk& chunk, std::uint32_t row) noexcept {
    ids_.slot(index).locator = chunk.locator(row);
  }
  Archetype& add_archetype(std::uint32_t number, std::span<const TypeId> types);
  Chunk& open_new_chunk(Archetype& archetype, std::uint32_t depth);
  /// Makes the runtime values of a new row, and says that it has all types.
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
  /// To be called before a runtime type gets other functions: destroys its values.
  void destroy_values(const StoredType& type);
  /// To be called when a type's values got another size.
  void lay_out_again(TypeId type);
  /// Gives the readers of the past all that they have not kept yet.
  void leave_to_preservers();
  /// Takes a row away. Its runtime values are destroyed, but for those of types that `kept` has: they were relocated.
  void take_row(Row row, const Archetype* kept = nullptr);
  /// Copies the bytes of row `from` of the group's last chunk to `hole`.
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
  /// The group whose hole was filled last, and its last chunk, which is touched. Good while chunk_changes() is the same.
  struct Holes {
    const Group* group = nullptr;
    std::uint64_t changes = 0;
    Chunk* last = nullptr;
  };
  [[gnu::noinline]] void aim_holes(Group& group);
  /// To be called when a multiple of asked_rows are left in a group's last chunk, or none.
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
    // Ids are touched here only: where they were, all columns were.
    if (chunk.slots()[column_ids].version != version_) [[unlikely]]
      first_touch_all(chunk);
  }
  void first_touch_all(Chunk& chunk);

  void know_archetype(Archetype& archetype);
  static constexpr std::size_t idle_archetypes_max = 1024;
  std::shared_ptr<ComponentTypes> types_;
  std::vector<ColumnPreserver*> preservers_;
  std::vector<Entity>* destroyed_ = nullptr;
  Holes holes_;
};

inline bool is_alive(const Storage& storage, Entity e) noexcept { return storage.alive(e); }

}  // namespace muster
