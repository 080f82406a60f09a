// Memory of chunks, in slabs of many blocks of one size: those taken one after another lie one behind the other, and those
// as large as whole pages begin on a page wherever there are so many that it matters. So a pass reads on from one chunk to
// the next, and touches few pages. A slab is a share of what its size has already: a small registry stays small.
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
  /// `bytes` of memory, on a cache line, with whatever was in it. `bytes` is a multiple of a cache line, not 0.
  void* take(std::uint32_t bytes);
  /// What take(bytes) returned: kept, and poisoned, until the next block of its size is taken.
  void give_back(void* block, std::uint32_t bytes) noexcept;

 private:
  /// Blocks of one size.
  struct Shelf {
    std::uint32_t bytes = 0;
    std::byte* next = nullptr;     // of the newest slab
    std::size_t left = 0;          // behind it
    std::size_t total = 0;         // of all slabs
    std::vector<void*> free = {};  // given back
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
