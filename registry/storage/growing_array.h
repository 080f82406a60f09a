// A large array of plain values. Once large, it grows by an eighth at a time, so that little memory
// is unused. It grows without copying if the system's realloc can move pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace muster {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  GrowingArray() = default;
  ~GrowingArray() { std::free(static_cast<void*>(data_)); }
  GrowingArray(GrowingArray&& other) noexcept { *this = std::move(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(end_, other.end_);
    std::swap(room_end_, other.room_end_);
    return *this;
  }

  std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - data_); }
  const T* data() const noexcept { return data_; }
  T* data() noexcept { return data_; }
  const T* end() const noexcept { return end_; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }

  T& push_back(const T& value) {
    if (end_ == room_end_) [[unlikely]]
      make_room(1);
    return *new (end_++) T(value);
  }
  /// Appends `count` copies of `value`.
  void append(std::size_t count, const T& value) {
    if (room() < count) make_room(count);
    for (T* const last = end_ + count; end_ != last; ++end_) new (end_) T(value);
  }
  /// Removes the last `count` values.
  void drop_last(std::size_t count) noexcept { end_ -= count; }
  /// Appends `count` uninitialized values, which the caller must write. The pointer is valid until
  /// the array grows again.
  T* extend(std::size_t count) {
    if (room() < count) make_room(count);
    return std::exchange(end_, end_ + count);
  }

 private:
  std::size_t room() const noexcept { return static_cast<std::size_t>(room_end_ - end_); }
  /// Allocates room for `more` values after the existing ones.
  [[gnu::noinline]] void make_room(std::size_t more) {
    constexpr std::size_t large = (std::size_t{1} << 20) / sizeof(T);
    const std::size_t used = size(), old = used + room();
    const std::size_t wanted = std::max(used + more, old < large ? old * 2 : old + old / 8);
    void* const moved = std::realloc(static_cast<void*>(data_), wanted * sizeof(T));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    end_ = data_ + used;
    room_end_ = data_ + wanted;
  }

  T* data_ = nullptr;
  T* end_ = nullptr;
  T* room_end_ = nullptr;
};

}  // namespace muster
