#include <algorithm>
#include <cstring>

#include "registry/registry_impl.h"
#include "registry/state/state.h"
#include "registry/state/state_format.h"

namespace muster {

namespace {

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}
void put(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

class StateWriter {
 public:
  StateWriter(const EntityRegistry::Impl& registry, StateSink& sink)
      : r_(registry), sink_(sink), carried_(registry.cascade, registry.state.cursor.message, registry.types.table()) {}

  void write() {
    const RegistryCounters& c = r_.core.state.counters;
    const RegistryRow row{.sequence = r_.core.state.sequence,
                          .now_ns = r_.now_ns,
                          .next_timer = r_.next_timer,
                          .next_chunk_uid = r_.storage.next_chunk_uid(),
                          .next_archetype = r_.storage.next_archetype(),
                          .indices = r_.storage.ids().indices(),
                          .retired = r_.storage.ids().retired(),
                          .messages = c.messages,
                          .unhandled = c.unhandled,
                          .dead = c.dead,
                          .refused = c.refused,
                          .carried = c.carried,
                          .overtaken = c.overtaken,
                          .texts = r_.texts.size(),
                          .pending = carried_.batches() + r_.input.batches(),
                          .timers = r_.timers.size(),
                          .templates = r_.structure.templates().entries().size(),
                          .disabled = r_.types.handlers().disabled().size(),
                          .archetypes = r_.storage.archetypes().size(),
                          .schemas = r_.types.table().schemas().size(),
                          .cascade_messages_max = r_.state.bounds.messages_max,
                          .cascade_bytes_max = r_.state.bounds.bytes_max,
                          .carried_messages_max = r_.state.bounds.carried_messages_max,
                          .carried_bytes_max = r_.state.bounds.carried_bytes_max,
                          .dropped = c.dropped,
                          .resumed = r_.state.resumed};
    always(StateSection::registry, 0, bytes_of(row).first(row.bytes()));
    std::uint64_t ordinal = 0;
    for (const auto& schema : r_.types.table().schemas())
      unless_kept({StateSection::schema, ordinal++, 0}, 1, [&] { return std::span<const std::byte>(schema); });
    ids();
    archetypes();
    chunks();
    hierarchy();
    texts();
    for (const auto& [name, entry] : r_.structure.templates().entries())
      unless_kept({StateSection::templates, name.hash, 0}, entry.version,
                  [&] { return std::span<const std::byte>(entry.batch); });
    pending();
    if (const auto& disabled = r_.types.handlers().disabled(); !disabled.empty())
      always(StateSection::disabled, 0, std::as_bytes(std::span(disabled)));
    OfManagers managers(*this);
    r_.managers.save(managers);
  }

 private:
  /// Writes the rows of managers to the sink.
  class OfManagers final : public ManagerRows {
   public:
    explicit OfManagers(StateWriter& writer) : writer_(writer) {}
    void head(std::uint64_t key, std::span<const std::byte> bytes) override {
      writer_.always(StateSection::managers, key, bytes);
    }
    bool has(std::uint64_t key, std::uint32_t number, std::uint64_t version) override {
      return writer_.sink_.has({StateSection::manager_parts, key, number}, version);
    }
    void part(std::uint64_t key, std::uint32_t number, std::uint64_t version,
              std::span<const std::byte> bytes) override {
      writer_.sink_.row({StateSection::manager_parts, key, number}, version, bytes);
    }

   private:
    StateWriter& writer_;
  };

  /// Writes a row that is part of every save. The row's version is the registry's own version.
  void always(StateSection section, std::uint64_t key, std::span<const std::byte> bytes) {
    sink_.row({section, key, 0}, r_.storage.version() + r_.core.state.sequence, bytes);
  }
  /// Writes a row unless the sink already has it. `make` builds the bytes.
  template <class F>
  void unless_kept(const StateKey& key, std::uint64_t version, F make) {
    if (!sink_.has(key, version)) sink_.row(key, version, make());
  }
  void ids() {
    const Storage::Ids& ids = r_.storage.ids();
    const auto indices = static_cast<std::uint32_t>(ids.indices());
    constexpr std::uint32_t per_page = 1u << id_page_bits;
    std::uint64_t newest = 0;
    for (std::uint32_t first = 0; first < indices; first += per_page) {
      const std::uint32_t page = first >> id_page_bits;
      const std::uint64_t version = r_.storage.id_page_version(page);
      newest = std::max(newest, version);
      unless_kept({StateSection::directory, page, 0}, version,
                  [&] { return id_page(ids.slots() + first, std::min(per_page, indices - first)); });
    }
    // Every change to the queue also changes a page of ids, so the version of the queue is the
    // newest version of these pages.
    unless_kept({StateSection::free_queue, 0, 0}, newest, [&] {
      buffer_.clear();
      for (std::size_t i = 0; i < ids.free_queue().size(); ++i) put(buffer_, ids.free_queue()[i]);
      return std::span<const std::byte>(buffer_);
    });
  }
  std::span<const std::byte> id_page(const DirectoryEntry* slots, std::uint32_t count) {
    buffer_.resize(8 + std::size_t{count} * 5);
    const std::uint64_t here = count;
    std::memcpy(buffer_.data(), &here, sizeof here);
    std::byte* const generations = buffer_.data() + sizeof here;
    std::byte* const states = generations + std::size_t{count} * 4;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Locator locator = slots[i].locator;
      std::memcpy(generations + std::size_t{i} * 4, &slots[i].generation, 4);
      states[i] = static_cast<std::byte>(locator.has_row() ? state_alive : static_cast<std::uint32_t>(locator.state()));
    }
    return buffer_;
  }
  void archetypes() {
    for (const auto& archetype : r_.storage.archetypes()) {
      if (!archetype) continue;
      unless_kept({StateSection::archetypes, archetype->number, 0}, archetype->version, [&] {
        buffer_.clear();
        put(buffer_, std::uint64_t{archetype->types.size()});
        for (const StoredType* type : archetype->components) {
          put(buffer_, type->id);
          put(buffer_, type->saved_size());
          put(buffer_, type->descriptor->fingerprint);
        }
        return std::span<const std::byte>(buffer_);
      });
    }
  }
  void chunks() {
    for (const auto& archetype : r_.storage.archetypes()) {
      if (!archetype) continue;
      for (const Group& group : archetype->groups) {
        const std::span<Chunk* const> all(group.chunks);
        for (std::size_t i = 0; i < all.size(); ++i) {
          if (i + asked_ahead < all.size()) ask_for(*all[i + asked_ahead]);
          chunk(*all[i]);
        }
      }
    }
  }
  /// Prefetches the headers of chunks. Headers that have not been used since the previous save are
  /// not cached, and for most chunks, a save reads only the header.
  static constexpr std::size_t asked_ahead = 6;
  static void ask_for(const Chunk& chunk) noexcept {
    for (std::size_t line = 0; line < 3; ++line)
      __builtin_prefetch(reinterpret_cast<const std::byte*>(&chunk) + line * 64);
  }
  void chunk(const Chunk& chunk) {
    const Archetype& archetype = *chunk.archetype;
    const StateKey key{StateSection::chunks, chunk.uid, 0};
    std::uint64_t newest = 0;
    for (std::uint32_t slot = 0; slot < archetype.pod_slots; ++slot)
      newest = std::max(newest, chunk.slots()[slot].version);
    if (sink_.has(key, newest)) return;
    buffer_.clear();
    put(buffer_, ChunkRow{archetype.number, chunk.depth, chunk.place, chunk.count});
    sink_.row(key, newest, buffer_);
    for (std::uint32_t slot = 0; slot < archetype.pod_slots; ++slot) {
      const ColumnSlot& column = chunk.slots()[slot];
      if (!column.data) continue;
      const std::uint32_t size = slot < column_first ? 8 : archetype.slot_types[slot]->size;
      const TypeId id = slot < column_first ? slot : archetype.slot_types[slot]->id;
      unless_kept({StateSection::columns, chunk.uid, id}, column.version,
                  [&] { return std::span<const std::byte>(column.data, std::size_t{chunk.count} * size); });
    }
  }
  void hierarchy() {
    const Hierarchy& hierarchy = r_.structure.hierarchy();
    for (std::uint32_t i = 0; i < hierarchy.pages(); ++i)
      if (const Hierarchy::Page* page = hierarchy.page(i))
        unless_kept({StateSection::hierarchy, i, 0}, page->version, [&] { return bytes_of(page->links); });
  }
  void texts() {
    const auto count = static_cast<std::uint32_t>(r_.texts.size());
    for (std::uint32_t first = 0; first < count; first += texts_per_page) {
      const std::uint32_t last = std::min(first + texts_per_page, count);
      // The text table only grows, except when texts are dropped. In that case, every page may have
      // changed.
      const std::uint64_t version = r_.texts.drops() * (texts_per_page + 1) + (last - first);
      unless_kept({StateSection::texts, first / texts_per_page, 0}, version, [&] {
        buffer_.clear();
        for (std::uint32_t i = first; i < last; ++i) {
          put(buffer_, static_cast<std::uint32_t>(r_.texts[i].size()));
          put(buffer_, std::as_bytes(std::span(r_.texts[i])));
        }
        return std::span<const std::byte>(buffer_);
      });
    }
  }
  void pending() {
    std::uint64_t ordinal = 0;
    const auto row = [&](PendingQueue queue, bool open, std::span<const std::byte> batch) {
      buffer_.clear();
      put(buffer_, PendingRow{.queue = queue, .open = open});
      put(buffer_, batch);
      always(StateSection::pending, ordinal++, buffer_);
    };
    carried_.for_each([&](std::span<const std::byte> batch) { row(PendingQueue::cascade, false, batch); });
    std::size_t left = r_.input.batches();
    r_.input.for_each([&](const BatchView& batch) {
      const bool open = --left == 0 && r_.input.last_is_open();
      as_saved(batch, [&](std::span<const std::byte> bytes) { row(PendingQueue::input, open, bytes); });
    });
    for (const auto& [key, timer] : r_.timers.waiting())
      unless_kept({StateSection::timers, key.id, 0}, timer.version,
                  [&] { return std::span<const std::byte>(timer.batch); });
  }

  const EntityRegistry::Impl& r_;
  StateSink& sink_;
  CarriedOver carried_;
  std::vector<std::byte> buffer_;
};

void EntityRegistry::save(StateSink& sink) const {
  check_outside();
  StateWriter(*impl_, sink).write();
}

}  // namespace muster
