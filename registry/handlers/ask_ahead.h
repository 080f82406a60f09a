// Prefetches the next chunk of a pass while a handler processes the current one. The processor
// prefetches within a column, but not from one chunk to the next. A prefetch costs nothing if the
// memory is already cached, and it never faults.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "registry/handlers/handler.h"
#include "registry/storage/storage.h"

namespace muster {

/// Prefetches the header of a chunk, which contains the addresses of its columns.
inline void ask_for_header(const Chunk& chunk) noexcept {
  __builtin_prefetch(&chunk);
  __builtin_prefetch(reinterpret_cast<const std::byte*>(&chunk) + 64);
}

/// Prefetches the beginnings of the columns that a handler uses; the processor prefetches the rest.
/// Reads the chunk's header, which should already be in the cache.
inline void ask_for_rows(const Handler& handler, const Chunk& chunk, const std::uint16_t* columns) noexcept {
  const std::uint32_t lines = std::min(4u, 1 + chunk.count / 16);
  for (std::uint32_t i = 0; i < handler.values; ++i) {
    if (columns[i] == no_column) continue;
    const std::byte* const column = chunk.slots()[columns[i]].data;
    for (std::uint32_t line = 0; line < lines; ++line) __builtin_prefetch(column + line * 64);
  }
}

/// Rows of a chunk, together with the columns of these rows that a handler uses.
struct RowsOfChunk {
  Chunk* chunk = nullptr;
  const std::uint16_t* columns = nullptr;
  std::uint32_t begin = 0, end = 0;
};

/// True if a single call of the handler's `rows` function may cover rows of several chunks.
inline bool may_join(const Handler& handler) noexcept { return handler.joins_chunks && handler.followed.empty(); }

/// Calls f(from, bytes, apart) for each column of `next` that the handler uses and that does not
/// immediately follow the same column of `here` in memory. `from` is the first row of the column,
/// `bytes` is the size of a row, and `apart` is the distance in bytes from the end of the column of
/// `here`. If f returns false, stops and returns false.
template <class F>
[[gnu::always_inline]] inline bool each_broken_off(const Handler& handler, const RowsOfChunk& here,
                                                   const RowsOfChunk& next, F&& f) noexcept {
  const ColumnSlot* const slots = next.chunk->slots();
  const ColumnSlot* const before = here.chunk->slots();
  const std::uint32_t* const bytes = next.chunk->archetype->slot_bytes.data();
  const auto look = [&](std::uint16_t slot, std::uint16_t slot_before) {
    if (slot == no_column) return true;
    const std::byte* const from = slots[slot].data + std::size_t{next.begin} * bytes[slot];
    const std::byte* const end =
        slot_before == no_column ? nullptr : before[slot_before].data + std::size_t{here.end} * bytes[slot];
    return from == end ||
           f(from, bytes[slot], reinterpret_cast<std::uintptr_t>(from) - reinterpret_cast<std::uintptr_t>(end));
  };
  for (std::uint32_t i = 0; i < handler.values; ++i)
    if (!look(next.columns[i], here.columns[i])) return false;
  if (handler.takes_parents && next.chunk->depth != 0 &&
      !look(column_parents, here.chunk->depth != 0 ? column_parents : no_column))
    return false;
  return !handler.takes_ids || look(column_ids, column_ids);
}

/// Prefetches the columns of `next`, whose rows follow those of `here`, or lets the handler
/// prefetch them while it processes `here`. In the latter case, context.ahead points to `ahead`
/// until the caller clears it. Columns that continue those of `here` are omitted, because the
/// processor already prefetches them and additional prefetches would only interfere.
inline void ask_for_next(RunContext& context, RowsAhead& ahead, const Handler& handler, const RowsOfChunk& here,
                         const RowsOfChunk& next) noexcept {
  if (!handler.looks_ahead || !handler.followed.empty() || context.storage.rows() < rows_far_away)
    return ask_for_rows(handler, *next.chunk, next.columns);
  ahead.clear(next.end - next.begin);
  each_broken_off(handler, here, next, [&](const std::byte* from, std::uint32_t bytes, std::uintptr_t apart) {
    if (apart >= 64) ahead.add(from, bytes);  // otherwise the column is in the next cache line
    return true;
  });
  if (!handler.takes_ids)
    // Prefetch the id to which RunContext::entity will be set.
    __builtin_prefetch(next.chunk->ids() + next.begin);
  if (!ahead.empty()) context.ahead = &ahead;
}

/// Marks the columns of a chunk that the handler writes as touched.
inline void touch_written(Storage& storage, const Handler& handler, Chunk& chunk, const std::uint16_t* columns) {
  for (std::uint32_t left = handler.written; left != 0; left &= left - 1)
    if (const std::uint16_t slot = columns[std::countr_zero(left)]; slot != no_column) storage.touch(chunk, slot);
}

/// Visits the chunks that match a handler, in row order.
class PassChunks {
 public:
  struct Place {
    Chunk* chunk = nullptr;  ///< null at the end of the pass
    const std::uint16_t* columns = nullptr;
  };
  PassChunks(const Handler& handler, std::uint32_t depths)
      : handler_(handler), depths_(depths), many_(depths > 8 && handler.matched.size() > 32) {
    if (many_) [[unlikely]]
      for (const Archetype* archetype : handler.matched)
        if (archetype->chunks > 0) left_.push_back({archetype, archetype->chunks});
    next_group();
  }
  Place next() noexcept {
    while (at_ == end_)
      if (!next_group()) return {};
    return {*at_++, columns_};
  }

 private:
  bool next_group() noexcept {
    if (many_) [[unlikely]]
      return next_of_many();
    for (; depth_ < depths_; ++depth_, archetype_ = 0)
      while (archetype_ < handler_.matched.size()) {
        const Archetype& archetype = *handler_.matched[archetype_++];
        if (depth_ >= archetype.groups.size() || archetype.groups[depth_].chunks.empty()) continue;
        const std::vector<Chunk*>& chunks = archetype.groups[depth_].chunks;
        at_ = chunks.data();
        end_ = at_ + chunks.size();
        columns_ = handler_.columns(archetype);
        return true;
      }
    at_ = end_ = nullptr;
    return false;
  }

  /// Visits each archetype only down to its deepest row. If all archetypes were visited at every
  /// depth, the cost would be quadratic.
  bool next_of_many() noexcept {
    for (; !left_.empty(); ++depth_, archetype_ = 0) {
      while (archetype_ < left_.size()) {
        Left& left = left_[archetype_++];
        const Archetype& archetype = *left.archetype;
        if (left.chunks == 0 || depth_ >= archetype.groups.size() || archetype.groups[depth_].chunks.empty()) continue;
        const std::vector<Chunk*>& chunks = archetype.groups[depth_].chunks;
        left.chunks -= static_cast<std::uint32_t>(chunks.size());
        at_ = chunks.data();
        end_ = at_ + chunks.size();
        columns_ = handler_.columns(archetype);
        return true;
      }
      std::erase_if(left_, [](const Left& left) { return left.chunks == 0; });
    }
    at_ = end_ = nullptr;
    return false;
  }

  struct Left {
    const Archetype* archetype;
    std::uint32_t chunks;  // number of chunks below the depths that have been visited
  };
  const Handler& handler_;
  const std::uint32_t depths_;
  const bool many_;         // true if there are many archetypes and depths
  std::vector<Left> left_;  // used if many_ is true
  std::uint32_t depth_ = 0;
  std::size_t archetype_ = 0;
  Chunk* const* at_ = nullptr;
  Chunk* const* end_ = nullptr;
  const std::uint16_t* columns_ = nullptr;
};

/// Calls f(rows) for the rows that match a handler, one chunk or several adjacent chunks at a time,
/// and prefetches the rows that follow. Columns that are written across several chunks are touched
/// first.
template <class F>
void each_rows(RunContext& context, const Handler& handler, F&& f) {
  if (handler.matched.empty()) return;
  const bool joins = may_join(handler) && handler.values <= 32;
  PassChunks chunks(handler, context.storage.depths());
  PassChunks::Place next = chunks.next(), later = chunks.next();
  RowsAhead ahead;
  while (next.chunk) {
    RowsOfChunk here{next.chunk, next.columns, 0, next.chunk->count};
    const Group* const group = next.chunk->group;
    while (true) {
      next = std::exchange(later, chunks.next());
      if (later.chunk) ask_for_header(*later.chunk);
      if (!next.chunk) break;
      const RowsOfChunk rows{next.chunk, next.columns, 0, next.chunk->count};
      if (joins && next.chunk->group == group && each_broken_off(handler, here, rows, [](auto...) { return false; })) {
        if (here.end == here.chunk->count) touch_written(context.storage, handler, *here.chunk, here.columns);
        touch_written(context.storage, handler, *next.chunk, next.columns);
        here.end += next.chunk->count;
        continue;
      }
      ask_for_next(context, ahead, handler, here, rows);
      break;
    }
    f(here);
    context.ahead = nullptr;
  }
}

}  // namespace muster
