// Reuses the memory of copies. The system provides new memory page by page on the first write. For
// 8 MiB within a tick, that takes longer than the copying itself. Blocks are up to 50 % larger than
// needed, so that a few sizes are enough.
//
//   world thread           take ... take                | settle
//   writing thread                   give, give ...     |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "system/mutex.h"

namespace muster {

/// Thread-safe.
class SpareBlocks {
 public:
  using Block = std::unique_ptr<std::byte[]>;
  /// `bytes_max` limits the total number of bytes reserved.
  explicit SpareBlocks(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ~SpareBlocks();
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;

  /// Returns an uninitialized block of `size` bytes, or null if no memory is available.
  Block take(std::size_t size) noexcept;
  /// Takes back a block that was obtained from take() with the same size. If the limit is exceeded,
  /// the block is freed.
  void give(Block block, std::size_t size) noexcept;
  /// Must be called after each round of work. Frees an eighth of the memory that the round did not
  /// need, so that the memory used during a peak is released within a few dozen rounds.
  void settle() noexcept;
  /// Returns the number of bytes reserved.
  std::uint64_t bytes() const noexcept;

 private:
  struct Spare {
    Spare* next;
  };
  struct Blocks {
    Spare* first = nullptr;
    // `least` is the minimum of `count` since the previous settle().
    std::size_t count = 0, least = 0;
  };
  static constexpr std::size_t smallest = 32, largest = 1u << 20;
  /// Returns the number of the size class for `size`. The classes are 32, 48, 64, 96, 128, ...
  /// bytes.
  static std::size_t place_of(std::size_t size) noexcept;
  static constexpr std::size_t size_of(std::size_t place) noexcept {
    return place % 2 == 0 ? smallest << place / 2 : (smallest + smallest / 2) << place / 2;
  }
  Block pop(std::size_t place) noexcept MUSTER_REQUIRES(mutex_);

  const std::uint64_t bytes_max_;
  mutable Mutex mutex_;
  std::array<Blocks, 31> blocks_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t bytes_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster
