// The memory of chunks. A shelf holds blocks of one size for one purpose, a component's column say, in slabs: blocks taken one
// after another lie one behind the other. So a pass goes through a column of neighbouring chunks as through one array, and through
// that of the next archetype that came after.
//
//   shelf    | slab: block block block ... | slab: block ... |     the lowest block that is free is taken next
//
// A new slab is a share of what its shelf has already: a small registry stays small. Where it is known how many blocks come, slabs are
// large and end where these do: nothing lies idle, and a column breaks off once in 4 MiB. A slab without a taken block waits for its
// shelf, so that rows that come and go ask the system for nothing, until another shelf needs a slab: then such slabs go back to the system
// where they are more than an eighth of what is taken. Where a shelf wants again what it gave back, twice as much is kept from then on.
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
  /// A block of `bytes` on a cache line, with whatever was in it. `bytes` is a multiple of a cache line, not 0. Blocks for
  /// one `purpose`, any number, lie together.
  void* take(std::uint32_t purpose, std::uint32_t bytes);
  /// Takes back what take() returned. The block waits, poisoned under AddressSanitizer, for the next take of its purpose and
  /// size.
  void give_back(void* block) noexcept;
  /// Says that so many blocks will be taken next: what is free is not enough for goes into slabs that fit, unless it is much less than a
  /// slab is anyhow. The slabs stay, also while nothing is taken of them, until forget_expected(). Where memory fails, some blocks are
  /// expected, and nothing else has changed.
  void expect(std::uint32_t purpose, std::uint32_t bytes, std::size_t count);
  /// What was expected and did not come is not expected any more.
  void forget_expected() noexcept;
  /// Of all slabs.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::uint32_t slab_blocks_max = 512;
  struct Slab {
    std::byte* begin = nullptr;
    std::array<std::uint64_t, slab_blocks_max / 64> free{};  // blocks, by bit
    std::uint32_t open = 0;                                  // no number of `free` before this one has a bit
    std::uint32_t free_blocks = 0, blocks = 0;
    std::uint32_t shelf = 0, align = 0;
    bool expected = false;  // no block was taken yet; it stays all the same
    bool unused() const noexcept { return free_blocks == blocks && !expected; }
  };
  struct Shelf {
    std::uint32_t bytes = 0;  // of a block
    std::size_t total = 0;    // bytes of all slabs
    std::size_t free_blocks = 0;
    std::size_t open = 0;           // no slab before this one has a free block
    bool was_dropped = false;       // some of it went back to the system when slabs did last
    std::vector<Slab*> slabs = {};  // ascending by address
  };
  std::uint32_t shelf_of(std::uint32_t purpose, std::uint32_t bytes);
  /// How many blocks the next slab of a shelf has where nothing is expected.
  std::size_t usual_blocks(const Shelf& shelf) const noexcept;
  Slab& add_slab(std::uint32_t number, std::size_t blocks);
  /// To be called before slabs are added: what lies unused goes where it is too much.
  void make_way(const Shelf& shelf) noexcept;
  void drop_unused() noexcept;
  std::size_t bytes_of(const Slab& slab) const noexcept;

  std::vector<Shelf> shelves_;
  FlatMap<std::uint64_t, std::uint32_t> shelf_by_key_;  // purpose << 32 | bytes -> place in shelves_
  std::vector<std::unique_ptr<Slab>> slabs_;            // ascending by address
  std::size_t bytes_ = 0, unused_bytes_ = 0;            // of all; of those of which no block is taken
  std::size_t dropped_bytes_ = 0;                       // that went back to the system last
  std::size_t kept_bytes_ = 0;                          // so much may lie unused, however little is taken
  std::size_t expected_slabs_ = 0;
};

}  // namespace muster
