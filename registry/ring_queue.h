// A FIFO of small values in one power-of-two block: allocates only when it grows.
#pragma once

#include <cstddef>
#include <vector>

namespace muster {

template <class T>
class RingQueue {
 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const T& front() const noexcept { return block_[head_]; }
  /// The i-th from the front.
  const T& operator[](std::size_t i) const noexcept { return block_[(head_ + i) & (block_.size() - 1)]; }

  void push_back(const T& value) {
    if (size_ == block_.size()) grow();
    block_[(head_ + size_) & (block_.size() - 1)] = value;
    ++size_;
  }
  void pop_front() noexcept { pop_front(1); }
  /// The first `count`, all at once.
  void pop_front(std::size_t count) noexcept {
    head_ = (head_ + count) & (block_.size() - 1);
    size_ -= count;
  }
  void clear() noexcept { head_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> bigger(block_.empty() ? 64 : block_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = (*this)[i];
    block_.swap(bigger);
    head_ = 0;
  }

  std::vector<T> block_;
  std::size_t head_ = 0, size_ = 0;
};

}  // namespace muster
