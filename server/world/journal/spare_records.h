// Memory of large groups that were written, for the next ones: what the world's thread would get from the system instead has to be made
// there first, page by page. Small groups need none.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "system/mutex.h"

namespace muster {

/// Any thread.
class SpareRecords {
 public:
  /// A buffer that is smaller is no use, and one that is larger goes back to the system.
  static constexpr std::size_t least = 256u << 10, most = 16u << 20;

  /// Empty, with room for `size` bytes where there is such a buffer, else without.
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
  /// Of a group that was written. What nobody takes while 256 groups come goes back to the system.
  void give(std::vector<std::byte> records) {
    const MutexLock lock(mutex_);
    if (++unused_ > forgotten_after) spare_ = {};
    if (records.capacity() < least || records.capacity() > most) return;
    // The smallest goes first.
    std::vector<std::byte>& place = spare_[0].capacity() <= spare_[1].capacity() ? spare_[0] : spare_[1];
    if (place.capacity() >= records.capacity()) return;
    records.clear();
    place = std::move(records);
  }
  /// Of both together.
  std::size_t bytes() const {
    const MutexLock lock(mutex_);
    return spare_[0].capacity() + spare_[1].capacity();
  }

 private:
  static constexpr int forgotten_after = 256;
  mutable Mutex mutex_;
  std::array<std::vector<std::byte>, 2> spare_ MUSTER_GUARDED_BY(mutex_);
  int unused_ MUSTER_GUARDED_BY(mutex_) = 0;  // groups, since a buffer was taken
};

}  // namespace muster
