// A FIFO of small values in one power-of-two block: allocates only when it grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace muster {

template <class T>
class RingQueue {
 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const T& front() const noexcept { return block_[head_]; }
  /// The i-th from the front.
  const T& operator[](std::size_t i) const noexcept { return block_[(head_ + i) & mask_]; }
  /// From the i-th on, as many as lie one behind the other in memory.
  std::span<const T> run(std::size_t i) const noexcept {
    const std::size_t from = (head_ + i) & mask_;
    return {block_.data() + from, std::min(size_ - i, block_.size() - from)};
  }

  void push_back(const T& value) {
    if (size_ == block_.size()) [[unlikely]]
      grow();
    block_[(head_ + size_) & mask_] = value;
    ++size_;
  }
  /// `count` values: f(i) for each i.
  template <class F>
  void append(std::size_t count, F f) {
    while (block_.size() - size_ < count) grow();
    T* const block = block_.data();
    const std::size_t from = head_ + size_, mask = mask_;
    for (std::size_t i = 0; i < count; ++i) block[(from + i) & mask] = f(i);
    size_ += count;
  }
  void pop_front() noexcept { pop_front(1); }
  /// The first `count`, all at once.
  void pop_front(std::size_t count) noexcept {
    head_ = (head_ + count) & mask_;
    size_ -= count;
  }
  void clear() noexcept { head_ = size_ = 0; }

 private:
  [[gnu::noinline]] void grow() {
    std::vector<T> bigger(block_.empty() ? 64 : block_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = (*this)[i];
    block_.swap(bigger);
    mask_ = block_.size() - 1;
    head_ = 0;
  }

  std::vector<T> block_;
  std::size_t mask_ = 0;  // of the block's size
  std::size_t head_ = 0, size_ = 0;
};

}  // namespace muster
