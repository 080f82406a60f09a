// The byte memory that queued batches live in: a FIFO of batches over segments that never move and never grow.
//
//   segment   | next, end, bytes | batch | batch | batch ...      | unused |
//   queue     head segment -> segment -> ... -> tail segment
//             ^ read_ (front batch)             ^ write_ (next item)
//
// Batches are popped in the order they were appended. A segment whose batches are all popped goes to a free list and is
// used again, so a warm arena allocates nothing. A batch larger than a segment gets a segment of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "messages/batch_writer.h"

namespace muster {

/// Not thread-safe. Pointers into a batch stay valid until it is popped, whatever is appended meanwhile: a batch that
/// is being read is never extended. Popped memory is poisoned under AddressSanitizer until it is used again.
class Arena final : public BatchWriter {
 public:
  static constexpr std::size_t segment_bytes_default = 256u << 10;

  /// `segment_bytes`: of one allocation, a multiple of 64, at least 1024. Allocates nothing yet.
  explicit Arena(std::size_t segment_bytes = segment_bytes_default) noexcept;
  ~Arena();

  bool empty() const noexcept { return batches() == 0; }
  /// Queued batches, the open one included.
  std::size_t batches() const noexcept { return sealed_batches_ + (open_key_ != 0 ? 1 : 0); }
  /// Whether the last batch can still be extended.
  bool last_is_open() const noexcept { return open_key_ != 0; }
  /// Their bytes, headers included.
  std::size_t bytes() const noexcept { return sealed_bytes_ + open_bytes(); }
  /// Memory held, used or not.
  std::size_t capacity() const noexcept { return capacity_; }

  /// The oldest batch; the arena must not be empty. Seals it if it is still open.
  BatchView front() noexcept {
    if (sealed_batches_ == 0) seal();
    return BatchView(read_);
  }
  /// Releases the oldest batch; the arena must not be empty.
  void pop_front() noexcept;
  /// Pops everything.
  void clear() noexcept;
  /// Gives unused segments back to the system.
  void trim() noexcept;

  /// Calls f(BatchView) for every queued batch, oldest first. Nothing is sealed by it: an open batch is shown as it is now.
  template <class F>
  void for_each(F&& f) const {
    if (open_key_ != 0) finish_header();
    const std::byte* at = read_;
    for (const Segment* segment = head_; segment != nullptr; segment = segment->next) {
      if (segment != head_) at = segment->begin();
      const std::byte* const end = segment == tail_ ? write_ : segment->end;
      while (at < end) {
        const BatchView batch(at);
        at += batch.bytes().size();
        f(batch);
      }
    }
  }

  /// Exchanges everything, memory and settings, with another arena.
  void swap(Arena& other) noexcept;

 private:
  struct alignas(64) Segment {
    Segment* next = nullptr;
    std::byte* end = nullptr;  // of what was written, once it is no longer the tail
    std::size_t bytes = 0;     // behind this header
    std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* begin() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
  };

  void make_room(std::size_t bytes) override;
  bool grow_open(std::size_t) override { return false; }
  Segment* acquire(std::size_t bytes);
  void release(Segment* segment) noexcept;
  void free(Segment* segment) noexcept;

  std::byte* read_ = nullptr;
  Segment* head_ = nullptr;
  Segment* tail_ = nullptr;
  Segment* spare_ = nullptr;        // segments of the usual size
  Segment* spare_large_ = nullptr;  // larger ones, the last few released
  std::size_t spare_large_bytes_ = 0;
  std::size_t segment_bytes_;
  std::size_t capacity_ = 0;
};

}  // namespace muster
