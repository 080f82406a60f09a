// The byte memory that queued batches live in: a FIFO of batches over segments that never move and never grow.
//
//   segment   | next, end, bytes | batch | batch | batch ...      | unused |
//   queue     head segment -> segment -> ... -> tail segment
//             ^ read_ (front batch)             ^ write_ (next item)
//
// Batches are popped in the order they were appended. A segment whose batches are all popped goes to a free list and is
// used again, so a warm arena allocates nothing. A batch larger than a segment gets a segment of its own.
//
// Where a batch ends is decided by what is in it: a run of messages goes on in one batch up to batch_bytes_default. Where the
// segment ends before, the open batch moves to another; so nobody can tell from the batches which memory was used before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "messages/batch_writer.h"
#include "messages/poison.h"
#include "messages/require.h"

namespace muster {

/// Not thread-safe. Pointers into a batch stay valid until it is popped, whatever is appended meanwhile: a batch that
/// is being read is never extended, nor moved. Popped memory is poisoned under AddressSanitizer until it is used again.
class Arena final : public BatchWriter {
  struct Segment;

 public:
  static constexpr std::size_t segment_bytes_default = 256u << 10;
  /// As far as a batch is extended, header included, whatever the segments: as much as fits one of the usual size. Part of the
  /// state, because every batch that is posted is an input with a number.
  static constexpr std::size_t batch_bytes_default = segment_bytes_default - 80;

  /// `segment_bytes`: of one allocation, a multiple of 64, at least 1024. Allocates nothing yet.
  explicit Arena(std::size_t segment_bytes = segment_bytes_default) noexcept;
  ~Arena();

  bool empty() const noexcept { return batches_ == 0; }
  /// Queued batches, the open one included.
  std::size_t batches() const noexcept { return batches_; }
  /// Whether the last batch can still be extended.
  bool last_is_open() const noexcept { return open_ != nullptr; }
  /// Their bytes, headers included. Takes a step per segment.
  std::size_t bytes() const noexcept;
  /// Of one usual allocation.
  std::size_t segment_bytes() const noexcept { return segment_bytes_; }
  /// Memory held, used or not.
  std::size_t capacity() const noexcept { return capacity_; }

  /// The oldest batch; the arena must not be empty. Seals it if it is still open.
  BatchView front() noexcept {
    if (open_ == read_) close();
    return BatchView(read_);
  }
  /// Releases the oldest batch; the arena must not be empty.
  void pop_front() noexcept {
    require(batches_ != 0, "pop_front on an empty arena");
    if (open_ == read_) close();
    std::uint32_t bytes;
    std::memcpy(&bytes, read_, sizeof bytes);
    poison(read_, bytes);
    read_ += bytes;
    --batches_;
    if (read_ == write_ || read_ == head_end_) leave_segment();
  }
  /// Writes the targets of the oldest batch, of kind each or shared, which has as many.
  void set_targets(std::span<const Entity> targets) noexcept;
  /// Calls f(BatchView, next) for the oldest batches, at most `count` and as many as there are, and pops each for which it
  /// returns true; at the first for which it does not, that is all. Returns how many were popped. `next` is the batch behind
  /// it, null where that lies elsewhere or there is none. f must not use the arena. No batch may be open.
  template <class F>
  std::size_t take(std::size_t count, F&& f) {
    const std::size_t before = batches_;
    std::byte* at = read_;
    for (const std::size_t left = count < before ? before - count : 0; batches_ != left; --batches_) {
      std::uint32_t bytes;
      std::memcpy(&bytes, at, sizeof bytes);
      std::byte* next = at + bytes;
      const bool ends = next == write_ || next == head_end_;
      if (!f(BatchView(at), ends ? nullptr : next)) break;
      poison(at, bytes);
      read_ = next;
      if (ends) [[unlikely]] {
        leave_segment();
        next = read_;
      }
      at = next;
    }
    return before - batches_;
  }
  /// Pops everything.
  void clear() noexcept;
  /// Gives unused segments back to the system, as far as more than `kept` bytes of memory are held.
  void trim(std::size_t kept = 0) noexcept;

  /// Calls f(BatchView) for every queued batch, oldest first. Nothing is sealed by it: an open batch is shown as it is now.
  template <class F>
  void for_each(F&& f) const {
    if (open_ != nullptr) finish_header();
    const std::byte* at = read_;
    for (const Segment* segment = head_; segment != nullptr; segment = segment->next) {
      if (segment != head_) at = segment->begin();
      const std::byte* const end = written_end(*segment);
      while (at < end) {
        const BatchView batch(at);
        at += batch.bytes().size();
        f(batch);
      }
    }
  }

  /// Behind a batch.
  class Place {
    friend class Arena;
    Segment* segment = nullptr;
    std::byte* at = nullptr;
  };
  /// Calls f(BatchView) for the oldest batches, as many as there are up to `count`, until it returns false. Seals the
  /// open batch if it comes to it. Returns the place behind the last one that f was called for. f must not use the arena.
  template <class F>
  Place visit(std::size_t count, F&& f) {
    if (count >= batches_) seal();
    std::byte* at = read_;
    Segment* segment = head_;
    if (segment == nullptr) return {};
    const std::byte* end = written_end(*segment);
    for (count = count < batches_ ? count : batches_; count > 0; --count) {
      while (at == end) [[unlikely]] {
        segment = segment->next;
        at = segment->begin();
        end = written_end(*segment);
      }
      const BatchView batch(at);
      at += batch.header().bytes;
      if (!f(batch)) break;
    }
    Place behind;
    behind.segment = segment;
    behind.at = at;
    return behind;
  }
  /// Pops the oldest `count` batches, which end at `end`: as visit() said, after which nothing was popped. None is open.
  void drop(std::size_t count, Place end) noexcept;

  /// Exchanges everything, memory and settings, with another arena.
  void swap(Arena& other) noexcept;

 private:
  struct alignas(64) Segment {
    Segment* next = nullptr;
    std::byte* end = nullptr;  // of what was written, once it is no longer the tail
    std::size_t bytes = 0;     // behind this header, without the slack
    std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* begin() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
  };

  // Padding is written without asking for room, up to this far behind what may be used.
  static constexpr std::size_t segment_slack = 16;
  std::size_t usual_bytes() const noexcept { return segment_bytes_ - sizeof(Segment) - segment_slack; }
  /// Of the batches in it; of the tail, without the padding of the open batch.
  const std::byte* written_end(const Segment& segment) const noexcept {
    return &segment == tail_ ? write_ : segment.end;
  }

  void make_room(std::size_t bytes) override;
  bool grow_open(std::size_t bytes) override;
  /// All of the head segment is popped.
  void leave_segment() noexcept;
  Segment* acquire(std::size_t bytes);
  void release(Segment* segment) noexcept;
  void free(Segment* segment) noexcept;

  std::byte* read_ = nullptr;      // the front batch
  std::byte* head_end_ = nullptr;  // of the head segment's batches; null while it is the tail: then write_ is
  Segment* head_ = nullptr;
  Segment* tail_ = nullptr;
  Segment* spare_ = nullptr;        // segments of the usual size
  Segment* spare_large_ = nullptr;  // larger ones, the last few released
  std::size_t spare_large_bytes_ = 0;
  std::size_t segment_bytes_;
  std::size_t capacity_ = 0;
};

}  // namespace muster
