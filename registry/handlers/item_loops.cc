#include "registry/handlers/item_loops.h"

namespace muster::detail {

namespace {

constexpr std::uint32_t block = 32;

/// True if the targets of a block are consecutive, have the same generation, and are all alive. Two
/// tests for the whole block replace four tests per target.
bool all_in_line(const DirectoryEntry* directory, std::size_t indices, const std::byte* item,
                 std::size_t step) noexcept {
  const Entity first = target_of(item);
  if (first.index + std::size_t{block} > indices) return false;
  const DirectoryEntry* const entry = directory + first.index;
  std::uint64_t jumps = 0, differs = 0;
  for (std::uint32_t i = 0; i < block; ++i, item += step) jumps |= (target_of(item).bits() - i) ^ first.bits();
  for (std::uint32_t i = 0; i < block; ++i) differs |= locator_of(entry[i], first);
  return jumps == 0 && differs < Locator::no_row;
}

}  // namespace

std::uint32_t count_alive(const Storage& storage, const ItemRun& run) noexcept {
  const DirectoryEntry* const directory = storage.ids().slots();
  const std::size_t indices = storage.ids().indices(), step = run.bytes;
  std::uint32_t alive = 0;
  const std::byte* at = run.first;
  for (std::uint32_t left = run.count; left != 0;) {
    std::uint32_t some = std::min(left, block);
    left -= some;
    if (some == block && all_in_line(directory, indices, at, step)) {
      alive += block;
      at += block * step;
      continue;
    }
    for (; some != 0; --some, at += step) {
      const Entity target = target_of(at);
      if (target.index < indices) alive += locator_of(directory[target.index], target) < Locator::no_row;
    }
  }
  return alive;
}

void find_places(const Storage& storage, const ItemRun& run, std::uint32_t* places) noexcept {
  const DirectoryEntry* const directory = storage.ids().slots();
  const std::size_t indices = storage.ids().indices(), step = run.bytes;
  constexpr std::uint32_t ahead = 64;
  const std::uint32_t far = storage.rows() >= rows_in_cache && run.count > ahead ? run.count - ahead : 0;
  const std::byte* at = run.first;
  for (std::uint32_t i = 0; i < run.count; ++i, at += step) {
    if (i < far)
      if (const auto index = target_of(at + ahead * step).index; index < indices) __builtin_prefetch(directory + index);
    const std::uint64_t number = locate_in(directory, indices, target_of(at));
    places[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(number, Locator::no_row));
  }
}

}  // namespace muster::detail
