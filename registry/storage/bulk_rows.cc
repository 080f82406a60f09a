#include "registry/storage/bulk_rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace muster {

namespace {

/// Values of `bytes` each, from some rows of a column to some rows of another.
template <class Moved>
void copy_column(std::byte* to, const std::byte* from, std::uint32_t bytes, std::span<const Moved> runs) noexcept {
  const auto each = [&](auto size) {
    for (const Moved& run : runs) {
      std::byte* const into = to + std::size_t{run.to.row()} * size;
      const std::byte* const values = from + std::size_t{run.from.row()} * size;
      if (run.rows == 1)
        std::memcpy(into, values, size);
      else
        std::memcpy(into, values, std::size_t{run.rows} * size);
    }
  };
  using std::integral_constant;
  switch (bytes) {
    case 4: return each(integral_constant<std::uint32_t, 4>{});
    case 8: return each(integral_constant<std::uint32_t, 8>{});
    case 12: return each(integral_constant<std::uint32_t, 12>{});
    case 16: return each(integral_constant<std::uint32_t, 16>{});
    default: return each(bytes);
  }
}

}  // namespace

/// Puts rows together to runs. Each goes to where(run), a list.
class BulkRows::Runs {
 public:
  template <class F>
  [[gnu::always_inline]] void add(Locator to, Locator from, F where) {
    if (to == run_.to + run_.rows && from == run_.from + run_.rows && to.row() != 0 && from.row() != 0) {
      ++run_.rows;
      return;
    }
    end(where);
    run_ = {to, from, 1};
  }
  template <class F>
  [[gnu::always_inline]] void end(F where) {
    if (run_.rows) where(run_).push_back(run_);
    run_ = {};
  }

 private:
  Moved run_{};
};

/// Takes rows of one group. What a row taken changes is kept here, in registers, and written to the group when it is left:
/// so everything here is inlined.
class BulkRows::Taker {
 public:
  /// For at most so many rows.
  [[gnu::always_inline]] Taker(BulkRows& bulk, std::size_t rows)
      : bulk_(bulk), storage_(bulk.storage_), directory_(storage_.ids_.slots()) {
    if (bulk.kept_.size() < rows) bulk.kept_.resize(rows);
    kept_ = bulk.kept_.data();
    elsewhere_ = bulk.elsewhere_.data();
  }
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  /// Takes a row's place away; the id of its group's last row fills the hole.
  [[gnu::always_inline]] void take(Chunk& chunk, Locator at) {
    if (chunk.group != group_) [[unlikely]]
      enter(*chunk.group);
    const Locator from = first_ + --end_;
    const bool known = elsewhere_[from.bits()] != 0;
    elsewhere_[from.bits()] = 0;
    if (at != from) {
      if (&chunk != last_) storage_.touch_all(chunk);
      const Entity filler = ids_[end_];
      Storage::put_id(chunk.ids() + at.row(), filler.bits());
      directory_[filler.index].locator = at;
      elsewhere_[at.bits()] = 1;
      *kept_ = {filler.index, from};
      kept_ += known ? 0 : 1;
    }
    if (end_ == 0) [[unlikely]]
      leave_chunk();
  }
  [[gnu::always_inline]] void leave() noexcept {
    if (!group_) return;
    const std::uint32_t taken = last_->count - end_;
    last_->count = end_;
    storage_.rows_ -= taken;
    storage_.structure_ += taken;
    group_ = nullptr;
  }
  /// To be called when there are more chunks, so more room was made.
  void look_again() noexcept { elsewhere_ = bulk_.elsewhere_.data(); }
  /// Who filled holes, each once.
  std::span<const Kept> kept() const noexcept { return {bulk_.kept_.data(), kept_}; }

 private:
  [[gnu::always_inline]] void enter(Group& group) {
    leave();
    group_ = &group;
    last_ = group.last;
    storage_.touch_all(*last_);
    ids_ = last_->ids();
    end_ = last_->count;
    first_ = last_->locator(0);
  }
  [[gnu::always_inline]] void leave_chunk() {
    Group& group = *group_;
    leave();
    bulk_.empty_.push_back(group.last);
    storage_.leave_last_chunk(group);
  }

  BulkRows& bulk_;
  Storage& storage_;
  DirectoryEntry* const directory_;
  Kept* kept_ = nullptr;
  std::uint8_t* elsewhere_ = nullptr;

  Group* group_ = nullptr;
  Chunk* last_ = nullptr;
  Entity* ids_ = nullptr;
  std::uint32_t end_ = 0;
  Locator first_{};
};

void BulkRows::drop_empty() {
  for (Chunk* chunk : empty_) storage_.drop(*chunk);
  empty_.clear();
}

void BulkRows::copy(std::span<const Moved> runs) const {
  for (std::size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
    const Moved first = runs[begin];
    for (end = begin + 1; end < runs.size(); ++end)
      if (runs[end].to.chunk() != first.to.chunk() || runs[end].from.chunk() != first.from.chunk()) break;
    const Chunk& to = chunk(first.to);
    const Chunk& from = chunk(first.from);
    const Archetype& archetype = *to.archetype;
    const std::uint32_t slots_first = to.depth && from.depth ? column_parents : column_first;
    for (std::uint32_t slot = slots_first; slot < archetype.pod_slots; ++slot)
      copy_column(to.slots()[slot].data, from.slots()[slot].data, archetype.slot_bytes[slot],
                  runs.subspan(begin, end - begin));
  }
}

void BulkRows::release(std::span<const Entity> ids) {
  Storage& s = storage_;
  if (s.destroyed_) s.destroyed_->insert(s.destroyed_->end(), ids.begin(), ids.end());
  s.ids_.give_back(ids);
}

std::size_t BulkRows::destroy(std::span<const Entity> ids, std::uint32_t& destroyed) {
  Storage& s = storage_;
  make_room(s.chunk_numbers());
  const auto indices = static_cast<std::uint32_t>(s.ids_.indices());
  DirectoryEntry* const directory = s.ids_.slots();
  Chunk* const* const chunks = s.chunks_.data();
  std::uint64_t* const versions = s.id_page_versions_.data();
  const std::uint64_t version = s.version_;
  const bool links = hierarchy_.pages() != 0;
  constexpr Locator gone(IdState::free);
  std::size_t done = 0, released = 0;
  Taker taker(*this, ids.size());
  for (; done < ids.size(); ++done) {
    const Entity e = ids[done];
    const Locator at =
        e.index < indices && directory[e.index].generation == e.generation ? directory[e.index].locator : gone;
    if (!at.has_row()) [[unlikely]] {  // dead
      destroyed += static_cast<std::uint32_t>(done - released);
      release(ids.subspan(released, done - released));
      released = done + 1;
      continue;
    }
    Chunk& chunk = *chunks[at.chunk()];
    if (!chunk.lone || e.generation == DirectoryLayout::generation_last || (links && hierarchy_.children(e) != 0))
        [[unlikely]]
      break;
    put_entry(directory, e.bits() + Storage::next_generation, gone);
    versions[e.index >> id_page_bits] = version;
    taker.take(chunk, at);
  }
  taker.leave();
  destroyed += static_cast<std::uint32_t>(done - released);
  release(ids.subspan(released, done - released));
  std::uint8_t* const elsewhere = elsewhere_.data();
  const auto to_moved = [&](const Moved&) -> std::vector<Moved>& { return moved_; };
  Runs runs;
  for (const Kept& row : taker.kept()) {
    const Locator at = directory[row.index].locator;
    if (!at.has_row()) continue;
    elsewhere[at.bits()] = 0;
    runs.add(at, row.from, to_moved);
  }
  runs.end(to_moved);
  copy(moved_);
  moved_.clear();
  drop_empty();
  return done;
}

bool BulkRows::change_depth(std::span<const Entity> tree, std::uint32_t from, std::uint32_t to, Entity parent) {
  Storage& s = storage_;
  const DirectoryEntry* const directory = s.ids_.slots();
  if (origins_.size() < tree.size()) origins_.resize(tree.size());
  Locator* const origins = origins_.data();
  std::uint32_t deepest = from;
  constexpr std::uint32_t none = ~0u;
  for (std::size_t i = 0, seen = none; i < tree.size(); ++i) {
    origins[i] = directory[tree[i].index].locator;
    if (origins[i].chunk() == seen) continue;
    seen = origins[i].chunk();
    const Chunk& chunk = this->chunk(origins[i]);
    if (!chunk.archetype->plain()) return false;
    deepest = std::max(deepest, chunk.depth);
  }
  const std::uint32_t count = deepest - from + 1;
  if (levels_.size() < count) levels_.resize(count);
  Taker taker(*this, tree.size());
  {
    const Archetype* archetype = nullptr;
    std::uint32_t depth = 0;
    Chunk* open = nullptr;
    Chunk* const* chunks = s.chunks_.data();
    std::uint8_t* elsewhere = elsewhere_.data();
    for (const Entity e : tree) {
      const Locator at = directory[e.index].locator;
      Chunk& chunk = *chunks[at.chunk()];
      if (chunk.archetype != archetype || chunk.depth != depth || open->count == open->capacity) [[unlikely]] {
        taker.leave();
        archetype = chunk.archetype;
        depth = chunk.depth;
        open = &s.open_chunk(*chunk.archetype, depth + to - from);
        chunks = s.chunks_.data();
        make_room(s.chunk_numbers());
        elsewhere = elsewhere_.data();
        taker.look_again();
      }
      elsewhere[open->locator(s.append_id(e, *open).row).bits()] = 1;
      taker.take(chunk, at);
    }
    taker.leave();
  }
  std::uint8_t* const elsewhere = elsewhere_.data();
  Runs runs;
  const auto to_tree = [&](const Moved& run) -> std::vector<Moved>& { return levels_[chunk(run.to).depth - to].tree; };
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const Locator at = directory[tree[i].index].locator;
    elsewhere[at.bits()] = 0;
    runs.add(at, origins[i], to_tree);
  }
  runs.end(to_tree);
  const auto to_kept = [&](const Moved& run) -> std::vector<Moved>& {
    return levels_[chunk(run.to).depth - from].kept;
  };
  for (const Kept& kept : taker.kept()) {
    const Locator at = directory[kept.index].locator;
    if (chunk(at).depth != chunk(kept.from).depth) continue;  // of the tree itself
    elsewhere[at.bits()] = 0;
    runs.add(at, kept.from, to_kept);
  }
  runs.end(to_kept);
  // Rows of the tree go to a level after its own rows left, and after those that stay moved up: no value is overwritten
  // that is still to be copied.
  for (std::uint32_t i = 0; i < count; ++i) {
    Level& level = levels_[to > from ? count - 1 - i : i];
    copy(level.tree);
    copy(level.kept);
    level.tree.clear();
    level.kept.clear();
  }
  if (const Row top = s.find(tree.front()); top.chunk->depth) top.chunk->parents()[top.row] = parent;
  drop_empty();
  return true;
}

}  // namespace muster
