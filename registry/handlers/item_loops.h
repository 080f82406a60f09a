// Runs a batch of single-entity messages through one handler, in loops into which the handler is
// inlined. The effects are the same as on Delivery's general path, which delivers one message at a
// time.
//
//   walk          takes the messages in order. While targets stay in one chunk, it knows its columns.
//     in_line     checks a block of messages at once: if its targets and their rows are adjacent,
//                 walk goes through these rows without further checks.
//   few           does not look ahead: for runs so short that setting up a walk costs more.
//   over_chunks   remembers the columns of every chunk: for targets that jump between chunks. If
//                 several handlers take the run in turn, the rows were looked up once for all of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "messages/batch.h"
#include "registry/handlers/handler.h"
#include "registry/storage/storage.h"

namespace muster::detail {

inline Entity target_of(const std::byte* item) noexcept {
  Entity target;
  std::memcpy(&target, item, sizeof target);
  return target;
}
static_assert(sizeof(ItemCounts) == 8 && offsetof(ItemCounts, dead) == 4);

/// Like Storage::locate(), but for loops that have the directory in a local variable.
[[gnu::always_inline]] inline std::uint64_t locate_in(const DirectoryEntry* directory, std::size_t indices,
                                                      Entity e) noexcept {
  return e.index < indices ? locator_of(directory[e.index], e) : ~std::uint64_t{0};
}
/// Returns the number of items whose targets are alive.
std::uint32_t count_alive(const Storage& storage, const ItemRun& run) noexcept;
/// True if a run is long enough to make remembering the columns of chunks worthwhile.
inline bool jumps(const Storage& storage, const ItemRun& run) noexcept {
  return run.count >= 64 && storage.chunk_numbers() > 1;
}
/// Writes the places of the targets' rows to `places`, one for each item, for use as
/// ItemRun::places.
void find_places(const Storage& storage, const ItemRun& run, std::uint32_t* places) noexcept;

/// Rows of a chunk for which a handler is called.
struct ChunkRows {
  RunContext& context;
  Chunk& chunk;
  const std::uint16_t* columns;
  std::uint32_t begin, end;
  Entity other = {};  // the entity that the message names, if any parameter needs it
};

/// `Call` is an Invoker (registry/handlers/signature.h).
template <class Call>
struct ItemLoops {
  using Message = typename Call::Message;
  using F = typename Call::Callable;
  /// The offset of the payload in an item that has no causes, and the size of such an item.
  static constexpr std::uint32_t offset = payload_offset_for(BatchKind::each, false, alignof(Message));
  static constexpr std::uint32_t bytes = item_bytes_for(offset, sizeof(Message), alignof(Message));
  /// True if lookups for later rows remain valid during a call, and if the handler's values can be
  /// found from the row alone. A handler that spawns takes ids, which may move the directory.
  static constexpr bool looks_ahead = !Call::asks_other && !Call::spawns && !Call::whole_rows;
  static constexpr std::uint32_t block = 32;
  static constexpr std::uint32_t jump_block = 128;  ///< number of messages that over_chunks looks
                                                    ///< ahead

  static ItemCounts run(RunContext& context, const Handler& handler, const ItemRun& items) {
    if constexpr (looks_ahead)
      if (items.bytes == bytes && items.offset == offset) [[likely]] {
        if constexpr (Call::by_chunk && Call::parameters != 0)
          if (jumps(context.storage, items))
            return items.places ? over_chunks<true>(context, handler, items, Call::every)
                                : over_chunks<false>(context, handler, items, Call::every);
        return walk<true>(context, handler, items);
      }
    return walk<false>(context, handler, items);
  }
  static constexpr std::uint64_t one_dead = std::uint64_t{1} << 32;
  /// Delivers a short batch. Each handler has its own instance of this function, so the type of the
  /// batch alone determines the call. If types are in random order, the processor mispredicts the
  /// call, but it detects the misprediction sooner than if it first had to find the target's row.
  static ItemCounts few(RunContext& context, const Handler& handler, const std::byte* at, std::uint32_t count) {
    const Storage& storage = context.storage;
    std::uint64_t counts = 0;  // lower half: handled; upper half: dead; both in one register
    do {
      if (const Row found = storage.find(target_of(at)); !found) [[unlikely]] {
        counts += one_dead;
      } else if (const std::uint16_t* columns = handler.bound[found.chunk->archetype_index]) [[likely]] {
        context.entity = target_of(at).bits();
        if (!Call::all_touched(storage, *found.chunk, columns, Call::every)) [[unlikely]]
          return few_untouched(context, handler, at, count, counts);
        Call::touched_row(context, handler, columns, const_cast<std::byte*>(at + offset), *found.chunk, found.row);
        ++counts;
      }
      at += bytes;
    } while (--count != 0);
    return std::bit_cast<ItemCounts>(counts);
  }

 private:
  /// Delivers the remaining messages of a short batch, starting with the first one whose columns
  /// have not been touched yet. The call is the last action of few(), so few() does not have to
  /// save registers.
  [[gnu::noinline]] static ItemCounts few_untouched(RunContext& context, const Handler& handler, const std::byte* at,
                                                    std::uint32_t count, std::uint64_t counts) {
    const Row found = context.storage.find(target_of(at));
    Call::first_row(context, handler, handler.bound[found.chunk->archetype_index], const_cast<std::byte*>(at + offset),
                    *found.chunk, found.row);
    ++counts;
    if (count != 1) counts += std::bit_cast<std::uint64_t>(few(context, handler, at + bytes, count - 1));
    return std::bit_cast<ItemCounts>(counts);
  }
  /// If `usual` is true, the items have the compile-time layout given by `offset` and `bytes`.
  template <bool usual>
  static ItemCounts walk(RunContext& context, const Handler& handler, const ItemRun& items) {
    F& f = Call::callable(handler);
    const Storage& storage = context.storage;
    const DirectoryEntry* const directory = storage.ids().slots();
    const std::size_t indices = storage.ids().indices();
    const std::size_t step = usual ? bytes : items.bytes, to_payload = usual ? offset : items.offset;
    ItemCounts counts;
    const std::byte* at = items.first;
    std::uint32_t left = items.count;
    while (left != 0) {
      const Row found = storage.find(target_of(at));
      const std::uint16_t* columns = found ? handler.bound[found.chunk->archetype_index] : nullptr;
      if (!columns) {
        if (!found) ++counts.dead;
        at += step;
        --left;
        continue;
      }
      std::uint32_t row = found.row;
      const std::uint64_t first_locator = found.chunk->locator(0).bits();
      ChunkRows rows{context, *found.chunk, columns, row, row + 1};
      if constexpr (Call::asks_other) rows.other = Call::other_of(at + to_payload);
      auto bases = Call::bases_of(rows, Call::every);
      const std::uint32_t before = left;
      std::uint32_t stop = left;  // where to try the next block

      // Checks whether the next message is for a row of this chunk. If so, finds the row.
      const auto next = [&] {
        if (left == 0 || !looks_ahead) return false;
        const Entity target = target_of(at);
        if (target.index >= indices) return false;
        // The locator's row if the locator is in this chunk; otherwise, a number greater than any
        // row.
        const std::uint64_t at_row = locator_of(directory[target.index], target) ^ first_locator;
        if (at_row >= chunk_rows_max) return false;
        row = static_cast<std::uint32_t>(at_row);
        return true;
      };
      for (bool here = true; here; here = next()) {
        if constexpr (usual && Call::plain) {
          if (left == stop) {
            stop = left > block ? left - block : 0;
            if (left >= block && in_line(at, directory, indices)) {
              Call::rows_in_line(f, at + offset, row, block, bases);
              at += block * bytes;
              left -= block;
              stop = left;
              continue;
            }
          }
        }
        if constexpr (Call::whole_rows) rows.begin = row, rows.end = row + 1;
        Call::call_row(f, const_cast<std::byte*>(at + to_payload), bases, rows, row, Call::every);
        at += step;
        --left;
      }
      counts.handled += before - left;
    }
    return counts;
  }

  /// True if the indices of the next `block` targets are consecutive, and their rows are
  /// consecutive in a single chunk. The first target must have a row.
  static bool in_line(const std::byte* item, const DirectoryEntry* directory, std::size_t indices) noexcept {
    const std::uint64_t first = target_of(item).bits();
    const auto index = static_cast<std::uint32_t>(first);
    if (target_of(item + (block - 1) * bytes).index - index != block - 1) return false;
    if (index + std::size_t{block} > indices) return false;
    const DirectoryEntry* const entry = directory + index;
    if (entry->locator.row() > chunk_rows_max - block) return false;
    // If all targets differ from their entries by the same number, the locators ascend along with
    // the indices, and the generations match.
    const auto number = [entry](std::uint32_t i) { return std::bit_cast<std::uint64_t>(entry[i]); };
    const std::uint64_t apart = number(0) - first;
    std::uint64_t differs = 0;
    std::uint32_t jumps = 0;
    for (std::uint32_t i = 0; i < block; ++i) {
      const std::uint64_t target = target_of(item + i * bytes).bits();
      differs |= (number(i) - target) ^ apart;
      jumps |= (static_cast<std::uint32_t>(target) - i) ^ index;
    }
    return (differs | jumps) == 0;
  }

  /// Remembers the result of bases_of() for each chunk, starting at the first message to the chunk.
  /// `placed` is true if items.places contains the rows.
  template <bool placed, std::size_t... I>
  [[gnu::noinline]] static ItemCounts over_chunks(RunContext& context, const Handler& handler, const ItemRun& items,
                                                  std::index_sequence<I...> all) {
    F& f = Call::callable(handler);
    const Storage& storage = context.storage;
    const DirectoryEntry* const directory = storage.ids().slots();
    const std::size_t indices = storage.ids().indices();
    const std::uint32_t chunks = storage.chunk_numbers();
    using Bases = std::array<void*, sizeof...(I)>;
    Bases* bases;
    std::uint8_t* known;  // 0 if unknown; otherwise `matches` or `lacks`
    constexpr std::uint8_t matches = 1, lacks = 2;
    {
      std::vector<std::byte>& memory = context.chunk_bases;
      if (memory.size() < chunks * (sizeof(Bases) + 1)) memory.resize(chunks * (sizeof(Bases) + 1));
      bases = reinterpret_cast<Bases*>(memory.data());
      known = reinterpret_cast<std::uint8_t*>(bases + chunks);
      std::memset(known, 0, chunks);
    }
    const bool far = storage.rows() >= rows_in_cache;
    ItemCounts counts;
    const std::byte* at = items.first;
    const std::uint32_t* places = items.places;
    for (std::uint32_t left = items.count; left != 0;) {
      // Targets that are in line are handled by walk().
      std::uint32_t n = left < jump_block ? left : jump_block;
      if (target_of(at + (n - 1) * bytes).index - target_of(at).index == n - 1) {
        while (left - n >= jump_block &&
               target_of(at + (n + jump_block - 1) * bytes).index - target_of(at).index == n + jump_block - 1)
          n += jump_block;
        const ItemCounts near = walk<true>(context, handler, {at, n, bytes, offset});
        counts.handled += near.handled;
        counts.dead += near.dead;
        at += n * bytes;
        if constexpr (placed) places += n;
        left -= n;
        continue;
      }
      left -= n;
      if constexpr (!placed)
        if (far)
          for (std::uint32_t i = n, end = n + std::min(left, jump_block); i < end; ++i)
            if (const auto index = target_of(at + i * bytes).index; index < indices)
              __builtin_prefetch(directory + index);
      // Finds the messages that match the handler. Does not use a branch, because a branch would be
      // mispredicted for random targets.
      struct {
        std::uint32_t place, item;
      } own[jump_block];
      std::uint32_t owned = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        std::uint64_t number;
        if constexpr (placed)
          number = places[i];
        else
          number = locate_in(directory, indices, target_of(at + i * bytes));
        if (number >= Locator::no_row) [[unlikely]] {
          ++counts.dead;
          continue;
        }
        const Locator place = Locator::from_bits(static_cast<std::uint32_t>(number));
        const std::uint32_t chunk = place.chunk();
        if (known[chunk] == 0) [[unlikely]] {
          const bool does = learn(context, handler, chunk, bases[chunk], all);
          if (!does) bases[chunk].fill(known);  // only prefetched, never used
          known[chunk] = does ? matches : lacks;
        }
        own[owned] = {place.bits(), i};
        owned += known[chunk] & matches;
        if (far) Call::prefetch(bases[chunk].data(), place.row(), all);
      }
      for (std::uint32_t i = 0; i < owned; ++i) {
        const Locator place = Locator::from_bits(own[i].place);
        const std::byte* const item = at + own[i].item * std::size_t{bytes};
        Call::call_at(f, const_cast<std::byte*>(item + offset), target_of(item), place.row(),
                      bases[place.chunk()].data(), all);
      }
      counts.handled += owned;
      at += n * bytes;
      if constexpr (placed) places += n;
    }
    return counts;
  }
  /// Finds the bases of a chunk. Returns false if the chunk does not match the handler.
  template <class Bases, std::size_t... I>
  [[gnu::noinline]] static bool learn(RunContext& context, const Handler& handler, std::uint32_t number, Bases& bases,
                                      std::index_sequence<I...>) {
    Chunk& chunk = *context.storage.chunk(number);
    const std::uint16_t* columns = handler.bound[chunk.archetype_index];
    if (!columns) return false;
    const auto found = Call::bases_of(ChunkRows{context, chunk, columns, 0, 0}, Call::every);
    ((bases[I] = const_cast<void*>(static_cast<const void*>(std::get<I>(found)))), ...);
    return true;
  }
};

}  // namespace muster::detail
