// Reuses the buffers of large groups, because each page of newly allocated memory costs a page
// fault. Small groups do not need this optimization.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "system/mutex.h"

namespace muster {

/// Thread-safe.
class SpareRecords {
 public:
  /// Buffers smaller than `least` are not kept. Buffers larger than `most` are freed.
  static constexpr std::size_t least = 256u << 10, most = 16u << 20;

  /// Returns an empty buffer, with capacity for `size` bytes if such a buffer is available.
  std::vector<std::byte> take(std::size_t size) {
    if (size < least) return {};
    const MutexLock lock(mutex_);
    for (std::vector<std::byte>& spare : spare_)
      if (spare.capacity() >= size) {
        unused_ = 0;
        return std::exchange(spare, {});
      }
    return {};
  }
  /// Takes back the buffer of a group that has been written. If no buffer has been reused for 256
  /// groups, frees the buffers.
  void give(std::vector<std::byte> records) {
    const MutexLock lock(mutex_);
    if (++unused_ > forgotten_after) spare_ = {};
    if (records.capacity() < least || records.capacity() > most) return;
    // Replace the smaller buffer.
    std::vector<std::byte>& place = spare_[0].capacity() <= spare_[1].capacity() ? spare_[0] : spare_[1];
    if (place.capacity() >= records.capacity()) return;
    records.clear();
    place = std::move(records);
  }
  /// Returns the total capacity of both buffers in bytes.
  std::size_t bytes() const {
    const MutexLock lock(mutex_);
    return spare_[0].capacity() + spare_[1].capacity();
  }

 private:
  static constexpr int forgotten_after = 256;
  mutable Mutex mutex_;
  std::array<std::vector<std::byte>, 2> spare_ MUSTER_GUARDED_BY(mutex_);
  int unused_ MUSTER_GUARDED_BY(mutex_) = 0;  // number of groups since a buffer was last reused
};

}  // namespace muster
