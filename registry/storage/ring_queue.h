// A FIFO of small values in a single block whose size is a power of two. Allocates only when it
// grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muster {

template <class T>
class RingQueue {
 public:
  std::size_t size() const noexcept { return tail_ - head_; }
  bool empty() const noexcept { return tail_ == head_; }
  const T& front() const noexcept { return block_[head_ & mask_]; }
  /// Returns the i-th value, counted from the front.
  const T& operator[](std::size_t i) const noexcept { return block_[(head_ + i) & mask_]; }
  /// Returns the contiguous values in memory that start with the i-th one. There is at least one.
  std::span<const T> run(std::size_t i) const noexcept {
    const std::size_t from = (head_ + i) & mask_;
    return {block_.data() + from, std::min(size() - i, block_.size() - from)};
  }

  void push_back(const T& value) {
    if (size() >= room_) [[unlikely]]
      grow();
    block_[tail_++ & mask_] = value;
  }
  /// Appends the values f(0), f(1), ..., f(count - 1).
  template <class F>
  void append(std::size_t count, F f) {
    while (room_ - size() < count) grow();
    for (std::size_t done = 0; done < count;) {
      const std::size_t from = tail_ & mask_, end = std::min(count, done + room_ - from);
      T* to = block_.data() + from;
      tail_ += end - done;
      for (; done < end; ++done) *to++ = f(done);
    }
  }
  void pop_front() noexcept { pop_front(1); }
  /// Removes the first `count` values. There must be at least that many.
  void pop_front(std::size_t count) noexcept { head_ += count; }
  /// Undoes the most recent `count` pops. Nothing may have been pushed since then.
  void unpop_front(std::size_t count) noexcept { head_ -= count; }
  void clear() noexcept {
    base_ += tail_;
    head_ = tail_ = 0;
  }

  /// Returns the number of values that were ever popped. The i-th value is therefore number
  /// popped() + i of all values that were ever pushed.
  std::uint64_t popped() const noexcept { return base_ + head_; }
  /// Returns to an earlier state, in which the queue contained the values numbered [first, end).
  /// value(number) returns those that have been popped since.
  template <class F>
  void rewind(std::uint64_t first, std::uint64_t end, F value) {
    if (const std::uint64_t now = popped(); now > end) {
      head_ -= now - end;
      tail_ = head_;
    } else {
      tail_ = head_ + (end - now);
    }
    while (popped() != first) {
      if (size() >= room_) grow();
      --head_;
      block_[head_ & mask_] = value(popped());
    }
  }

 private:
  [[gnu::noinline]] void grow() {
    std::vector<T> bigger(block_.empty() ? 64 : block_.size() * 2);
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) bigger[i] = (*this)[i];
    block_.swap(bigger);
    room_ = block_.size();
    mask_ = room_ - 1;
    base_ += head_;
    head_ = 0;
    tail_ = count;
  }

  std::vector<T> block_;
  std::size_t room_ = 0, mask_ = 0;  // size of the block, and that size minus 1
  std::size_t head_ = 0, tail_ = 0;  // numbers of pops and pushes since the block last grew
  std::uint64_t base_ = 0;           // number of pops before that
};

}  // namespace muster
