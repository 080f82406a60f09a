// Provides the memory for queued batches. The memory is a FIFO of segments that never move or grow.
//
//   segment   | next, end, bytes | batch | batch | batch ...      | unused |
//   queue     head segment -> segment -> ... -> tail segment
//             ^ read_ (front batch)             ^ write_ (next item)
//
// Batches are popped in the order in which they were appended. After all batches of a segment have
// been popped, the segment is moved to a free list, so a warm arena does not allocate. A batch
// larger than a segment gets its own segment.
//
// Batch boundaries depend only on the content: consecutive messages share a batch of up to
// batch_bytes_default bytes. If the segment fills up first, the open batch moves to another
// segment. Batch boundaries therefore do not depend on how the memory was used previously.
#pragma once

#include <cstddef>
#include <cstdint>

#include "messages/batch_writer.h"
#include "messages/poison.h"
#include "messages/require.h"

namespace muster {

/// A queue of batches. Not thread-safe. Pointers into a batch are valid until the batch is popped,
/// even if batches are appended in the meantime, because a batch that is being read is neither
/// extended nor moved. Under AddressSanitizer, popped memory is poisoned until it is reused.
class Arena final : public BatchWriter {
  struct Segment;

 public:
  static constexpr std::size_t segment_bytes_default = 256u << 10;
  /// Limit on the size of a batch that can still be extended, including its header, regardless of
  /// the segment size. Changing the limit would change the state of a world, because each posted
  /// batch counts as one numbered input.
  static constexpr std::size_t batch_bytes_default = segment_bytes_default - 80;

  /// `segment_bytes` is the size of one allocation. It must be a multiple of 64 and at least 1024.
  /// The constructor does not allocate.
  explicit Arena(std::size_t segment_bytes = segment_bytes_default) noexcept;
  ~Arena();

  bool empty() const noexcept { return batches_ == 0; }
  /// Returns the number of queued batches, including the open one.
  std::size_t batches() const noexcept { return batches_; }
  /// Returns true if messages can still be added to the newest batch.
  bool last_is_open() const noexcept { return open_ != nullptr; }
  /// Returns the size of all queued batches, including headers. Takes time proportional to the
  /// number of segments.
  std::size_t bytes() const noexcept;
  /// Returns the size of one regular allocation in bytes.
  std::size_t segment_bytes() const noexcept { return segment_bytes_; }
  /// Returns the total size of the allocated memory in bytes, including unused memory.
  std::size_t capacity() const noexcept { return capacity_; }

  /// Returns the oldest batch, sealing it if it is open. The arena must not be empty.
  BatchView front() noexcept {
    if (open_ == read_) close();
    return BatchView(read_);
  }
  /// Releases the oldest batch. The arena must not be empty.
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
  /// Overwrites the targets of the oldest batch, whose kind must be each or shared. The number of
  /// targets must not change.
  void set_targets(std::span<const Entity> targets) noexcept;
  /// Calls f(BatchView, next) for at most `count` of the oldest batches, and pops each batch for
  /// which f returns true. Stops at the first batch for which f returns false. Returns the number
  /// of batches popped. `next` points to the batch that directly follows the passed batch in
  /// memory, or is null if there is none. f must not use the arena. No batch may be open.
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
  /// Pops all batches.
  void clear() noexcept;
  /// Returns unused segments to the system while the arena holds more than `kept` bytes of memory.
  void trim(std::size_t kept = 0) noexcept;
  /// Must be called when a burst is over. Returns unused segments to the system, but keeps 4 MiB,
  /// or as much as both this burst and the previous one needed.
  void give_back() noexcept {
    if (capacity_ > kept_after_burst) [[unlikely]]
      end_burst();
  }

  /// Calls f(BatchView) for every queued batch, oldest first. Does not seal the open batch; f
  /// receives the open batch in its current state.
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

  /// A position in the arena, directly after a batch.
  class Place {
    friend class Arena;
    Segment* segment = nullptr;
    std::byte* at = nullptr;
  };
  /// Calls f(BatchView) for at most `count` of the oldest batches, and stops after f returns false.
  /// Seals the open batch if `count` includes it. Returns the position after the last batch passed
  /// to f. f must not use the arena.
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
  /// Calls f(BatchView) for the queued batches after `after`, or for all batches if `after` is the
  /// default, until f returns false. Leaves out the open batch, which is not sealed. Returns the
  /// position after the last batch for which f returned true. `after` must have been returned by
  /// visit_sealed(), and the batch before it must still be queued.
  template <class F>
  Place visit_sealed(const Place& after, F&& f) const {
    Place behind = after;
    Segment* segment = after.segment != nullptr ? after.segment : head_;
    std::byte* at = after.segment != nullptr ? after.at : read_;
    while (segment != nullptr) {
      const std::byte* const end = segment != tail_ ? segment->end : open_ != nullptr ? open_ : write_;
      while (at < end) {
        const BatchView batch(at);
        if (!f(batch)) return behind;
        at += batch.header().bytes;
        behind.segment = segment;
        behind.at = at;
      }
      segment = segment->next;
      if (segment != nullptr) at = segment->begin();
    }
    return behind;
  }
  /// Returns the open batch as it is now. Requires last_is_open(). Valid until the next append.
  BatchView open_batch() const noexcept {
    finish_header();
    return BatchView(open_);
  }
  /// Removes the batches after the oldest `kept` ones. `end` is the position after those, as
  /// returned by visit_sealed(). No batch may be open.
  void keep(std::size_t kept, const Place& end) noexcept {
    Mark mark;
    mark.end = end;
    mark.batches = kept;
    cut(mark);
  }
  /// Pops the oldest `count` batches. `end` is the position after the last of them, as returned by
  /// visit(). No batch may have been popped since the call to visit(), and no batch may be open.
  void drop(std::size_t count, Place end) noexcept;

  /// The end of the arena at some time.
  class Mark {
    friend class Arena;
    Place end;
    std::size_t batches = 0;
  };
  /// Seals the open batch and returns the end of the arena.
  Mark mark() noexcept {
    seal();
    Mark made;
    made.end.segment = tail_;
    made.end.at = write_;
    made.batches = batches_;
    return made;
  }
  /// Removes the batches that were appended after the mark, and calls f(BatchView) for each of them
  /// before, oldest first. No batch may have been popped since mark(). f must not use the arena.
  template <class F>
  void cut(const Mark& mark, F&& f) {
    seal();
    std::size_t kept = mark.batches;
    for_each([&](const BatchView& batch) {
      if (kept == 0)
        f(batch);
      else
        --kept;
    });
    cut(mark);
  }

  /// Exchanges memory and settings with another arena.
  void swap(Arena& other) noexcept;

 private:
  static constexpr std::size_t kept_after_burst = 4u << 20;  // bytes
  void end_burst() noexcept;
  struct alignas(64) Segment {
    Segment* next = nullptr;
    std::byte* end = nullptr;  // end of the segment's batches; set when the segment is no longer
                               // the tail
    std::size_t bytes = 0;     // usable bytes after this header, excluding the slack
    std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* begin() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
  };

  // Padding may be written up to this many bytes past the usable end without checking for room.
  static constexpr std::size_t segment_slack = 16;
  std::size_t usual_bytes() const noexcept { return segment_bytes_ - sizeof(Segment) - segment_slack; }
  /// Returns the end of the segment's batches. In the tail segment, the end does not include the
  /// padding of the open batch.
  const std::byte* written_end(const Segment& segment) const noexcept {
    return &segment == tail_ ? write_ : segment.end;
  }

  void cut(const Mark& mark) noexcept;
  void make_room(std::size_t bytes) override;
  bool grow_open(std::size_t bytes) override;
  /// Leaves the head segment. All of the segment's batches must have been popped.
  void leave_segment() noexcept;
  Segment* acquire(std::size_t bytes);
  void release(Segment* segment) noexcept;
  void free(Segment* segment) noexcept;

  std::byte* read_ = nullptr;      // the oldest batch
  std::byte* head_end_ = nullptr;  // end of the batches in the head segment; null if the head is
                                   // also the tail
  Segment* head_ = nullptr;
  Segment* tail_ = nullptr;
  Segment* spare_ = nullptr;        // free segments of the regular size
  Segment* spare_large_ = nullptr;  // the most recently released segments of larger sizes
  std::size_t spare_large_bytes_ = 0;
  std::size_t segment_bytes_;
  std::size_t capacity_ = 0;
  std::size_t in_use_ = 0;       // bytes of capacity_ that are not spare
  std::size_t most_in_use_ = 0;  // since the previous call of give_back()
  std::size_t most_before_ = 0;  // until the previous call of give_back()
};

}  // namespace muster
