// Takes values from the bytes of a fuzz target.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace muster::testing {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  /// Returns the next value, whose missing bytes are 0 at the end of the input.
  template <class T>
  T take() {
    T value{};
    const std::size_t bytes = std::min(size_, sizeof value);
    std::memcpy(&value, data_, bytes);
    data_ += bytes;
    size_ -= bytes;
    return value;
  }
  std::span<const std::uint8_t> rest() const { return {data_, size_}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace muster::testing
