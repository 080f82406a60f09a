// How other threads and sockets reach a registry: each writer has a lane, the registry takes all lanes at flush.
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

/// One writer's end. Messages of one lane arrive in the order they were put; lanes are taken in the order they were
/// opened. Any thread. Must not outlive its registry.
class InboxLane {
 public:
  /// Copies batches that are whole and verified, one or several behind one another; each is an input of its own, all with this
  /// request. False, and none of them taken, where the lane would hold more than bytes_max: the writer waits or drops, as it
  /// sees fit. True, and nothing done, for an empty span. Bytes that end inside a batch stop the program.
  [[nodiscard]] bool put(std::span<const std::byte> batches, std::uint64_t request = 0);
  std::uint64_t author() const noexcept { return author_; }
  std::uint64_t user() const noexcept { return user_; }

 private:
  friend class Inbox;
  struct Entry {
    std::uint64_t request;
    std::size_t offset;  // of one batch, into bytes, 16-aligned
    std::size_t bytes;
  };
  Inbox* inbox_ = nullptr;
  std::uint64_t author_ = 0, user_ = 0;
  std::size_t bytes_max_ = 0;
  Mutex mutex_;
  std::vector<Entry> entries_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::byte> bytes_ MUSTER_GUARDED_BY(mutex_);  // operator new gives 16-byte alignment
};

/// Owned by the registry. open_lane and on_arrival: any thread.
class Inbox {
 public:
  /// A lane whose batches carry `author` and `user` (see Envelope). It stays open until the last shared_ptr is gone and all was taken.
  std::shared_ptr<InboxLane> open_lane(std::uint64_t author, std::size_t bytes_max = 64u << 20, std::uint64_t user = 0);
  /// Called (on the writer's thread, no lock held) when something was put into an inbox that was empty. Empty: nobody.
  void on_arrival(std::function<void()> wake);
  bool empty() const noexcept;  ///< the registry's thread: what was taken and waits on is its own

  /// For the registry: calls take(author, user, request, batch) for everything that had arrived when it was called, and returns how many
  /// batches these were. Where `take` throws, that batch and those behind it wait, and are first the next time.
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
  // The registry's thread only: taken from the lanes and not delivered yet, and where in it.
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
