// Returns the rows of a registry to a moment. Only chunks that have changed since are visited.
//
//   begin      merges the moments: the oldest copy of each column counts
//   leave      names leave the index; runtime values are set aside; new chunks and archetypes go
//   put        dropped archetypes and chunks return; counts and columns are as they were
//   arrive     names enter the index; runtime values return to the rows of their entities
//
// The columns are written like those of any other change, so other preservers see it, and what was
// saved or shown to watches is told apart by versions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "registry/apply/registry_state.h"
#include "registry/moments/row_moment.h"

namespace muster {

class RowReturn {
 public:
  explicit RowReturn(RegistryState& state) noexcept : state_(state), storage_(state.storage) {}
  RowReturn(const RowReturn&) = delete;
  RowReturn& operator=(const RowReturn&) = delete;

  /// `moments` are consecutive, begin with the one to return to, and end with the newest.
  void begin(std::span<const RowMoment* const> moments);
  void leave();
  /// Must be called after the ids were restored.
  void put();
  /// Must be called after the links were restored.
  void arrive();
  /// Raises the version. Must be called by how far the sequence went back, because some rows of a
  /// save have the sum of both as their version.
  void raise_version(std::uint64_t by) noexcept { storage_.version_ += by; }
  /// The number of bytes that put() copied.
  std::uint64_t copied() const noexcept { return copied_; }
  /// True if any archetype was dropped or has returned.
  bool archetypes_changed() const noexcept { return archetypes_left_ || !archetypes_.empty(); }
  /// True if archetypes have returned, so that handlers must be bound in a different order.
  bool archetypes_returned() const noexcept { return !archetypes_.empty(); }
  /// A runtime value that was constructed because its row came back. In row order.
  struct Constructed {
    Entity entity;
    TypeId type;
  };
  const std::vector<Constructed>& constructed() const noexcept { return constructed_; }

 private:
  /// A chunk that has changed since the moment.
  struct Changed {
    const KeptChunk* was;
    Chunk* chunk;                                   // null if it was dropped
    std::uint32_t first_column = KeptColumn::none;  // index in columns_
    bool rows = false;   // true if the columns of ids or parents, or the number of rows, may differ
    bool names = false;  // true if names may differ
  };
  struct Column {
    const KeptColumn* was;
    std::uint32_t next;
  };
  /// A runtime value that is not in a row.
  struct Aside {
    const RuntimeOps* ops;
    std::byte* value;
    std::unique_ptr<std::byte[]> memory;
  };

  Changed& changed_of(const KeptChunk& chunk);
  const std::byte* old_column(const Changed& changed, std::uint32_t id) const noexcept;
  /// The name of a row, its parent, and its entity.
  struct Named {
    Entity entity, parent;
    Text name;
    friend bool operator==(const Named&, const Named&) = default;
  };
  static Named named(const std::byte* ids, const std::byte* parents, const std::byte* names,
                     std::uint32_t row) noexcept;
  /// Must be called before anything about the chunk is changed.
  void touch_columns(const Changed& changed);
  void leave_names(Changed& changed);
  void leave_name(const Named& row);
  void leave_all_names(const Chunk& chunk);
  void set_values_aside(Chunk& chunk);
  void drop_new(Chunk& chunk);
  void put_archetype(const KeptArchetype& archetype);
  void put_chunk(Changed& changed);
  void put_columns(const Changed& changed);
  void arrive_values(const Changed& changed);

  RegistryState& state_;
  Storage& storage_;
  const RowMoment* moment_ = nullptr;
  std::vector<Changed> changed_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> created_;
  std::vector<const KeptArchetype*> archetypes_;
  bool archetypes_left_ = false;
  ByChunk by_chunk_;
  std::vector<Named> named_;  // names that enter the index
  std::map<std::pair<std::uint64_t, TypeId>, Aside> aside_;
  std::vector<Constructed> constructed_;
  std::uint64_t copied_ = 0;
};

}  // namespace muster
