#include "registry/item_loops.h"

namespace muster::detail {

std::uint32_t count_alive(const Storage& storage, const ItemRun& run) noexcept {
  const DirectoryEntry* const directory = storage.ids().slots();
  const std::size_t indices = storage.ids().indices();
  std::uint32_t alive = 0;
  const std::byte* at = run.first;
  for (std::uint32_t left = run.count; left != 0; --left, at += run.bytes) {
    const std::uint64_t target = as_number(at);
    const auto index = static_cast<std::uint32_t>(target);
    if (index >= indices) continue;
    // Equal generations leave the locator, which is less than this for a row.
    alive += ((target & generation_bits) ^ as_number(directory + index)) < 0x80000000u;
  }
  return alive;
}

}  // namespace muster::detail
