#include "registry/storage/bulk_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace muster {

namespace {

/// Copies values of `bytes` bytes each between the rows of two columns.
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

/// Writes `count` adjacent copies of a value.
void fill_values(std::byte* to, const std::byte* value, std::uint32_t size, std::uint32_t count) noexcept {
  const auto fill = [&]<std::size_t bytes>() {
    struct Value {
      std::byte all[bytes];
    } one;
    std::memcpy(&one, value, bytes);
    for (std::uint32_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, &one, bytes);
  };
  switch (size) {
    case 4: return fill.operator()<4>();
    case 8: return fill.operator()<8>();
    case 16: return fill.operator()<16>();
    default:
      for (std::uint32_t i = 0; i < count; ++i) copy_value(to + std::size_t{i} * size, value, size);
  }
}

}  // namespace

void BulkRows::create(std::span<const Entity> ids, Archetype& archetype, std::span<const ValuePlace> values,
                      const std::byte* payload, std::vector<Entity>& refused) {
  Storage& s = storage_;
  for (std::size_t next = 0; next < ids.size();) {
    // Ids that are refused must not open a chunk.
    if (!s.can_be_made(ids[next])) {
      refused.push_back(ids[next++]);
      continue;
    }
    // Marks each id that gets a row immediately, because an id that occurs twice in the list can be
    // created only once.
    std::size_t end = next;
    for (; end < ids.size() && s.can_be_made(ids[end]); ++end)
      s.ids_.slot(ids[end].index).locator = Locator(IdState::free);
    const auto expected = s.expect_rows(archetype, 0, end - next);
    while (next < end) {
      const Storage::Run run = s.create_run(ids.subspan(next, end - next), archetype);
      next += run.count;
      for (const ValuePlace& value : values)
        fill_values(run.chunk->slots()[value.slot].data + std::size_t{run.begin} * value.size, payload + value.offset,
                    value.size, run.count);
    }
  }
}

/// Combines rows into runs, and appends each run to the list that where(run) returns.
class BulkRows::Runs {
 public:
  template <class F>
  [[gnu::always_inline]] void add(Locator to, Locator from, F where) {
    const std::uint64_t both = std::uint64_t{from.bits()} << 32 | to.bits();
    if (both == next_ && rows_ < rows_max_) {
      ++rows_;
      next_ += one_row;
      return;
    }
    end(where);
    rows_ = 1;
    rows_max_ = chunk_rows_max - std::max(to.row(), from.row());
    next_ = both + one_row;
  }
  template <class F>
  [[gnu::always_inline]] void end(F where) {
    if (rows_ == 0) return;
    const std::uint64_t first = next_ - rows_ * one_row;
    const Moved run{Locator::from_bits(static_cast<std::uint32_t>(first)),
                    Locator::from_bits(static_cast<std::uint32_t>(first >> 32)), rows_};
    where(run).push_back(run);
    rows_ = 0;
  }

 private:
  static constexpr std::uint64_t one_row = std::uint64_t{1} << 32 | 1;
  std::uint64_t next_ = 0;  // both locators of the row after the run
  std::uint32_t rows_ = 0;
  std::uint32_t rows_max_ = 0;  // limit below which neither end crosses into another chunk
};

/// The direction in which rows are processed.
constexpr std::uint32_t forwards = 1, backwards = ~0u;

/// Removes rows of a single group. The state is kept in registers and written to the group at the
/// end, so all functions are inlined. Rows are processed in runs, because rows that are removed
/// together were usually added together. The holes of a run are filled one after another with the
/// last rows of the group, from the end toward the front.
class BulkRows::Taker {
 public:
  /// Prepares for removing at most `rows` rows.
  [[gnu::always_inline]] Taker(BulkRows& bulk, std::size_t rows)
      : bulk_(bulk), storage_(bulk.storage_), directory_(storage_.ids_.slots()) {
    if (bulk.kept_.size() < rows) bulk.kept_.resize(rows);
    kept_ = bulk.kept_.data();
    elsewhere_ = bulk.elsewhere_.data();
  }
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  /// Removes up to `rows` rows: the row at `at` and the rows after it, or before it if it is the
  /// last row of its group. go(at, way, rows) releases their ids and returns the number of ids
  /// released, which is at least one. The ids of the group's last rows fill the holes, one after
  /// another. Returns the number of rows removed.
  template <class F>
  [[gnu::always_inline]] std::size_t take(Chunk& chunk, Locator at, std::size_t rows, F go) {
    if (chunk.group != group_) [[unlikely]]
      enter(*chunk.group);
    std::size_t taken;
    if (at == first_ + (end_ - 1)) {
      taken = go(at, backwards, std::min<std::size_t>(rows, end_));
      end_ -= static_cast<std::uint32_t>(taken);
      std::memset(elsewhere_ + first_.bits() + end_, 0, taken);
    } else {
      // A row that fills a hole must not itself be one of the rows to be removed.
      const std::uint32_t row = at.row();
      const std::uint32_t most = &chunk == last_ ? (end_ - row) / 2 : std::min(end_, chunk.count - row);
      taken = go(at, forwards, std::min<std::size_t>(rows, most));
      if (&chunk != last_) storage_.touch_all(chunk);
      fill(chunk.ids() + row, at, static_cast<std::uint32_t>(taken));
    }
    if (end_ == 0) [[unlikely]]
      leave_chunk();
    return taken;
  }
  [[gnu::always_inline]] void leave() noexcept {
    if (!group_) return;
    const std::uint32_t taken = last_->count - end_;
    last_->count = end_;
    storage_.rows_ -= taken;
    storage_.structure_ += taken;
    group_ = nullptr;
  }
  /// Must be called after chunks were added, because this may reallocate `elsewhere_`.
  void look_again() noexcept { elsewhere_ = bulk_.elsewhere_.data(); }
  /// Returns the entities that have filled holes. Each is listed only once.
  std::span<const Kept> kept() const noexcept { return {bulk_.kept_.data(), kept_}; }

 private:
  /// Fills `rows` rows with the last rows of the group.
  [[gnu::always_inline]] void fill(Entity* to, Locator at, std::uint32_t rows) noexcept {
    DirectoryEntry* const directory = directory_;
    const Entity* const ids = ids_;
    std::uint8_t* const filled = elsewhere_ + at.bits();
    std::uint8_t* const left = elsewhere_ + first_.bits();
    const Locator first = first_;
    Kept* kept = kept_;
    std::uint32_t end = end_;
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::uint64_t filler = ids[--end].bits();
      const auto index = static_cast<std::uint32_t>(filler);
      const bool known = left[end] != 0;
      left[end] = 0;
      filled[i] = 1;
      Storage::put_id(to + i, filler);
      directory[index].locator = at + i;
      *kept = {index, first + end};
      kept += known ? 0 : 1;
    }
    kept_ = kept;
    end_ = end;
  }
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

/// Frees the ids and directory entries of destroyed entities.
struct BulkRows::Freed {
  DirectoryEntry* directory;
  std::uint64_t* versions;  // versions of the directory's pages
  std::uint64_t version;
  std::uint32_t indices;
  const Hierarchy* hierarchy;  // null if no entity has children

  /// Frees the ids in `ids`. Stops at the first one whose entity is not at the expected row or does
  /// not stand alone. The expected rows are `at` and the following ones in direction `way`. A
  /// separate function, so that its variables stay in registers.
  [[gnu::noinline]] std::size_t go(const Entity* ids, Locator at, std::uint32_t way, std::size_t rows) const noexcept {
    DirectoryEntry* const entries = directory;
    std::uint64_t* const marks = versions;
    const std::uint64_t mark = version;
    const std::uint32_t end = indices;
    const Hierarchy* const links = hierarchy;
    for (std::size_t i = 0; i < rows; ++i, at = at + way) {
      const std::uint64_t bits = ids[i].bits(), generation = bits & generation_mask;
      const auto index = static_cast<std::uint32_t>(bits);
      if (index >= end || std::bit_cast<std::uint64_t>(entries[index]) != (generation | at.bits())) return i;
      if (generation == std::uint64_t{DirectoryLayout::generation_last} << 32) [[unlikely]]
        return i;
      if (links && links->children(ids[i]) != 0) [[unlikely]]
        return i;
      put_entry(entries, bits + Storage::next_generation, Locator(IdState::free));
      marks[index >> id_page_bits] = mark;
    }
    return rows;
  }
};

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
  const Freed freed{directory, versions, version, indices, links ? &hierarchy_ : nullptr};
  while (done < ids.size()) {
    const Entity e = ids[done];
    const Locator at =
        e.index < indices && directory[e.index].generation == e.generation ? directory[e.index].locator : gone;
    if (!at.has_row()) [[unlikely]] {  // the entity is dead
      destroyed += static_cast<std::uint32_t>(done - released);
      release(ids.subspan(released, done - released));
      released = ++done;
      continue;
    }
    Chunk& chunk = *chunks[at.chunk()];
    if (!chunk.lone || e.generation == DirectoryLayout::generation_last || (links && hierarchy_.children(e) != 0))
        [[unlikely]]
      break;
    const Entity* const next = ids.data() + done;
    done += taker.take(chunk, at, ids.size() - done, [&](Locator first, std::uint32_t way, std::size_t rows) {
      return freed.go(next, first, way, rows);
    });
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

/// Moves consecutive entities to other rows.
struct BulkRows::Goers {
  DirectoryEntry* directory;
  const Entity* ids;
  Entity* into;
  Locator first;

  /// Moves the entities at `at` and in the following rows, in direction `way`.
  [[gnu::noinline]] std::size_t go(Locator at, std::uint32_t way, std::size_t rows) const noexcept {
    const Goers self = *this;
    for (std::size_t i = 0; i < rows; ++i, at = at + way) {
      const std::uint64_t id = self.ids[i].bits();
      Locator& locator = self.directory[static_cast<std::uint32_t>(id)].locator;
      if (locator != at) return i;
      locator = self.first + static_cast<std::uint32_t>(i);
      Storage::put_id(self.into + i, id);
    }
    return rows;
  }
};

bool BulkRows::change_depth(std::span<const Entity> tree, std::uint32_t from, std::uint32_t to, Entity parent) {
  Storage& s = storage_;
  DirectoryEntry* const directory = s.ids_.slots();
  if (origins_.size() < tree.size()) origins_.resize(tree.size());
  Locator* const origins = origins_.data();
  std::uint32_t deepest = from;
  constexpr std::uint32_t none = ~0u;
  std::uint32_t seen = none;
  for (Locator* origin = origins; const Entity& e : tree) {
    const Locator at = directory[e.index].locator;
    *origin++ = at;
    if (at.chunk() == seen) continue;
    seen = at.chunk();
    const Chunk& of = chunk(at);
    if (!of.archetype->plain()) return false;
    deepest = std::max(deepest, of.depth);
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
    for (std::size_t done = 0; done < tree.size();) {
      const Locator at = directory[tree[done].index].locator;
      Chunk& chunk = *chunks[at.chunk()];
      if (chunk.archetype != archetype || chunk.depth != depth || open->count == open->capacity) [[unlikely]] {
        taker.leave();
        archetype = chunk.archetype;
        depth = chunk.depth;
        open = &s.open_chunk(*chunk.archetype, depth + to - from);
        s.touch_all(*open);
        chunks = s.chunks_.data();
        make_room(s.chunk_numbers());
        elsewhere = elsewhere_.data();
        taker.look_again();
      }
      const std::uint32_t begin = open->count;
      const Locator first = open->locator(begin);
      const Goers goers{directory, tree.data() + done, open->ids() + begin, first};
      const auto moved = static_cast<std::uint32_t>(
          taker.take(chunk, at, std::min<std::size_t>(tree.size() - done, open->capacity - begin),
                     [&](Locator place, std::uint32_t way, std::size_t rows) { return goers.go(place, way, rows); }));
      std::memset(elsewhere + first.bits(), 1, moved);
      s.add_rows(*open, moved);
      done += moved;
    }
    taker.leave();
  }
  std::uint8_t* const elsewhere = elsewhere_.data();
  Runs runs;
  const auto to_tree = [&](const Moved& run) -> std::vector<Moved>& {
    std::memset(elsewhere + run.to.bits(), 0, run.rows);
    return levels_[chunk(run.to).depth - to].tree;
  };
  for (const Locator* origin = origins; const Entity& e : tree)
    runs.add(directory[e.index].locator, *origin++, to_tree);
  runs.end(to_tree);
  const auto to_kept = [&](const Moved& run) -> std::vector<Moved>& {
    return levels_[chunk(run.to).depth - from].kept;
  };
  for (const Kept& kept : taker.kept()) {
    const Locator at = directory[kept.index].locator;
    if (!elsewhere[at.bits()]) continue;  // belongs to the tree itself
    elsewhere[at.bits()] = 0;
    runs.add(at, kept.from, to_kept);
  }
  runs.end(to_kept);
  // The rows of the tree are moved to a level after the level's own rows have left and its
  // remaining rows have moved up. Thus, no value is overwritten before it has been copied.
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
