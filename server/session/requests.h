// What a session sent and the world has not taken or answered yet: edits and questions in their order, bounded in bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace muster {

/// A batch that was judged, valid until the next one is taken.
struct Request {
  std::uint64_t request = 0;
  bool for_world = false;           ///< false: a question
  bool latest = false;              ///< a message of which only the last that waits counts (journal: "latest")
  std::uint64_t came_ns = 0;        ///< processor time of the owner's thread when it came
  std::span<std::byte> batch = {};  ///< 16-aligned
  /// Those whose place it took, in their order, as far as they want an answer: they get its own.
  std::vector<std::uint64_t> overtaken = {};
};

/// Of all sessions together. Any thread.
struct RequestBytes {
  explicit RequestBytes(std::size_t max) noexcept : bytes_max(max) {}
  const std::size_t bytes_max;
  std::atomic<std::size_t> bytes = 0;
};

/// Filled by the session's thread, emptied by the owner's.
class Requests {
 public:
  /// `all`: what it is counted in besides; may be null.
  explicit Requests(std::size_t bytes_max, std::shared_ptr<RequestBytes> all = nullptr)
      : bytes_max_(bytes_max), all_(std::move(all)) {}
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  static constexpr std::size_t overtaken_max = 256;  ///< that one may have overtaken and that want an answer
  /// The session's thread: copies the batch. False, and nothing taken, where it would exceed the session's bound or that of
  /// all; a session of which nothing waits may put one in any case. One that is `latest` takes the place of the newest that
  /// waits, where that is of the same type to the same target: a single one.
  [[nodiscard]] bool put(std::span<const std::byte> batch, std::uint64_t request, bool for_world,
                         std::uint64_t came_ns = 0, bool latest = false);

  /// The session's thread: whether put would take so many bytes now.
  bool has_room(std::size_t bytes) const noexcept;

  /// The owner's thread: the oldest; null where there is none. Valid until pop or take.
  Request* front();
  void pop();
  /// A copy of the oldest's batch, which there is. Its bytes count until they are released: it waits elsewhere.
  std::vector<std::byte> take();
  void release(std::size_t bytes) noexcept;
  /// What counts. Any thread.
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  /// Batches one behind the other, in blocks: a stream of small ones would else be an allocation each, freed by another thread.
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0, used = 0;
    std::uint32_t requests = 0;  // in it and not done with
  };
  struct Pile {
    std::deque<Block> blocks;
    std::vector<Request> requests;
    std::size_t done = 0;  // of the requests

    void add(Request made, std::span<const std::byte> batch, Block& own);
    void drop_first();
  };
  bool overtake(std::span<const std::byte> batch, std::uint64_t request, std::uint64_t came_ns);

  const std::size_t bytes_max_;
  const std::shared_ptr<RequestBytes> all_;
  std::atomic<std::size_t> bytes_ = 0;
  std::mutex mutex_;
  Pile came_;
  Pile taken_;  // the owner's
};

}  // namespace muster
