#include "tests/support/change_marks.h"

#include <xxhash.h>

#include <utility>

#include "registry/host.h"

namespace muster::test {

namespace {

std::uint64_t hash_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

/// Of the chunk's rows; runtime components, which nobody saves or keeps, are left out.
std::uint64_t hash_of(const Chunk& chunk, std::uint32_t slot, std::uint32_t rows) {
  const std::byte* const data = chunk.slots()[slot].data;
  return data ? hash_of({data, std::size_t{rows} * chunk.archetype->slot_bytes[slot]}) : 0;
}

template <class F>
void each_chunk(const Storage& storage, F f) {
  for (const auto& archetype : storage.archetypes())
    if (archetype)
      for (const Group& group : archetype->groups)
        for (const Chunk* chunk : group.chunks) f(*chunk);
}

}  // namespace

void RowMarks::row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) {
  const Seen now{version, hash_of(bytes), bytes.size()};
  const auto say = [&](const std::string& what) {
    if (wrong_.empty()) wrong_ = StateError{key, what}.text();
  };
  if (!now_.emplace(key, now).second) return say("comes twice");
  const auto before = before_.find(key);
  if (before == before_.end()) return;
  const Seen& was = before->second;
  if (version < was.version)
    say("goes back from version " + std::to_string(was.version) + " to " + std::to_string(version));
  else if (version == was.version && (now.hash != was.hash || now.bytes != was.bytes))
    say("has other bytes and still version " + std::to_string(version));
}

std::string RowMarks::end() {
  before_ = std::exchange(now_, {});
  return std::exchange(wrong_, {});
}

void ColumnMarks::say(const Chunk& chunk, std::uint32_t slot, const std::string& what) {
  if (!wrong_.empty()) return;
  const StoredType* const type = slot < column_first ? nullptr : chunk.archetype->slot_types[slot];
  const std::string name = slot == column_ids       ? "entity ids"
                           : slot == column_parents ? "parents"
                           : type                   ? std::string(type->descriptor->name)
                                                    : std::string("?");
  wrong_ = "column " + name + " of chunk " + std::to_string(chunk.uid) + " " + what;
}

void ColumnMarks::begin(const Storage& storage, std::uint64_t version) {
  version_ = version;
  structure_ = storage.structure();
  chunk_changes_ = storage.chunk_changes();
  wrong_.clear();
  chunks_.clear();
  each_chunk(storage, [&](const Chunk& chunk) {
    const std::uint32_t slots = chunk.archetype->pod_slots;
    Seen& seen = chunks_[chunk.uid];
    seen.count = chunk.count;
    seen.told.assign(slots, false);
    for (std::uint32_t slot = 0; slot < slots; ++slot) seen.hashes.push_back(hash_of(chunk, slot, chunk.count));
  });
}

void ColumnMarks::before_write(const Chunk& chunk, std::uint32_t slot) {
  const auto found = chunks_.find(chunk.uid);
  if (found == chunks_.end()) return;  // came after begin
  Seen& seen = found->second;
  if (slot >= seen.told.size()) return say(chunk, slot, "has no bytes to keep");
  if (seen.told[slot]) say(chunk, slot, "was offered twice");
  seen.told[slot] = true;
  if (chunk.slots()[slot].version > version_) say(chunk, slot, "was offered after its mark");
  if (chunk.count != seen.count) return say(chunk, slot, "had other rows when it was offered");
  if (hash_of(chunk, slot, seen.count) != seen.hashes[slot]) say(chunk, slot, "had other bytes when it was offered");
}

void ColumnMarks::before_recycle(const Chunk& chunk) {
  const auto found = chunks_.find(chunk.uid);
  if (found == chunks_.end()) return;
  Seen& seen = found->second;
  if (seen.gone == &chunk) say(chunk, column_ids, "went twice");
  seen.gone = &chunk;
  for (std::uint32_t slot = 0; slot < seen.told.size(); ++slot)
    if (!seen.told[slot] && chunk.slots()[slot].data) say(chunk, slot, "went without being offered");
}

std::string ColumnMarks::check(const Storage& storage) {
  bool rows_differ = false, chunks_differ = false;
  std::size_t known = 0, laid_out = 0;
  each_chunk(storage, [&](const Chunk& chunk) {
    const auto found = chunks_.find(chunk.uid);
    if (found == chunks_.end()) {
      chunks_differ = rows_differ = true;
      return;
    }
    ++known;
    const Seen& seen = found->second;
    // Rows that were laid out anew lie in a chunk of the same uid elsewhere.
    if (seen.gone == &chunk) say(chunk, column_ids, "is still there and was said to go");
    if (seen.gone) ++laid_out;
    for (std::uint32_t slot = 0; slot < seen.told.size(); ++slot) {
      const bool same = chunk.count == seen.count && hash_of(chunk, slot, chunk.count) == seen.hashes[slot];
      const bool marked = chunk.slots()[slot].version > version_;
      if (!same && slot < column_first) rows_differ = true;
      if (!same && chunk.slots()[slot].data && !marked) say(chunk, slot, "has other bytes and no mark");
      if (!same && chunk.slots()[slot].data && !seen.told[slot])
        say(chunk, slot, "has other bytes and was not offered");
      if (chunk.slots()[slot].version > storage.version()) say(chunk, slot, "has a version of the future");
    }
  });
  if (known != chunks_.size()) chunks_differ = rows_differ = true;
  for (const auto& [uid, seen] : chunks_)
    if (seen.gone) ++known;
  known -= laid_out;
  if (wrong_.empty() && known < chunks_.size()) wrong_ = "a chunk is gone and nobody was told";
  if (wrong_.empty() && rows_differ && storage.structure() == structure_)
    wrong_ = "rows are others, and Storage::structure() is not";
  if (wrong_.empty() && chunks_differ && storage.chunk_changes() == chunk_changes_)
    wrong_ = "chunks are others, and Storage::chunk_changes() is not";
  return std::exchange(wrong_, {});
}

ChangeMarks::ChangeMarks(EntityRegistry& registry) : registry_(registry) {
  begin();
  registry_.host().add_preserver(columns_);
}

ChangeMarks::~ChangeMarks() { registry_.host().remove_preserver(columns_); }

void ChangeMarks::look() {
  registry_.save(rows_);
  columns_.begin(registry_.host().storage(), registry_.host().begin_version());
}

void ChangeMarks::begin() {
  rows_ = {};
  look();
  (void)rows_.end();
}

std::string ChangeMarks::check() {
  std::string columns = columns_.check(registry_.host().storage());
  look();
  std::string rows = rows_.end();
  return columns.empty() ? rows : columns;
}

}  // namespace muster::test
