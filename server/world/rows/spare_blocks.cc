#include "server/world/rows/spare_blocks.h"

#include <algorithm>
#include <bit>
#include <new>

#include "system/mutex.h"

namespace muster {

SpareBlocks::~SpareBlocks() {
  for (std::size_t place = 0; place < blocks_.size(); ++place)
    while (blocks_[place].first) pop(place);
}

std::size_t SpareBlocks::place_of(std::size_t size) noexcept {
  static_assert(size_of(std::tuple_size_v<decltype(blocks_)> - 1) == largest);
  if (size <= smallest) return 0;
  const auto doublings = static_cast<std::size_t>(std::bit_width((size - 1) / smallest));
  return 2 * doublings - (size <= size_of(2 * doublings - 1) ? 1 : 0);
}

SpareBlocks::Block SpareBlocks::pop(std::size_t place) noexcept {
  Blocks& blocks = blocks_[place];
  if (!blocks.first) return nullptr;
  Spare* const spare = blocks.first;
  blocks.first = spare->next;
  blocks.least = std::min(blocks.least, --blocks.count);
  bytes_ -= size_of(place);
  return Block(reinterpret_cast<std::byte*>(spare));
}

SpareBlocks::Block SpareBlocks::take(std::size_t size) noexcept {
  if (size > largest) return Block(new (std::nothrow) std::byte[size]);
  const std::size_t place = place_of(size);
  {
    const MutexLock lock(mutex_);
    if (Block block = pop(place)) return block;
  }
  return Block(new (std::nothrow) std::byte[size_of(place)]);
}

void SpareBlocks::give(Block block, std::size_t size) noexcept {
  if (!block || size > largest) return;
  const std::size_t place = place_of(size);
  const MutexLock lock(mutex_);
  if (bytes_ + size_of(place) > bytes_max_) return;
  Blocks& blocks = blocks_[place];
  blocks.first = new (block.release()) Spare{blocks.first};
  ++blocks.count;
  bytes_ += size_of(place);
}

void SpareBlocks::settle() noexcept {
  const MutexLock lock(mutex_);
  for (std::size_t place = 0; place < blocks_.size(); ++place) {
    for (std::size_t left = (blocks_[place].least + 7) / 8; left > 0; --left) pop(place);
    blocks_[place].least = blocks_[place].count;
  }
}

std::uint64_t SpareBlocks::bytes() const noexcept {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace muster
