// The memory of chunks. A shelf holds blocks of one size for one purpose, such as a component's
// column, in slabs. Blocks that are taken in sequence are contiguous, so a pass reads a column of
// neighboring chunks like one array, followed by that of the archetype created next.
//
//   shelf    | slab: block block block ... | slab: block ... |     the lowest free block is taken next
//
// The size of a new slab is a fraction of the memory that its shelf already holds, so a small
// registry stays small. If the number of blocks is announced, slabs are large and end with the last
// block, so that no memory is unused and a column is interrupted once per 4 MiB. An unused slab
// stays with its shelf, so adding and removing rows repeatedly needs no system calls. When another
// shelf needs a slab, unused slabs are returned to the system if they are more than an eighth of
// the used memory. If a shelf then needs memory that it has returned, twice as much is held from
// then on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "registry/storage/flat_map.h"

namespace muster {

class Blocks {
 public:
  Blocks() = default;
  ~Blocks();
  Blocks(Blocks&& other) noexcept { *this = std::move(other); }
  /// Exchanges everything with `other`.
  Blocks& operator=(Blocks&& other) noexcept;
  /// Returns a cache-line-aligned block of `bytes`, with arbitrary contents. `bytes` must be a
  /// nonzero multiple of the cache line. Blocks for one `purpose`, which may be any number, are
  /// kept together.
  void* take(std::uint32_t purpose, std::uint32_t bytes);
  /// Takes back a block from take(). It is kept, poisoned under AddressSanitizer, for the next
  /// take() of its purpose and size.
  void give_back(void* block) noexcept;
  /// Announces that `count` blocks will be taken next. Blocks beyond the free ones get slabs that
  /// fit exactly, unless a usual slab is much larger. The slabs stay until forget_expected(), even
  /// while unused. If memory runs out, only some of the blocks are expected, and nothing else
  /// changes.
  void expect(std::uint32_t purpose, std::uint32_t bytes, std::size_t count);
  /// Stops expecting blocks that were announced but not taken.
  void forget_expected() noexcept;
  /// Bytes of all slabs.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::uint32_t slab_blocks_max = 512;
  struct Slab {
    std::byte* begin = nullptr;
    std::array<std::uint64_t, slab_blocks_max / 64> free{};  // free blocks, as bits

    // No word of `free` before this one has a bit set.
    std::uint32_t open = 0;
    std::uint32_t free_blocks = 0, blocks = 0;
    std::uint32_t shelf = 0, align = 0;
    bool expected = false;  // announced; stays although no block has been taken yet
    bool unused() const noexcept { return free_blocks == blocks && !expected; }
  };
  struct Shelf {
    std::uint32_t bytes = 0;  // size of a block
    std::size_t total = 0;    // bytes of all slabs
    std::size_t free_blocks = 0;
    std::size_t open = 0;           // no slab before this index has a free block
    bool was_dropped = false;       // memory of this shelf was returned to the system last time
    std::vector<Slab*> slabs = {};  // ascending by address
  };
  std::uint32_t shelf_of(std::uint32_t purpose, std::uint32_t bytes);
  /// The number of blocks in a shelf's next slab if none are announced.
  std::size_t usual_blocks(const Shelf& shelf) const noexcept;
  Slab& add_slab(std::uint32_t number, std::size_t blocks);
  /// Must be called before slabs are added: returns unused slabs to the system if they are too
  /// many.
  void make_way(const Shelf& shelf) noexcept;
  void drop_unused() noexcept;
  std::size_t bytes_of(const Slab& slab) const noexcept;

  std::vector<Shelf> shelves_;
  FlatMap<std::uint64_t, std::uint32_t> shelf_by_key_;  // purpose << 32 | bytes -> place in shelves_
  std::vector<std::unique_ptr<Slab>> slabs_;            // ascending by address
  std::size_t bytes_ = 0, unused_bytes_ = 0;            // bytes of all slabs, and of unused slabs
  std::size_t dropped_bytes_ = 0;                       // returned to the system last time
  std::size_t kept_bytes_ = 0;                          // unused memory that may always be held
  std::size_t expected_slabs_ = 0;
};

}  // namespace muster
