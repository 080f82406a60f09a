// The part of Storage that exchanges its contents with another storage, and restores saved ids,
// archetypes, and chunks exactly.
#include <algorithm>
#include <span>
#include <utility>

#include "messages/require.h"
#include "registry/storage/storage.h"

namespace muster {

void Storage::leave_to_preservers() {
  if (preservers_.empty()) return;
  for (Chunk* chunk : chunks_) {
    if (!chunk) continue;
    first_touch_all(*chunk);
    for (ColumnPreserver* preserver : preservers_) preserver->before_recycle(*chunk);
  }
}

void Storage::swap(Storage& other) {
  require(types_ == other.types_, "Storage::swap: the other storage does not share its component types");
  tell_exchange();
  leave_to_preservers();
  std::swap(static_cast<StorageContents&>(*this), static_cast<StorageContents&>(other));
  version_ = std::max(version_, other.version_ + 1);
  stamp_ = std::max(stamp_, other.stamp_) + 1;
  chunk_changes_ = std::max(chunk_changes_, other.chunk_changes_) + 1;
  structure_ = std::max(structure_, other.structure_) + 1;
  archetype_drops_ = std::max(archetype_drops_, other.archetype_drops_) + 1;
  if (preservers_.empty()) return;
  // Incoming columns are not part of the state that preservers read, so changes to these columns
  // are not offered.
  for (Chunk* chunk : chunks_)
    for (std::uint32_t slot = 0; chunk && slot < chunk->archetype->slot_types.size(); ++slot)
      chunk->slots()[slot].version = version_;
}

void Storage::restore_ids(GrowingArray<DirectoryEntry> slots, RingQueue<std::uint32_t> free, std::uint64_t retired) {
  id_page_versions_.assign((slots.size() >> id_page_bits) + 1, version_);
  ids_.restore(std::move(slots), std::move(free), retired);
  const auto indices = static_cast<std::uint32_t>(ids_.indices());
  const auto returned = [&](std::uint32_t index) { return ids_.slot(index).locator == Locator(IdState::returned); };
  std::uint32_t some = 0;
  for (std::uint32_t index = 0; index < indices; ++index) some |= static_cast<std::uint32_t>(returned(index));
  for (std::uint32_t index = 0; some != 0 && index < indices; ++index) {
    if (!returned(index)) [[likely]]
      continue;
    const std::uint32_t first = index;
    while (index < indices && returned(index)) ++index;
    returned_.add(first, index - first);
  }
}

Archetype& Storage::restore_archetype(std::uint32_t number, std::span<const TypeId> types) {
  require(number >= next_archetype_, "Storage::restore_archetype: numbers must ascend");
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

bool Storage::place_ids(const Chunk& chunk, IdState state) noexcept {
  constexpr std::size_t block = 32;
  const std::uint64_t waits = Locator(state).bits();
  const std::span<const Entity> ids(chunk.ids(), chunk.count);
  const auto locator = [first = chunk.locator(0)](std::size_t row) { return first + static_cast<std::uint32_t>(row); };
  for (std::size_t row = 0; row < ids.size();) {
    const Entity e = ids[row];
    // Rows that were created together have consecutive ids. A block of such rows is compared and
    // written several rows at a time.
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

void Storage::restore_counters(std::uint64_t next_chunk_uid, std::uint32_t next_archetype) {
  next_chunk_uid_ = next_chunk_uid;
  next_archetype_ = std::max(next_archetype_, next_archetype);
  archetypes_came_ = false;
  ++stamp_;
}

}  // namespace muster
