// The hash covers rows in row order, the order of children, ids and the free queue, texts, the
// clock, timers, and pending messages. It does not cover versions, counters, or chunk boundaries.
#include <array>
#include <cstring>

#include <xxhash.h>

#include "registry/registry_impl.h"
#include "registry/state/state_format.h"

namespace muster {

namespace {

constexpr std::uint32_t ahead = 8;  // number of rows ahead for which links are prefetched

/// Collects small values before hashing them, because calling the hash function for each id would
/// cost more than the hashing itself.
class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~Hasher() { XXH3_freeState(state_); }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(const void* bytes, std::size_t size) {
    if (size > gathered_.size() - used_) {
      pass_on();
      if (size > gathered_.size() / 2) {
        XXH3_64bits_update(state_, bytes, size);
        return;
      }
    }
    if (size) std::memcpy(gathered_.data() + used_, bytes, size);
    used_ += size;
  }
  template <class T>
  void add(const T& value) {
    add(&value, sizeof value);
  }
  std::uint64_t result() {
    pass_on();
    return XXH3_64bits_digest(state_);
  }

 private:
  void pass_on() {
    if (used_) XXH3_64bits_update(state_, gathered_.data(), used_);
    used_ = 0;
  }

  XXH3_state_t* state_;
  std::array<std::byte, 4096> gathered_;
  std::size_t used_ = 0;
};

/// Hashes the heads of managers unchanged, and each part together with its number and length.
class HashedManagers final : public ManagerRows {
 public:
  explicit HashedManagers(Hasher& hasher) : hasher_(hasher) {}
  void head(std::uint64_t, std::span<const std::byte> bytes) override { hasher_.add(bytes.data(), bytes.size()); }
  bool has(std::uint64_t, std::uint32_t, std::uint64_t) override { return false; }
  void part(std::uint64_t, std::uint32_t number, std::uint64_t, std::span<const std::byte> bytes) override {
    hasher_.add(number);
    hasher_.add(std::uint64_t{bytes.size()});
    hasher_.add(bytes.data(), bytes.size());
  }

 private:
  Hasher& hasher_;
};

}  // namespace

std::uint64_t EntityRegistry::hash() const {
  check_reading();
  const Impl& r = *impl_;
  const Storage& storage = r.storage;
  const Hierarchy& hierarchy = r.structure.hierarchy();
  Hasher hasher;
  // Hashes an entire group column by column, so that chunk boundaries do not matter.
  struct Left {
    const Archetype* archetype;
    std::size_t chunks;  // number of chunks below the depths that have been visited
  };
  std::vector<Left> left;
  for (const auto& archetype : storage.archetypes())
    if (archetype && archetype->chunks > 0) left.push_back({archetype.get(), archetype->chunks});
  for (std::uint32_t depth = 0; depth < storage.depths() && !left.empty(); ++depth) {
    for (auto& [archetype, chunks] : left) {
      if (depth >= archetype->groups.size() || archetype->groups[depth].rows() == 0) continue;
      chunks -= archetype->groups[depth].chunks.size();
      hasher.add(depth);
      hasher.add(archetype->number);
      hasher.add(archetype->types.data(), archetype->types.size() * sizeof(TypeId));
      for (std::uint32_t slot = 0; slot < archetype->pod_slots; ++slot)
        for (const Chunk* chunk : archetype->groups[depth].chunks) {
          const std::size_t size = slot < column_first ? 8 : archetype->slot_types[slot]->size;
          if (const std::byte* data = chunk->slots()[slot].data) hasher.add(data, size * chunk->count);
        }
      for (const Chunk* chunk : archetype->groups[depth].chunks)
        for (std::uint32_t row = 0; row < chunk->count; ++row) {
          if (row + ahead < chunk->count) hierarchy.prefetch(chunk->ids()[row + ahead]);
          const Entity links[2] = {hierarchy.first_child(chunk->ids()[row]), hierarchy.next_sibling(chunk->ids()[row])};
          hasher.add(links);
        }
    }
    std::erase_if(left, [](const Left& each) { return each.chunks == 0; });
  }
  const auto& ids = storage.ids();
  hasher.add(std::uint64_t{storage.next_archetype()});
  for (std::uint32_t i = 0; i < ids.indices(); ++i) {
    DirectoryEntry entry = ids.slot(i);
    if (entry.locator.has_row()) entry.locator = Locator(0, 0);  // the places of rows are not state
    hasher.add(entry);
  }
  for (std::size_t i = 0; i < ids.free_queue().size(); ++i) hasher.add(ids.free_queue()[i]);
  for (std::size_t i = 0; i < r.texts.size(); ++i) hasher.add(r.texts.at(i));
  for (const auto& [name, entry] : r.structure.templates().entries()) {
    hasher.add(name);
    hasher.add(entry.batch.data(), entry.batch.size());
  }
  hasher.add(r.now_ns);
  hasher.add(r.next_timer);
  hasher.add(r.core.state.sequence.get());
  const auto add = [&](std::span<const std::byte> bytes) { hasher.add(bytes.data(), bytes.size()); };
  hasher.add(std::uint32_t{0});  // the index of the first carried message, which is always 0
  CarriedOver(r.cascade, r.state.cursor.message, r.types.table()).for_each(add);
  r.input.for_each([&](const BatchView& batch) { as_saved(batch, add); });
  for (const auto& [key, timer] : r.timers.waiting()) hasher.add(timer.batch.data(), timer.batch.size());
  for (const Text name : r.types.handlers().disabled()) hasher.add(name);
  HashedManagers managers(hasher);
  r.managers.save(managers);
  return hasher.result();
}

}  // namespace muster
