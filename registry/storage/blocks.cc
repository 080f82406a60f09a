#include "registry/storage/blocks.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <utility>

#include "messages/poison.h"

namespace muster {

namespace {
constexpr std::size_t block_line = 64, page_bytes = 4096;
// Limit on the unused fraction of a shelf: an eighth up to 256 KiB, and a smaller fraction above
// that. Larger slabs are better, because columns are interrupted at the boundaries between slabs.
constexpr std::size_t share_small = 8, share_large = 32;
constexpr std::size_t share_unused = 8;  // fraction of the used memory
constexpr std::size_t slab_bytes_small = 256u << 10;
constexpr std::size_t slab_bytes_min = 2048, slab_bytes_max = 2u << 20;
// Limit on the size of a slab for announced blocks, so that the memory of a column that shrinks can
// be returned.
constexpr std::size_t known_bytes_max = 4u << 20;
// Detects writes past the end of a block.
constexpr std::size_t gap = poisons ? block_line : 0;

std::size_t slab_bytes_after(std::size_t total) noexcept {
  return std::clamp(std::max(total / share_large, std::min(total / share_small, slab_bytes_small)), slab_bytes_min,
                    slab_bytes_max);
}
/// Reserves capacity for another slab, so that nothing can fail after the memory has been
/// allocated.
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

Blocks& Blocks::operator=(Blocks&& other) noexcept {
  std::swap(shelves_, other.shelves_);
  std::swap(shelf_by_key_, other.shelf_by_key_);
  std::swap(slabs_, other.slabs_);
  std::swap(bytes_, other.bytes_);
  std::swap(unused_bytes_, other.unused_bytes_);
  std::swap(dropped_bytes_, other.dropped_bytes_);
  std::swap(kept_bytes_, other.kept_bytes_);
  std::swap(expected_slabs_, other.expected_slabs_);
  return *this;
}

std::size_t Blocks::bytes_of(const Slab& slab) const noexcept {
  return std::size_t{slab.blocks} * (shelves_[slab.shelf].bytes + gap);
}

std::uint32_t Blocks::shelf_of(std::uint32_t purpose, std::uint32_t bytes) {
  const std::uint64_t key = std::uint64_t{purpose} << 32 | bytes;
  if (const std::uint32_t* known = shelf_by_key_.find(key)) return *known;
  const auto number = static_cast<std::uint32_t>(shelves_.size());
  shelves_.push_back({.bytes = bytes});
  return shelf_by_key_.put(key, number);
}

std::size_t Blocks::usual_blocks(const Shelf& shelf) const noexcept {
  return std::clamp<std::size_t>(slab_bytes_after(shelf.total) / (shelf.bytes + gap), 1, slab_blocks_max);
}

void Blocks::make_way(const Shelf& shelf) noexcept {
  // Memory that was returned to the system is needed again. From now on, hold more memory, so that
  // repeatedly adding and removing rows does not require a system call each time.
  if (shelf.was_dropped) kept_bytes_ = std::max(kept_bytes_, 2 * dropped_bytes_);
  if (unused_bytes_ > std::max((bytes_ - unused_bytes_) / share_unused, kept_bytes_)) drop_unused();
}

Blocks::Slab& Blocks::add_slab(std::uint32_t number, std::size_t blocks) {
  Shelf& shelf = shelves_[number];
  const std::size_t room = shelf.bytes + gap;
  const std::size_t bytes = blocks * room;
  // Starting at a page boundary wastes up to one page. Small slabs would waste too much, and they
  // fit into the cache anyway.
  const std::size_t align = bytes >= 16 * page_bytes ? page_bytes : block_line;
  auto made = std::make_unique<Slab>();
  make_room(slabs_);
  make_room(shelf.slabs);
  Slab& slab = *made;
  slab.begin = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{align}));
  for (std::size_t left = blocks, i = 0; left != 0; ++i) {
    const std::size_t bits = std::min<std::size_t>(left, 64);
    slab.free[i] = ~std::uint64_t{0} >> (64 - bits);
    left -= bits;
  }
  slab.free_blocks = slab.blocks = static_cast<std::uint32_t>(blocks);
  slab.shelf = number;
  slab.align = static_cast<std::uint32_t>(align);
  poison(slab.begin, bytes);
  shelf.total += bytes;
  shelf.free_blocks += blocks;
  bytes_ += bytes;
  unused_bytes_ += bytes;
  const auto at = std::ranges::upper_bound(shelf.slabs, slab.begin, {}, begin_of);
  shelf.open = std::min(shelf.open, static_cast<std::size_t>(at - shelf.slabs.begin()));
  shelf.slabs.insert(at, &slab);
  const auto place = std::ranges::upper_bound(slabs_, slab.begin, {}, begin_of);
  slabs_.insert(place, std::move(made));
  return slab;
}

void Blocks::expect(std::uint32_t purpose, std::uint32_t bytes, std::size_t count) {
  const std::uint32_t number = shelf_of(purpose, bytes);
  const Shelf& shelf = shelves_[number];
  if (count <= shelf.free_blocks) return;
  std::size_t missing = count - shelf.free_blocks;
  if (missing < usual_blocks(shelf) / 2) return;
  make_way(shelf);
  // make_way() may have dropped unused slabs of this shelf whose blocks were counted as free.
  missing = count - shelf.free_blocks;
  const std::size_t most = std::clamp<std::size_t>(known_bytes_max / (bytes + gap), 1, slab_blocks_max);
  // Create slabs of equal size, so that no slab is much smaller than the others.
  for (std::size_t slabs = (missing + most - 1) / most; slabs != 0; --slabs) {
    const std::size_t blocks = (missing + slabs - 1) / slabs;
    Slab& slab = add_slab(number, blocks);
    slab.expected = true;
    ++expected_slabs_;
    unused_bytes_ -= bytes_of(slab);
    missing -= blocks;
  }
}

void Blocks::forget_expected() noexcept {
  if (expected_slabs_ == 0) return;
  for (const auto& slab : slabs_)
    if (std::exchange(slab->expected, false)) unused_bytes_ += bytes_of(*slab);
  expected_slabs_ = 0;
}

void Blocks::drop_unused() noexcept {
  const auto unused = [](const auto& slab) { return slab->unused(); };
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
    shelves_[slab->shelf].free_blocks -= slab->blocks;
    bytes_ -= bytes;
    return true;
  });
  unused_bytes_ = 0;
}

void* Blocks::take(std::uint32_t purpose, std::uint32_t bytes) {
  const std::uint32_t number = shelf_of(purpose, bytes);
  Shelf& shelf = shelves_[number];
  if (shelf.free_blocks == 0) {
    make_way(shelf);
    add_slab(number, usual_blocks(shelf));
  }
  while (shelf.slabs[shelf.open]->free_blocks == 0) ++shelf.open;
  Slab& slab = *shelf.slabs[shelf.open];
  if (slab.unused()) unused_bytes_ -= bytes_of(slab);
  if (std::exchange(slab.expected, false)) --expected_slabs_;
  while (slab.free[slab.open] == 0) ++slab.open;
  std::uint64_t& free = slab.free[slab.open];
  const std::size_t place = std::size_t{slab.open} * 64 + static_cast<std::size_t>(std::countr_zero(free));
  free &= free - 1;
  --slab.free_blocks;
  --shelf.free_blocks;
  std::byte* const block = slab.begin + place * (bytes + gap);
  unpoison(block, bytes);
  return block;
}

void Blocks::give_back(void* block) noexcept {
  const auto* const begin = static_cast<const std::byte*>(block);
  const auto after = std::ranges::upper_bound(slabs_, begin, {}, begin_of);
  Slab& slab = **std::prev(after);
  Shelf& shelf = shelves_[slab.shelf];
  poison(block, shelf.bytes);
  const std::size_t place = static_cast<std::size_t>(begin - slab.begin) / (shelf.bytes + gap);
  slab.free[place / 64] |= std::uint64_t{1} << place % 64;
  slab.open = std::min(slab.open, static_cast<std::uint32_t>(place / 64));
  ++slab.free_blocks;
  ++shelf.free_blocks;
  const auto at = std::ranges::lower_bound(shelf.slabs, slab.begin, {}, begin_of);
  shelf.open = std::min(shelf.open, static_cast<std::size_t>(at - shelf.slabs.begin()));
  if (slab.unused()) unused_bytes_ += bytes_of(slab);
}

}  // namespace muster
