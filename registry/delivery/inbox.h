// Connects other threads and sockets to a registry. Each writer has its own lane, and flush()
// empties all lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "registry/apply/edit_log.h"
#include "system/mutex.h"

namespace muster {

class Inbox;

/// A writer's end of the inbox. The messages of a lane are delivered in the order in which they
/// were put into it. Lanes are emptied in the order in which they were opened. May be used from any
/// thread, but must not outlive its registry.
class InboxLane {
 public:
  /// Copies one or more consecutive batches, which must be complete and verified. Each batch
  /// becomes a separate input with the request number `request`. If the lane would exceed
  /// bytes_max, returns false and copies nothing; the writer may wait or drop the batches. If the
  /// span is empty, returns true and has no effect. Stops the program if the bytes end inside a
  /// batch.
  [[nodiscard]] bool put(std::span<const std::byte> batches, std::uint64_t request = 0);
  std::uint64_t session() const noexcept { return session_; }
  std::uint64_t user() const noexcept { return user_; }

 private:
  friend class Inbox;
  struct Entry {
    std::uint64_t request;
    std::size_t offset;  // offset of the batch in `bytes_`; a multiple of 16
    std::size_t bytes;
  };
  Inbox* inbox_ = nullptr;
  std::uint64_t session_ = 0, user_ = 0;
  std::size_t bytes_max_ = 0;
  Mutex mutex_;
  std::vector<Entry> entries_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::byte> bytes_ MUSTER_GUARDED_BY(mutex_);  // operator new aligns this to 16 bytes
};

/// Owned by the registry. open_lane and on_arrival may be called from any thread.
class Inbox {
 public:
  /// Opens a lane whose batches carry `session` and `user` (see Envelope). The lane remains open
  /// until the last shared_ptr to it has been destroyed and the lane is empty.
  std::shared_ptr<InboxLane> open_lane(std::uint64_t session, std::size_t bytes_max = 64u << 20,
                                       std::uint64_t user = 0);
  /// Sets a function that is called when a batch is put into an empty inbox. It is called on the
  /// writer's thread, while no locks are held. An empty function is allowed.
  void on_arrival(std::function<void()> wake);
  /// True if all batches have been delivered. Batches that were taken from lanes but not yet
  /// delivered still belong to the inbox; they are owned by the registry's thread, so this function
  /// may be called only on that thread.
  bool empty() const noexcept;

  /// Used by the registry. Calls take(sender, batch) for every batch that arrived
  /// before this call, and returns the number of batches. If `take` throws, that batch and the
  /// following ones remain in the inbox and come first in the next call.
  template <class Take>
  std::size_t drain(Take&& take);

 private:
  friend class InboxLane;
  struct Taken {
    std::uint64_t session, user;
    std::vector<InboxLane::Entry> entries;
    std::vector<std::byte> bytes;
  };
  void take_all();
  void arrived();

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<InboxLane>> lanes_ MUSTER_GUARDED_BY(mutex_);
  std::function<void()> wake_ MUSTER_GUARDED_BY(mutex_);
  bool pending_ MUSTER_GUARDED_BY(mutex_) = false;
  // Batches that were taken from the lanes but have not yet been delivered, and the position of the
  // next one. Used only on the registry's thread.
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
      take(Sender{.session = lane.session, .user = lane.user, .request = entry.request},
           std::span<const std::byte>(lane.bytes).subspan(entry.offset, entry.bytes));
    }
  taken_.clear();
  lane_ = entry_ = 0;
  return count;
}

}  // namespace muster
