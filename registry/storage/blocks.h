// The memory of chunks. Blocks of one size come from slabs: blocks taken one after another lie one behind the other,
// and large ones begin on a page where there are so many that it matters. So a pass reads on from one chunk to the
// next, and touches few pages. A new slab is a share of what its size has already: a small registry stays small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster {

class Blocks {
 public:
  Blocks() = default;
  ~Blocks();
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  /// A block of `bytes` on a cache line, with whatever was in it. `bytes` is a multiple of a cache line, not 0.
  void* take(std::uint32_t bytes);
  /// Takes back what take(bytes) returned. The block waits, poisoned under AddressSanitizer, for the next take(bytes).
  void give_back(void* block, std::uint32_t bytes) noexcept;

 private:
  /// Blocks of one size.
  struct Shelf {
    std::uint32_t bytes = 0;
    std::byte* next = nullptr;     // the block of the newest slab that is taken next
    std::size_t left = 0;          // bytes of that slab from `next` on
    std::size_t total = 0;         // bytes of all slabs
    std::vector<void*> free = {};  // blocks given back
  };
  struct Slab {
    std::byte* begin;
    std::size_t bytes, align;
  };
  Shelf& shelf(std::uint32_t bytes);
  void add_slab(Shelf& shelf, std::size_t room);

  std::vector<Shelf> shelves_;
  std::vector<Slab> slabs_;
};

}  // namespace muster
