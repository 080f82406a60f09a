// Memory for copies that was used before. Fresh memory is made by the system page by page, when it is first written: where 8 MiB are copied
// in one tick that takes the thread that copies longer than copying does. Blocks are up to half larger than what they are for, so that few
// sizes of them serve all.
//
//   the world's thread     take ... take                | settle
//   the writer's thread              give, give ...     |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "system/mutex.h"

namespace muster {

/// Any thread.
class SpareBlocks {
 public:
  using Block = std::unique_ptr<std::byte[]>;
  /// So many bytes may be spare.
  explicit SpareBlocks(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ~SpareBlocks();
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;

  /// Room for `size` bytes, which may have been written before. Null: there is no memory.
  Block take(std::size_t size) noexcept;
  /// Of take() for the same size. It goes back to the system where there is no room for it.
  void give(Block block, std::size_t size) noexcept;
  /// A round of work is over: of what it never needed an eighth goes back to the system. So what a storm needed goes within some tens of rounds.
  void settle() noexcept;
  /// That are spare.
  std::uint64_t bytes() const noexcept;

 private:
  struct Spare {
    Spare* next;
  };
  struct Blocks {
    Spare* first = nullptr;
    std::size_t count = 0, least = 0;  // least: since settle()
  };
  static constexpr std::size_t smallest = 32, largest = 1u << 20;
  /// Of blocks for `size`: 32, 48, 64, 96, 128 ... bytes.
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
