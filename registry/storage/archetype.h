// Component rows in memory. An archetype is a set of component types. Its rows are grouped by their
// depth in the hierarchy. Each group is a list of chunks, all of which are full except the last. A
// chunk never moves and never grows.
//
//   chunk    | Chunk: header | ColumnSlot x columns |     separate from its rows: all headers are close together
//   rows     | ids ... | parents ... | column 2 ... | column 3 ... |     of a small chunk
//            | ids of this chunk | ids of the next ... |   | column 2 of this chunk | column 2 of the next ... |   of others
//            every column starts on a cache line; slot 0 is the entity ids, slot 1 the parents (null at depth 0)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "registry/storage/blocks.h"
#include "registry/storage/locator.h"
#include "registry/storage/runtime_type.h"
#include "schema/descriptor.h"

namespace muster {

struct Archetype;
struct Group;

/// A component type in the form in which Storage uses it. Owned by Storage and never moved.
struct StoredType {
  TypeId id = 0;
  std::uint32_t size = 0;  ///< 0 for tags, which have no column
  std::uint32_t align = 1;
  const TypeDescriptor* descriptor = nullptr;
  /// The functions of a runtime component. Outside storage, such a component is a tag. Null if the
  /// values are plain bytes.
  const RuntimeOps* ops = nullptr;
  const StoredType* presence = nullptr;  ///< for an enableable component: its presence column
  bool is_presence = false;              ///< true for a presence column, which is not a component
  std::uint32_t saved_size() const noexcept { return ops ? 0 : size; }
};

struct ColumnSlot {
  std::byte* data = nullptr;
  std::uint64_t version = 0;  ///< version of the most recent write; see Storage::touch
};

constexpr std::uint32_t chunk_rows_max = Locator::rows_max;
constexpr std::uint32_t column_ids = 0, column_parents = 1, column_first = 2;
constexpr std::uint16_t no_column = 0xffff;
/// An entry in a presence column: 1 if the row's entity has the component. If it is 0, the entity
/// does not have the component, and all bytes of the value are zero.
using PresenceWord = std::uint32_t;

struct Chunk {
  Archetype* archetype = nullptr;
  Group* group = nullptr;    ///< the archetype's group at this depth
  std::uint64_t uid = 0;     ///< never reused during the lifetime of a world
  std::uint32_t number = 0;  ///< index in the table that locators refer to; reused
  std::uint32_t depth = 0;
  std::uint32_t place = 0;  ///< index within the group
  std::uint32_t count = 0, capacity = 0;
  std::uint32_t archetype_index = 0;
  std::uint16_t header_lines = 0;  ///< cache lines of this header and the slots that follow it

  /// True if the rows have no parents and no names, and their values are plain bytes.
  bool lone = false;
  /// True if all columns share one block of memory; false if each column has its own block.
  bool in_one_block = true;

  Locator locator(std::uint32_t row) const noexcept { return {number, row}; }
  ColumnSlot* slots() noexcept { return reinterpret_cast<ColumnSlot*>(this + 1); }
  const ColumnSlot* slots() const noexcept { return reinterpret_cast<const ColumnSlot*>(this + 1); }
  Entity* ids() noexcept { return reinterpret_cast<Entity*>(slots()[column_ids].data); }
  const Entity* ids() const noexcept { return reinterpret_cast<const Entity*>(slots()[column_ids].data); }
  /// Returns null at depth 0.
  Entity* parents() noexcept { return reinterpret_cast<Entity*>(slots()[column_parents].data); }
  const Entity* parents() const noexcept { return reinterpret_cast<const Entity*>(slots()[column_parents].data); }
};

struct Group {
  std::vector<Chunk*> chunks;
  Chunk* last = nullptr;          ///< the last element of `chunks`, or null if it is empty
  std::uint64_t rows_before = 0;  ///< number of rows in all chunks except the last
  std::uint64_t rows() const noexcept { return rows_before + (last ? last->count : 0); }
};

struct Archetype {
  std::uint32_t number = 0;   ///< number in the order of creation; saved and never reused
  std::uint64_t version = 0;  ///< Storage::version() when the archetype was created
  std::uint32_t index = 0;    ///< index in the tables of this process; reused after a drop

  /// Number of chunks in all groups. 0 if no entity has exactly these components.
  std::uint32_t chunks = 0;
  std::vector<TypeId> types;                  ///< ascending, including tags
  std::vector<const StoredType*> components;  ///< parallel to `types`

  /// Parallel to `types`: slot within a chunk, or no_column for tags.
  std::vector<std::uint16_t> columns;
  /// Parallel to `types`: slot of the presence column, or no_column if all rows have the type.
  std::vector<std::uint16_t> presences;
  /// Indexed by slot. Null for ids and parents. Runtime components come last.
  std::vector<const StoredType*> slot_types;
  std::vector<std::uint32_t> slot_bytes;   ///< size of a value, indexed by slot
  std::uint32_t pod_slots = column_first;  ///< number of slots before those of runtime components
  std::uint16_t name_column = no_column;   ///< column of muster.Name
  bool small_values = true;                ///< true if the sizes of all values are is_small()
  bool enableable = false;                 ///< true if any of the types has a presence column
  bool simple = true;                      ///< true if plain() and not enableable
  std::uint32_t layout = 0;                ///< number of times that slots were reassigned
  std::uint32_t row_bytes = 0;             ///< size of a row, including id and parent
  std::vector<Group> groups;               ///< indexed by depth

  /// Results that RegistryReader::components() returned for rows that lack some types, during the
  /// current input and possibly during earlier ones.
  std::set<std::vector<TypeId>> present;
  std::uint64_t present_sequence = 0;
  std::uint64_t rows() const noexcept {
    std::uint64_t sum = 0;
    for (const Group& group : groups) sum += group.rows();
    return sum;
  }

  /// Returns the group at a depth, creating it if necessary. Groups move when their list grows,
  /// which happens rarely. Creating a group at each depth takes amortized constant time per depth.
  Group& need_group(std::uint32_t depth);

  /// True if the values of rows are plain bytes, that is, if there are no runtime components.
  bool plain() const noexcept { return pod_slots == slot_types.size(); }
  /// Returns the slot of a type, or no_column if the type is absent or a tag.
  std::uint16_t column(TypeId type) const noexcept {
    for (std::size_t i = 0; i < types.size(); ++i)
      if (types[i] == type) return columns[i];
    return no_column;
  }
  /// True if the type is one of `types`. Individual rows may still lack an enableable type; see
  /// Row::has().
  bool has(TypeId type) const noexcept {
    for (const TypeId t : types)
      if (t == type) return true;
    return false;
  }
  /// Returns the slot of a type's presence column, or no_column if the type is absent or all rows
  /// have it.
  std::uint16_t presence(TypeId type) const noexcept {
    if (!enableable) return no_column;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (types[i] == type) return presences[i];
    return no_column;
  }
  /// Returns the slot of a stored type, which may be a presence column, or no_column if it has
  /// none.
  std::uint16_t slot_of(TypeId stored) const noexcept {
    for (std::size_t slot = column_first; slot < slot_types.size(); ++slot)
      if (slot_types[slot]->id == stored) return static_cast<std::uint16_t>(slot);
    return no_column;
  }
};

/// Calls f(ops, value) for each runtime value in rows [begin, end).
template <class F>
void each_runtime(Chunk& chunk, std::uint32_t begin, std::uint32_t end, F f) {
  const Archetype& archetype = *chunk.archetype;
  for (std::uint32_t slot = archetype.pod_slots; slot < archetype.slot_types.size(); ++slot) {
    const StoredType& type = *archetype.slot_types[slot];
    for (std::uint32_t row = begin; row < end; ++row)
      f(*type.ops, chunk.slots()[slot].data + std::size_t{row} * type.size);
  }
}

/// A value in a payload, together with its column.
struct ValuePlace {
  std::uint16_t slot;
  std::uint32_t offset, size;
};

constexpr bool is_small(std::uint32_t size) noexcept { return size >= 4 && size <= 32; }

/// Copies a value from a row of one column to a row of another. Values whose sizes are is_small()
/// are copied without calling memcpy. `small` is true if this applies to all sizes.
template <bool small = false>
[[gnu::always_inline]] inline void copy_value(std::byte* to, std::size_t to_row, const std::byte* from,
                                              std::size_t from_row, std::uint32_t size) noexcept {
  const auto whole = [&]<std::size_t bytes>() { std::memcpy(to + to_row * bytes, from + from_row * bytes, bytes); };
  // The two halves may overlap.
  const auto halves = [&]<std::size_t half>() {
    struct Half {
      std::byte bytes[half];
    } first, last;
    std::byte* const into = to + to_row * size;
    const std::byte* const value = from + from_row * size;
    std::memcpy(&first, value, half);
    std::memcpy(&last, value + size - half, half);
    std::memcpy(into, &first, half);
    std::memcpy(into + size - half, &last, half);
  };
  // Three cases are compiled to comparisons; with four, compilers would use a jump table.
  if (size == 8)
    whole.template operator()<8>();
  else if (size == 16)
    whole.template operator()<16>();
  else if (size == 4)
    whole.template operator()<4>();
  else if (!small && !is_small(size))
    std::memcpy(to + to_row * size, from + from_row * size, size);
  else if (size > 16)
    halves.template operator()<16>();
  else if (size > 8)
    halves.template operator()<8>();
  else
    halves.template operator()<4>();
}

inline void copy_value(std::byte* to, const std::byte* from, std::uint32_t size) noexcept {
  copy_value(to, 0, from, 0, size);
}

/// The place of a row in storage.
struct Row {
  Chunk* chunk = nullptr;
  std::uint32_t row = 0;
  explicit operator bool() const noexcept { return chunk != nullptr; }
  std::byte* at(std::uint16_t column, std::uint32_t size) const noexcept {
    return chunk->slots()[column].data + std::size_t{row} * size;
  }
  PresenceWord& presence(std::uint16_t slot) const noexcept {
    return reinterpret_cast<PresenceWord*>(chunk->slots()[slot].data)[row];
  }
  /// True if the entity of this row has the type.
  bool has(TypeId type) const noexcept {
    const Archetype& archetype = *chunk->archetype;
    for (std::size_t i = 0; i < archetype.types.size(); ++i)
      if (archetype.types[i] == type)
        return archetype.presences[i] == no_column || presence(archetype.presences[i]) != 0;
    return false;
  }
};

/// Returns the types of a row's entity, in ascending order. If the row lacks some types of its
/// archetype, the list is stored in `room`. The result is valid as long as the archetype and `room`
/// exist.
std::span<const TypeId> types_of(Row row, std::vector<TypeId>& room);
/// Marks all types of the archetype as present in rows [begin, end).
void enable_all(Chunk& chunk, std::uint32_t begin, std::uint32_t end) noexcept;

/// A value that is copied from one row to another.
struct ColumnCopy {
  std::uint16_t from, to;  ///< slots
  std::uint32_t bytes;
};
template <bool small = false>
[[gnu::always_inline]] inline void copy_columns(Row to, Row from, std::span<const ColumnCopy> columns) noexcept {
  const ColumnSlot* const to_slots = to.chunk->slots();
  const ColumnSlot* const from_slots = from.chunk->slots();
  for (const ColumnCopy& column : columns)
    copy_value<small>(to_slots[column.to].data, to.row, from_slots[column.from].data, from.row, column.bytes);
}

/// Preserves the old bytes of columns. Called on the registry's thread before a column is changed
/// for the first time since Storage::begin_version.
class ColumnPreserver {
 public:
  virtual ~ColumnPreserver() = default;
  /// Called while the chunk still has its old rows and row count, and the slot still has its old
  /// version.
  virtual void before_write(const Chunk& chunk, std::uint32_t slot) = 0;
  /// Called before the memory of a chunk is reused, whether or not its columns were preserved.
  /// Either the chunk is being dropped, or its rows have been laid out again in other memory, in a
  /// chunk with the same uid.
  virtual void before_recycle(const Chunk& chunk) = 0;
  /// Called before archetypes without rows are dropped.
  virtual void before_drop(std::span<Archetype* const> leaving) { static_cast<void>(leaving); }
  /// Called before the contents of the storage are exchanged or return to an earlier state, and
  /// before before_recycle() is called for the outgoing chunks. May remove this preserver.
  virtual void before_exchange() {}
};

/// Creates and recycles chunks, and keeps their memory for reuse.
class ChunkPool {
 public:
  /// Creates an empty chunk with room for `capacity` rows. All of its versions are 0.
  Chunk* make(Archetype& archetype, std::uint32_t depth, std::uint32_t capacity);
  /// Announces that the next `chunks` chunks to be created will have room for `capacity` rows, so
  /// that each of their columns gets contiguous memory.
  void expect(const Archetype& archetype, std::uint32_t depth, std::uint32_t capacity, std::size_t chunks);
  /// Ends the announcement. Chunks that have not been created are no longer expected.
  void forget_expected() noexcept { blocks_.forget_expected(); }
  void recycle(Chunk* chunk) noexcept;
  /// Returns the number of bytes of memory held, including memory for future chunks.
  std::size_t bytes() const noexcept { return blocks_.bytes(); }

 private:
  Blocks blocks_;
};

/// Calls f(chunk, begin, end) for rows [begin, begin + count) of a group, counted from the first
/// row of `chunk`. Negative rows are the last ones of the previous chunk, and rows past the end are
/// the first ones of the next chunk. Rows that are farther away are omitted.
template <class F>
[[gnu::always_inline]] inline void each_near(const Chunk& chunk, std::ptrdiff_t begin, std::uint32_t count, F f) {
  const std::ptrdiff_t end = begin + count, rows = chunk.count;
  if (begin >= 0 && end <= rows) [[likely]]
    return f(chunk, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin) + count);
  const auto part = [&](const Chunk& of, std::ptrdiff_t first) {
    const std::ptrdiff_t from = begin - first < 0 ? 0 : begin - first,
                         to = end - first < of.count ? end - first : of.count;
    if (from < to) f(of, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
  };
  const std::vector<Chunk*>& chunks = chunk.group->chunks;
  if (chunk.place != 0) part(*chunks[chunk.place - 1], -std::ptrdiff_t{chunks[chunk.place - 1]->count});
  part(chunk, 0);
  if (chunk.place + std::size_t{1} < chunks.size()) part(*chunks[chunk.place + 1], rows);
}

/// Returns the capacity of the chunk at `place` of a group. The first chunk has a small capacity,
/// and all other chunks have the full capacity.
std::uint32_t chunk_capacity(const Archetype& archetype, std::uint32_t place) noexcept;

}  // namespace muster
