// What a session sent and the world has not taken yet: edits and questions in their order, bounded in bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

namespace muster {

/// A batch that was judged.
struct Request {
  std::uint64_t request = 0;
  bool for_world = false;        ///< false: a question
  std::uint64_t came_ns = 0;     ///< processor time of the owner's thread when it came
  std::vector<std::byte> batch;  ///< 16-aligned
};

/// Filled by the session's thread, emptied by the owner's.
class Requests {
 public:
  explicit Requests(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// The session's thread: copies the batch. False, and nothing taken, where others wait and it would exceed the bound.
  [[nodiscard]] bool put(std::span<const std::byte> batch, std::uint64_t request, bool for_world,
                         std::uint64_t came_ns = 0);

  /// The owner's thread: the oldest; null where there is none. Valid until pop.
  Request* front();
  void pop();
  /// pop, and its batch. There must be one.
  std::vector<std::byte> take();
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_ = 0;
  std::mutex mutex_;
  std::deque<Request> came_;
  std::deque<Request> taken_;  // the owner's
};

}  // namespace muster
