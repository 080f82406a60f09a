#include "registry/handlers/item_loops.h"

namespace muster::detail {

namespace {

constexpr std::uint32_t block = 32;

// Equal generations leave the locator, which is less than this for a row.
bool is_alive(const DirectoryEntry* entry, std::uint64_t target) noexcept {
  return ((target & generation_bits) ^ as_number(entry)) < Storage::no_row;
}

/// Whether a block's targets follow one another, of one generation, and all are alive. Two questions for the whole block in
/// place of four per target.
bool all_in_line(const DirectoryEntry* directory, std::size_t indices, const std::byte* item,
                 std::size_t step) noexcept {
  const std::uint64_t first = as_number(item);
  const auto index = static_cast<std::uint32_t>(first);
  if (index + std::size_t{block} > indices) return false;
  std::uint64_t jumps = 0, differs = 0;
  for (std::uint32_t i = 0; i < block; ++i, item += step) jumps |= (as_number(item) - i) ^ first;
  for (std::uint32_t i = 0; i < block; ++i) differs |= as_number(directory + index + i) ^ (first & generation_bits);
  return jumps == 0 && differs < Storage::no_row;
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
      const std::uint64_t target = as_number(at);
      const auto index = static_cast<std::uint32_t>(target);
      if (index < indices) alive += is_alive(directory + index, target);
    }
  }
  return alive;
}

}  // namespace muster::detail
