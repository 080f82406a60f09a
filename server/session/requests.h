// Queues a session's requests (edits and questions) in order until the world has taken and answered
// them. Their total size in bytes is limited.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "system/mutex.h"
#include "system/thread_role.h"

namespace muster {

/// A batch that has passed judge(). Valid until the next request is taken.
struct Request {
  std::uint64_t request = 0;
  bool for_world = false;           ///< false for a question
  bool latest = false;              ///< only the last pending message counts (journal: "latest")
  std::uint64_t came_ns = 0;        ///< processor time of the world thread on arrival
  std::span<std::byte> batch = {};  ///< aligned to 16 bytes

  /// The replaced requests that need an answer, in order. Each of them receives the same answer as
  /// this request.
  std::vector<std::uint64_t> overtaken = {};
};

/// Total number of bytes in the requests of all sessions. Thread-safe.
struct RequestBytes {
  explicit RequestBytes(std::size_t max) noexcept : bytes_max(max) {}
  const std::size_t bytes_max;
  std::atomic<std::size_t> bytes = 0;
};

/// Filled by the listener's thread and emptied by the world thread. The requests from one read are
/// passed on together, because taking a lock for each request would cost more than most edits.
class Requests {
 public:
  /// Unless `all` is null, the bytes also count toward `all`.
  explicit Requests(std::size_t bytes_max, std::shared_ptr<RequestBytes> all = nullptr)
      : bytes_max_(bytes_max), all_(std::move(all)) {}
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// Limit on the number of replaced requests that need an answer.
  static constexpr std::size_t overtaken_max = 256;
  /// Copies the batch. If the batch would exceed the limit of the session or the limit of all
  /// sessions, returns false and does not add the batch, unless the session has no other pending
  /// requests. A single message that is `latest` replaces the newest pending message if both have
  /// the same type and target.
  [[nodiscard]] bool put(std::span<const std::byte> batch, std::uint64_t request, bool for_world,
                         std::uint64_t came_ns = 0, bool latest = false) MUSTER_REQUIRES(listener_thread) {
    const bool took = add(batch, request, for_world, came_ns, latest);
    pass_on();
    return took;
  }
  /// Like put(), but the world thread may not see the request until pass_on() is called. A full
  /// pile is passed on automatically; see was_full().
  [[nodiscard]] bool add(std::span<const std::byte> batch, std::uint64_t request, bool for_world,
                         std::uint64_t came_ns = 0, bool latest = false) MUSTER_REQUIRES(listener_thread);
  /// Passes on the requests that were added. Returns false if there were none.
  bool pass_on() MUSTER_REQUIRES(listener_thread);
  /// Returns true if add() has passed on a pile since the previous call.
  bool was_full() noexcept MUSTER_REQUIRES(listener_thread) { return std::exchange(was_full_, false); }

  /// Returns true if put() would accept `bytes` bytes now.
  bool has_room(std::size_t bytes) const noexcept MUSTER_REQUIRES(listener_thread);

  /// Returns the oldest request, or null if there is none. The request is valid until pop(),
  /// drop(), or take() is called. The call may miss requests that are being passed on at the same
  /// time. The caller of pass_on() wakes the world thread, which then sees them.
  Request* front() MUSTER_REQUIRES(world_thread) {
    if (!taken_.empty()) [[likely]]
      return &taken_.front().requests[taken_.front().done];
    return bytes() == 0 ? nullptr : take_over();
  }
  void pop() MUSTER_REQUIRES(world_thread) { release(drop()); }
  /// Like pop(), but the request's bytes continue to count until they are released. Returns the
  /// number of those bytes.
  std::size_t drop() MUSTER_REQUIRES(world_thread) {
    const Request& first = taken_.front().requests[taken_.front().done];
    const std::size_t bytes = first.batch.size() + first.overtaken.size() * sizeof(std::uint64_t);
    drop_first();
    return bytes;
  }
  /// Returns a copy of the oldest batch, which must exist. The batch's bytes continue to count
  /// until they are released, because the batch is now pending elsewhere.
  std::vector<std::byte> take() MUSTER_REQUIRES(world_thread);
  void release(std::size_t bytes) noexcept;
  /// Returns the number of bytes that count toward the limits. May be called on any thread.
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  /// Returns the number of bytes of memory in use, including bookkeeping. Must be called only while
  /// no other thread uses this object.
  std::size_t memory_bytes() const noexcept;

 private:
  /// Stores consecutive batches in one block of memory. If each small batch had a block of its own,
  /// each would need an allocation that is freed on another thread.
  struct Pile {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0, used = 0;
    std::vector<Request> requests;
    std::size_t done = 0;     // number of finished requests
    std::size_t counted = 0;  // size of all requests, including finished ones

    /// Takes over the other pile's requests if there is room, and returns false otherwise. None of
    /// this pile's requests may be finished.
    bool takes(Pile& other);
    /// Returns a pile that has the emptied memory if that memory is worth reusing, and a pile
    /// without memory otherwise. All requests must be finished.
    Pile emptied();
  };
  static bool overtake(Pile& pile, std::span<const std::byte> batch, std::uint64_t request, std::uint64_t came_ns,
                       std::size_t room, std::ptrdiff_t& more);
  bool overtakes(std::span<const std::byte> batch, std::uint64_t request, std::uint64_t came_ns)
      MUSTER_REQUIRES(listener_thread);
  std::size_t room() const noexcept MUSTER_REQUIRES(listener_thread);
  Request* take_over() MUSTER_REQUIRES(world_thread);
  void drop_first() MUSTER_REQUIRES(world_thread) {
    if (Pile& first = taken_.front(); ++first.done == first.requests.size()) {
      if (emptied_.size == 0) emptied_ = first.emptied();
      taken_.pop_front();
    }
  }

  const std::size_t bytes_max_;
  const std::shared_ptr<RequestBytes> all_;
  std::atomic<std::size_t> bytes_ = 0;  // total size of the requests that were passed on
  Pile filling_ MUSTER_GUARDED_BY(listener_thread);
  std::size_t pile_bytes_ MUSTER_GUARDED_BY(listener_thread) = 0;  // of the previous pile
  bool was_full_ MUSTER_GUARDED_BY(listener_thread) = false;
  Pile kept_ MUSTER_GUARDED_BY(listener_thread);  // memory for the next pile
  mutable Mutex mutex_;
  std::deque<Pile> came_ MUSTER_GUARDED_BY(mutex_);
  Pile spare_ MUSTER_GUARDED_BY(mutex_);  // memory on its way back to kept_
  std::deque<Pile> taken_ MUSTER_GUARDED_BY(world_thread);
  Pile emptied_ MUSTER_GUARDED_BY(world_thread);  // memory that becomes spare_
};

}  // namespace muster
