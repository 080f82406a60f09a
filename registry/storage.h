// The passive half of a registry: ids, archetypes, chunks and their versions. It knows no messages; whoever changes it
// does so on behalf of one. Not for users: EntityRegistry is the door.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "registry/ancestors.h"
#include "registry/archetype.h"
#include "registry/entity_allocator.h"
#include "registry/flat_map.h"

namespace muster {

/// Told before a column's bytes change for the first time since Storage::begin_version, to keep the old ones.
class ColumnPreserver {
 public:
  virtual ~ColumnPreserver() = default;
  /// `chunk` and its `count` rows are as they were; version of the slot not yet bumped.
  virtual void before_write(const Chunk& chunk, std::uint32_t slot) = 0;
  /// Before a chunk is emptied and recycled, its columns preserved or not.
  virtual void before_recycle(const Chunk& chunk) = 0;
};

class Storage {
 public:
  Storage();
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // --- ids ---
  using Ids = EntityAllocator<DirectoryLayout>;
  const Ids& ids() const noexcept { return ids_; }
  /// One array read.
  bool alive(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    return entry < ids_.slots_end() && entry->generation == e.generation && is_row(*entry);
  }
  /// The row of a live entity; a null Row otherwise.
  Row find(Entity e) const noexcept {
    const DirectoryEntry* const entry = ids_.slots() + e.index;
    if (entry >= ids_.slots_end() || entry->generation != e.generation) return {};
    // Its bits tell a row from no row, which is rare here: an id given out and not created yet.
    const std::uint32_t locator = entry->locator;
    if (locator & 0x80000000u) [[unlikely]]
      return {};
    Chunk* const chunk = chunks_[locator >> 10];
    if (!chunk) __builtin_unreachable();
    return {chunk, locator & 1023};
  }
  /// A new id in state `reserved`.
  Entity reserve();
  /// Whether `e` is the id reserve() would give now, or may be taken because its state is `state`.
  bool in_state(Entity e, IdState state) const noexcept;
  void set_state(Entity e, IdState state);
  /// A reserved id that will never be created goes back.
  void give_up(Entity e);
  /// Never-used indices [first, first + count) in state `granted`. `first` must be ids().indices().
  void grant(std::uint32_t first, std::uint32_t count);
  /// Granted indices that were not used: to the FIFO.
  void return_grant(std::uint32_t first, std::uint32_t count);
  std::uint64_t id_page_version(std::uint32_t page) const noexcept {
    return page < id_page_versions_.size() ? id_page_versions_[page] : 0;
  }

  // --- component types and archetypes ---
  /// Makes a struct type storable. The descriptor must live as long as the storage.
  const StoredType& add_component(const TypeDescriptor& descriptor);
  /// Turns a type without data into one with values, default-constructed in the rows that have it, or (ops null) back.
  /// Chunks of its archetypes are laid out anew.
  void set_runtime(TypeId type, const RuntimeOps* ops, std::uint32_t size, std::uint32_t align);
  const StoredType* component(TypeId type) const noexcept;
  std::span<const std::unique_ptr<StoredType>> components() const noexcept { return components_; }
  /// `types` ascending and without doubles, all added before. Creates the archetype if there is none.
  Archetype& archetype(std::span<const TypeId> types);
  Archetype& with(Archetype& archetype, TypeId type);
  Archetype& without(Archetype& archetype, TypeId type);
  /// By number; those dropped are null.
  std::span<const std::unique_ptr<Archetype>> archetypes() const noexcept { return archetypes_; }
  std::uint32_t depths() const noexcept { return depths_; }

  // --- rows ---
  /// Appends a row for `e` (state reserved or granted). Its component columns are the caller's to fill, all of them.
  Row create(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent);
  /// Takes the row away and the id back (or parks it). The group's last row fills the hole.
  void destroy(Entity e, bool park = false);
  /// Moves a live row; columns both have are carried over, others are zero. Returns the new row.
  Row move(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent);
  void set_parent(Row row, Entity parent);
  /// Ids of rows that go are appended to `log`; null: nobody asks.
  void log_destroyed(std::vector<Entity>* log) noexcept { destroyed_ = log; }

  // --- versions ---
  /// Before every write to a column: marks it changed, and has its old bytes kept where somebody reads the past.
  void touch(Chunk& chunk, std::uint32_t slot) {
    if (chunk.slots()[slot].version != version_) [[unlikely]]
      first_touch(chunk, slot);
  }
  std::uint64_t version() const noexcept { return version_; }
  /// Everything written from now on has a version greater than the one returned.
  std::uint64_t begin_version() noexcept { return version_++; }
  void set_preserver(ColumnPreserver* preserver) noexcept { preserver_ = preserver; }

  Chunk* chunk(std::uint32_t number) const noexcept { return chunks_[number]; }
  std::uint32_t chunk_numbers() const noexcept { return static_cast<std::uint32_t>(chunks_.size()); }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Another number whenever a row came, went, moved or got another parent.
  std::uint64_t structure() const noexcept { return structure_; }

  // --- reading saved state back ---
  void restore_ids(std::vector<DirectoryEntry> slots, RingQueue<std::uint32_t> free, std::uint64_t retired);
  /// The archetype gets this number; numbers come ascending. Gaps are numbers of dropped archetypes.
  Archetype& restore_archetype(std::uint32_t number, std::span<const TypeId> types);
  /// Appends a chunk to its group; rows get their directory entries. ids must be in ids().
  Chunk& restore_chunk(Archetype& archetype, std::uint32_t depth, std::uint64_t uid, std::span<const Entity> ids,
                       std::span<const Entity> parents);
  std::uint64_t next_chunk_uid() const noexcept { return next_chunk_uid_; }
  std::uint32_t next_archetype() const noexcept { return static_cast<std::uint32_t>(archetypes_.size()); }
  void restore_counters(std::uint64_t next_chunk_uid, std::uint32_t next_archetype, std::uint64_t version);

  /// Called with every new archetype, so that handlers can bind their columns.
  void (*on_archetype)(void* context, Archetype&) = nullptr;
  void* on_archetype_context = nullptr;
  /// Called with an archetype whose slots were given out anew.
  void (*on_layout)(void* context, Archetype&) = nullptr;

 private:
  static bool is_row(DirectoryEntry entry) noexcept { return (entry.locator & 0x80000000u) == 0; }
  static std::uint32_t state_bits(IdState state) noexcept { return 0x80000000u | static_cast<std::uint32_t>(state); }
  void first_touch(Chunk& chunk, std::uint32_t slot);
  void mark_id(std::uint32_t index);
  void place_id(std::uint32_t index, const Chunk& chunk, std::uint32_t row) noexcept {
    ids_.slot(index).locator = chunk.number << 10 | row;
  }
  Archetype& add_archetype(std::uint32_t number, std::span<const TypeId> types);
  Chunk& open_chunk(Archetype& archetype, std::uint32_t depth);
  Chunk& new_chunk(Archetype& archetype, std::uint32_t depth, std::uint32_t capacity, std::uint64_t uid);
  Row append(Entity e, Archetype& archetype, std::uint32_t depth, Entity parent);
  void lay_out(Archetype& archetype);
  void lay_out_again(Archetype& archetype);
  /// `kept`: has the runtime values that were relocated away; the others are destroyed.
  void take_row(Row row, const Archetype* kept = nullptr);
  void touch_all(Chunk& chunk);

  Ids ids_;
  std::vector<std::uint64_t> id_page_versions_;
  std::vector<std::unique_ptr<StoredType>> components_;
  FlatMap<TypeId, std::uint32_t> component_by_id_;
  std::vector<std::unique_ptr<Archetype>> archetypes_;
  FlatMap<std::uint64_t, std::uint32_t> archetype_by_hash_;  // hash of types -> number; verified
  std::vector<Archetype*> archetypes_colliding_;
  FlatMap<std::uint64_t, std::uint32_t> edges_;  // number << 32 | type, bit by direction -> number
  ChunkPool pool_;
  std::vector<Chunk*> chunks_;  // by number
  std::vector<std::uint32_t> free_chunk_numbers_;
  std::uint64_t next_chunk_uid_ = 1;
  std::uint64_t version_ = 1;
  std::uint64_t rows_ = 0;
  std::uint64_t structure_ = 0;
  std::uint32_t depths_ = 0;
  ColumnPreserver* preserver_ = nullptr;
  std::vector<Entity>* destroyed_ = nullptr;
};

/// `type` of a living parent; null where it lacks it. Remembers the column for the next row.
inline const std::byte* component_of_parent(const Storage& storage, Entity parent, TypeId type,
                                            ParentColumn& last) noexcept {
  const Row up = storage.find(parent);
  const Archetype* archetype = up.chunk->archetype;
  if (archetype != last.archetype) {
    last.archetype = archetype;
    last.column = archetype->column(type);
    last.size = last.column == no_column ? 0 : archetype->slot_types[last.column]->size;
  }
  return last.column == no_column ? nullptr : up.at(last.column, last.size);
}

constexpr std::uint32_t id_page_bits = 12;  ///< ids are saved in pages of 4096

}  // namespace muster
