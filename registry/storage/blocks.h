// The memory of chunks. A shelf holds blocks of one size for one purpose, a component's column say, in slabs: blocks taken one
// after another lie one behind the other. So a pass goes through a column of neighbouring chunks as through one array, and through
// that of the next archetype that came after.
//
//   shelf    | slab: block block block ... | slab: block ... |     the lowest block that is free is taken next
//
// A new slab is a share of what its shelf has already: a small registry stays small. Slabs of which no block is taken wait for their
// shelf, so that rows that come and go ask the system for nothing, until another shelf needs a slab: then they go back to the system
// where they are more than an eighth of what is taken. Where a shelf wants again what it gave back, twice as much is kept from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "registry/storage/flat_map.h"

namespace muster {

class Blocks {
 public:
  Blocks() = default;
  ~Blocks();
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  /// A block of `bytes` on a cache line, with whatever was in it. `bytes` is a multiple of a cache line, not 0. Blocks for
  /// one `purpose`, any number, lie together.
  void* take(std::uint32_t purpose, std::uint32_t bytes);
  /// Takes back what take() returned. The block waits, poisoned under AddressSanitizer, for the next take of its purpose and
  /// size.
  void give_back(void* block) noexcept;
  /// Of all slabs.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::uint32_t slab_blocks_max = 64;  // a bit each
  struct Slab {
    std::byte* begin = nullptr;
    std::uint64_t free = 0, all = 0;  // blocks, by bit
    std::uint32_t shelf = 0, align = 0;
  };
  struct Shelf {
    std::uint32_t bytes = 0;        // of a block
    std::size_t total = 0;          // bytes of all slabs
    std::size_t open = 0;           // no slab before this one has a free block
    bool was_dropped = false;       // some of it went back to the system when slabs did last
    std::vector<Slab*> slabs = {};  // ascending by address
  };
  std::uint32_t shelf_of(std::uint32_t purpose, std::uint32_t bytes);
  void add_slab(std::uint32_t number);
  void drop_unused() noexcept;
  std::size_t bytes_of(const Slab& slab) const noexcept;

  std::vector<Shelf> shelves_;
  FlatMap<std::uint64_t, std::uint32_t> shelf_by_key_;  // purpose << 32 | bytes -> place in shelves_
  std::vector<std::unique_ptr<Slab>> slabs_;            // ascending by address
  std::size_t bytes_ = 0, unused_bytes_ = 0;            // of all; of those of which no block is taken
  std::size_t dropped_bytes_ = 0;                       // that went back to the system last
  std::size_t kept_bytes_ = 0;                          // so much may lie unused, however little is taken
};

}  // namespace muster
