#include "registry/storage/blocks.h"

#include <algorithm>
#include <new>

#include "messages/poison.h"

namespace muster {

namespace {
constexpr std::size_t line = 64, page = 4096;
constexpr std::size_t share = 32;  // at most this part of a size's memory was never used
constexpr std::size_t slab_bytes_min = 2048, slab_bytes_max = 2u << 20;
constexpr std::size_t gap = poisons ? line : 0;  // so that who runs over a block's end is found
}  // namespace

Blocks::~Blocks() {
  for (const Slab& slab : slabs_) {
    unpoison(slab.begin, slab.bytes);
    ::operator delete(slab.begin, std::align_val_t{slab.align});
  }
}

Blocks::Shelf& Blocks::shelf(std::uint32_t bytes) {
  for (Shelf& shelf : shelves_)
    if (shelf.bytes == bytes) return shelf;
  return shelves_.emplace_back(Shelf{.bytes = bytes});
}

void Blocks::add_slab(Shelf& shelf, std::size_t room) {
  const std::size_t wanted = std::clamp(shelf.total / share, slab_bytes_min, slab_bytes_max);
  const std::size_t bytes = std::max<std::size_t>(wanted / room, 1) * room;
  // To begin on a page costs up to one: too much for small slabs, which the cache holds anyhow.
  const std::size_t align = bytes >= 16 * page ? page : line;
  slabs_.reserve(slabs_.size() + 1);
  shelf.next = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{align}));
  shelf.left = bytes;
  shelf.total += bytes;
  slabs_.push_back({shelf.next, bytes, align});
  poison(shelf.next, bytes);
}

void* Blocks::take(std::uint32_t bytes) {
  Shelf& shelf = this->shelf(bytes);
  void* block;
  if (!shelf.free.empty()) {
    block = shelf.free.back();
    shelf.free.pop_back();
  } else {
    const std::size_t room = bytes + gap;
    if (shelf.left < room) add_slab(shelf, room);
    block = shelf.next;
    shelf.next += room;
    shelf.left -= room;
  }
  unpoison(block, bytes);
  return block;
}

void Blocks::give_back(void* block, std::uint32_t bytes) noexcept {
  poison(block, bytes);
  shelf(bytes).free.push_back(block);
}

}  // namespace muster
