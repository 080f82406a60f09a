// The memory of chunks. A shelf holds blocks of a single size for a single purpose, such as the
// column of a component, in slabs. Blocks that are taken one after another are contiguous. A pass
// therefore reads a column of neighboring chunks like a single array, followed by the column of the
// archetype that was created next.
//
//   shelf    | slab: block block block ... | slab: block ... |     the lowest free block is taken next
//
// The size of a new slab is a fraction of the memory that its shelf already holds, so a small
// registry remains small. If the number of blocks is announced, slabs are large and end with the
// last block, so that no memory is unused and a column is interrupted only once per 4 MiB. An
// unused slab remains in its shelf, so repeatedly adding and removing rows does not require system
// calls. When another shelf needs a slab, unused slabs are returned to the system if they make up
// more than an eighth of the used memory. If a shelf later needs memory that it has returned, twice
// that amount is held from then on.
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
  /// Exchanges all contents with `other`.
  Blocks& operator=(Blocks&& other) noexcept;
  /// Returns a block of `bytes` bytes that is aligned to a cache line and has arbitrary contents.
  /// `bytes` must be a nonzero multiple of the cache line size. Blocks with the same `purpose`,
  /// which may be any number, are kept together.
  void* take(std::uint32_t purpose, std::uint32_t bytes);
  /// Takes back a block that was returned by take(). The block is held for the next take() with the
  /// same purpose and size, and is poisoned under AddressSanitizer until then.
  void give_back(void* block) noexcept;
  /// Announces that the next `count` blocks will be taken. If there are not enough free blocks,
  /// slabs of exactly the required size are added, unless a regular slab would be much larger. The
  /// slabs are held until forget_expected() is called, even if they are unused. If memory runs out,
  /// only some of the blocks are expected, and nothing else changes.
  void expect(std::uint32_t purpose, std::uint32_t bytes, std::size_t count);
  /// Stops expecting the blocks that were announced but have not been taken.
  void forget_expected() noexcept;
  /// Returns the total size of all slabs in bytes.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::uint32_t slab_blocks_max = 512;
  struct Slab {
    std::byte* begin = nullptr;
    std::array<std::uint64_t, slab_blocks_max / 64> free{};  // a bit is set for each free block

    // No word of `free` before this index has a bit set.
    std::uint32_t open = 0;
    std::uint32_t free_blocks = 0, blocks = 0;
    std::uint32_t shelf = 0, align = 0;
    bool expected = false;  // announced; held even if no block has been taken yet
    bool unused() const noexcept { return free_blocks == blocks && !expected; }
  };
  struct Shelf {
    std::uint32_t bytes = 0;  // size of one block
    std::size_t total = 0;    // total size of all slabs in bytes
    std::size_t free_blocks = 0;
    std::size_t open = 0;           // no slab before this index has a free block
    bool was_dropped = false;       // true if memory of this shelf was in the last drop
    std::vector<Slab*> slabs = {};  // ascending by address
  };
  std::uint32_t shelf_of(std::uint32_t purpose, std::uint32_t bytes);
  /// Returns the number of blocks in the next slab of a shelf if no blocks are announced.
  std::size_t usual_blocks(const Shelf& shelf) const noexcept;
  Slab& add_slab(std::uint32_t number, std::size_t blocks);
  /// Returns unused slabs to the system if there are too many of them. Must be called before slabs
  /// are added.
  void make_way(const Shelf& shelf) noexcept;
  void drop_unused() noexcept;
  std::size_t bytes_of(const Slab& slab) const noexcept;

  std::vector<Shelf> shelves_;
  FlatMap<std::uint64_t, std::uint32_t> shelf_by_key_;  // purpose << 32 | bytes -> place in shelves_
  std::vector<std::unique_ptr<Slab>> slabs_;            // ascending by address
  std::size_t bytes_ = 0, unused_bytes_ = 0;            // sizes of all slabs and of unused slabs
  std::size_t dropped_bytes_ = 0;                       // bytes returned to the system by the last
                                                        // drop
  std::size_t kept_bytes_ = 0;                          // unused memory that may always be held
  std::size_t expected_slabs_ = 0;
};

}  // namespace muster
