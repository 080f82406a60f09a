// Asks memory for the next chunks of a pass while it works on one: within a column the processor reads ahead by itself,
// but not from one chunk to the next. Asking costs nothing where the memory is in the cache, and never faults.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "registry/handlers/handler.h"
#include "registry/storage/archetype.h"

namespace muster {

/// Asks for the header of a chunk, which says where its columns are.
inline void ask_for_header(const Chunk& chunk) noexcept {
  __builtin_prefetch(&chunk);
  __builtin_prefetch(reinterpret_cast<const std::byte*>(&chunk) + 64);
}

/// Asks for the beginnings of the columns that a handler takes; the processor reads on from there by itself. The
/// chunk's header is read, so it should have come.
inline void ask_for_rows(const Handler& handler, const Chunk& chunk, const std::uint16_t* columns) noexcept {
  const std::uint32_t lines = std::min(4u, 1 + chunk.count / 16);
  for (std::uint32_t i = 0; i < handler.values; ++i) {
    if (columns[i] == no_column) continue;
    const std::byte* const column = chunk.slots()[columns[i]].data;
    for (std::uint32_t line = 0; line < lines; ++line) __builtin_prefetch(column + line * 64);
  }
}

/// The chunks that a handler matches, in the order of their rows.
class PassChunks {
 public:
  struct Place {
    Chunk* chunk = nullptr;  ///< null: there are no more
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

  /// Looks at each archetype as far down as it has rows: to look at all of them at each depth would be quadratic.
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
    std::uint32_t chunks;  // below the depths that were passed
  };
  const Handler& handler_;
  const std::uint32_t depths_;
  const bool many_;         // archetypes and depths
  std::vector<Left> left_;  // of many
  std::uint32_t depth_ = 0;
  std::size_t archetype_ = 0;
  Chunk* const* at_ = nullptr;
  Chunk* const* end_ = nullptr;
  const std::uint16_t* columns_ = nullptr;
};

/// Calls f(chunk, columns) for each chunk that a handler matches, and asks ahead for those that follow.
template <class F>
void each_chunk(const Handler& handler, std::uint32_t depths, F&& f) {
  if (handler.matched.empty()) return;
  PassChunks chunks(handler, depths);
  PassChunks::Place here = chunks.next(), next = chunks.next();
  while (here.chunk) {
    const PassChunks::Place later = chunks.next();
    if (later.chunk) ask_for_header(*later.chunk);
    if (next.chunk) ask_for_rows(handler, *next.chunk, next.columns);
    f(*here.chunk, here.columns);
    here = next;
    next = later;
  }
}

}  // namespace muster
