// Connects other threads and sockets to a registry: each writer has a lane, and the registry
// empties all lanes at flush.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "system/mutex.h"

namespace muster {

class Inbox;

/// One writer's end of the inbox. Messages of one lane arrive in the order they were put; lanes are
/// emptied in the order in which they were opened. May be used from any thread. Must not outlive
/// its registry.
class InboxLane {
 public:
  /// Copies one or more consecutive batches, which must be complete and verified. Each batch is its
  /// own input, and all inputs have the number `request`. Returns false and takes none if the lane
  /// would exceed bytes_max; the writer may wait or drop them. For an empty span, returns true and
  /// does nothing. Stops the program if the bytes end inside a batch.
  [[nodiscard]] bool put(std::span<const std::byte> batches, std::uint64_t request = 0);
  std::uint64_t author() const noexcept { return author_; }
  std::uint64_t user() const noexcept { return user_; }

 private:
  friend class Inbox;
  struct Entry {
    std::uint64_t request;
    std::size_t offset;  // offset of a batch in `bytes`; a multiple of 16
    std::size_t bytes;
  };
  Inbox* inbox_ = nullptr;
  std::uint64_t author_ = 0, user_ = 0;
  std::size_t bytes_max_ = 0;
  Mutex mutex_;
  std::vector<Entry> entries_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::byte> bytes_ MUSTER_GUARDED_BY(mutex_);  // operator new aligns to 16 bytes
};

/// Owned by the registry. open_lane and on_arrival may be called from any thread.
class Inbox {
 public:
  /// Opens a lane whose batches carry `author` and `user` (see Envelope). The lane stays open until
  /// the last shared_ptr is destroyed and the lane is empty.
  std::shared_ptr<InboxLane> open_lane(std::uint64_t author, std::size_t bytes_max = 64u << 20, std::uint64_t user = 0);
  /// Sets a function that is called when something is put into an empty inbox, on the writer's
  /// thread, without locks. May be empty.
  void on_arrival(std::function<void()> wake);
  /// Must be called only by the registry's thread, which owns batches that were taken but not
  /// delivered.
  bool empty() const noexcept;

  /// Called by the registry. Calls take(author, user, request, batch) for everything that had
  /// arrived before the call, and returns the number of batches. If `take` throws, that batch and
  /// the following ones stay in the inbox, and come first the next time.
  template <class Take>
  std::size_t drain(Take&& take);

 private:
  friend class InboxLane;
  struct Taken {
    std::uint64_t author, user;
    std::vector<InboxLane::Entry> entries;
    std::vector<std::byte> bytes;
  };
  void take_all();
  void arrived();

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<InboxLane>> lanes_ MUSTER_GUARDED_BY(mutex_);
  std::function<void()> wake_ MUSTER_GUARDED_BY(mutex_);
  bool pending_ MUSTER_GUARDED_BY(mutex_) = false;
  // Batches that were taken from the lanes but not delivered yet, and the position in them. Used
  // only by the registry's thread.
  std::vector<Taken> taken_;
  std::size_t lane_ = 0, entry_ = 0;
};

template <class Take>
std::size_t Inbox::drain(Take&& take) {
  take_all();
  std::size_t count = 0;
  for (; lane_ < taken_.size(); ++lane_, entry_ = 0)
    for (; entry_ < taken_[lane_].entries.size(); ++entry_, ++count) {
      const Taken& lane = taken_[lane_];
      const InboxLane::Entry& entry = lane.entries[entry_];
      take(lane.author, lane.user, entry.request,
           std::span<const std::byte>(lane.bytes).subspan(entry.offset, entry.bytes));
    }
  taken_.clear();
  lane_ = entry_ = 0;
  return count;
}

}  // namespace muster
