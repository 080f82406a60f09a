#include "registry/storage/blocks.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

#include "messages/poison.h"

namespace muster {

namespace {
constexpr std::size_t line = 64, page = 4096;
// How much of a shelf was perhaps never used: an eighth, as long as that is no more than 256 KiB, then a part that becomes small.
// Each slab is a place where a column breaks off, so larger ones are better.
constexpr std::size_t share_small = 8, share_large = 32;
constexpr std::size_t share_unused = 8;  // of what is taken
constexpr std::size_t slab_bytes_small = 256u << 10;
constexpr std::size_t slab_bytes_min = 2048, slab_bytes_max = 2u << 20;
constexpr std::size_t gap = poisons ? line : 0;  // so that who runs over a block's end is found

std::size_t slab_bytes_after(std::size_t total) noexcept {
  return std::clamp(std::max(total / share_large, std::min(total / share_small, slab_bytes_small)), slab_bytes_min,
                    slab_bytes_max);
}
/// For one more, so that nothing fails once memory was taken.
void make_room(auto& slabs) {
  if (slabs.size() == slabs.capacity()) slabs.reserve(slabs.size() * 2 + 4);
}
constexpr auto begin_of = [](const auto& slab) noexcept { return slab->begin; };
}  // namespace

Blocks::~Blocks() {
  for (const auto& slab : slabs_) {
    unpoison(slab->begin, bytes_of(*slab));
    ::operator delete(slab->begin, std::align_val_t{slab->align});
  }
}

std::size_t Blocks::bytes_of(const Slab& slab) const noexcept {
  return static_cast<std::size_t>(std::popcount(slab.all)) * (shelves_[slab.shelf].bytes + gap);
}

std::uint32_t Blocks::shelf_of(std::uint32_t purpose, std::uint32_t bytes) {
  const std::uint64_t key = std::uint64_t{purpose} << 32 | bytes;
  if (const std::uint32_t* known = shelf_by_key_.find(key)) return *known;
  const auto number = static_cast<std::uint32_t>(shelves_.size());
  shelves_.push_back({.bytes = bytes});
  return shelf_by_key_.put(key, number);
}

void Blocks::add_slab(std::uint32_t number) {
  Shelf& shelf = shelves_[number];
  // What went back is wanted again: rows come and go in turns here, and should not ask the system each time.
  if (shelf.was_dropped) kept_bytes_ = std::max(kept_bytes_, 2 * dropped_bytes_);
  if (unused_bytes_ > std::max((bytes_ - unused_bytes_) / share_unused, kept_bytes_)) drop_unused();
  const std::size_t room = shelf.bytes + gap;
  const std::size_t blocks = std::clamp<std::size_t>(slab_bytes_after(shelf.total) / room, 1, slab_blocks_max);
  const std::size_t bytes = blocks * room;
  // To begin on a page costs up to one: too much for small slabs, which the cache holds anyhow.
  const std::size_t align = bytes >= 16 * page ? page : line;
  auto slab = std::make_unique<Slab>();
  make_room(slabs_);
  make_room(shelf.slabs);
  slab->begin = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{align}));
  slab->free = slab->all = ~std::uint64_t{0} >> (slab_blocks_max - blocks);
  slab->shelf = number;
  slab->align = static_cast<std::uint32_t>(align);
  poison(slab->begin, bytes);
  shelf.total += bytes;
  bytes_ += bytes;
  unused_bytes_ += bytes;
  const auto at = std::ranges::upper_bound(shelf.slabs, slab->begin, {}, begin_of);
  shelf.open = static_cast<std::size_t>(at - shelf.slabs.begin());
  shelf.slabs.insert(at, slab.get());
  const auto place = std::ranges::upper_bound(slabs_, slab->begin, {}, begin_of);
  slabs_.insert(place, std::move(slab));
}

void Blocks::drop_unused() noexcept {
  const auto unused = [](const auto& slab) { return slab->free == slab->all; };
  dropped_bytes_ = unused_bytes_;
  for (Shelf& shelf : shelves_) {
    shelf.was_dropped = std::erase_if(shelf.slabs, unused) != 0;
    if (shelf.was_dropped) shelf.open = 0;
  }
  std::erase_if(slabs_, [&](const auto& slab) {
    if (!unused(slab)) return false;
    const std::size_t bytes = bytes_of(*slab);
    unpoison(slab->begin, bytes);
    ::operator delete(slab->begin, std::align_val_t{slab->align});
    shelves_[slab->shelf].total -= bytes;
    bytes_ -= bytes;
    return true;
  });
  unused_bytes_ = 0;
}

void* Blocks::take(std::uint32_t purpose, std::uint32_t bytes) {
  const std::uint32_t number = shelf_of(purpose, bytes);
  Shelf& shelf = shelves_[number];
  while (shelf.open < shelf.slabs.size() && shelf.slabs[shelf.open]->free == 0) ++shelf.open;
  if (shelf.open == shelf.slabs.size()) add_slab(number);
  Slab& slab = *shelf.slabs[shelf.open];
  if (slab.free == slab.all) unused_bytes_ -= bytes_of(slab);
  std::byte* const block = slab.begin + static_cast<std::size_t>(std::countr_zero(slab.free)) * (bytes + gap);
  slab.free &= slab.free - 1;
  unpoison(block, bytes);
  return block;
}

void Blocks::give_back(void* block) noexcept {
  const auto* const begin = static_cast<const std::byte*>(block);
  const auto after = std::ranges::upper_bound(slabs_, begin, {}, begin_of);
  Slab& slab = **std::prev(after);
  Shelf& shelf = shelves_[slab.shelf];
  poison(block, shelf.bytes);
  slab.free |= std::uint64_t{1} << static_cast<std::size_t>(begin - slab.begin) / (shelf.bytes + gap);
  const auto at = std::ranges::lower_bound(shelf.slabs, slab.begin, {}, begin_of);
  shelf.open = std::min(shelf.open, static_cast<std::size_t>(at - shelf.slabs.begin()));
  if (slab.free == slab.all) unused_bytes_ += bytes_of(slab);
}

}  // namespace muster
