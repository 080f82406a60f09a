// Writing and reading a manager's saved bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace managers {

template <class T>
void put(std::vector<std::byte>& out, std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::span<const std::byte> bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  put(out, std::span<const T>(&value, 1));
}

/// Takes values off the front; `good` turns false where the bytes end too early.
struct Reader {
  std::span<const std::byte> bytes;
  bool good = true;
  void take(void* to, std::size_t size) {
    if (size > bytes.size()) good = false;
    if (!good || size == 0) return;
    std::memcpy(to, bytes.data(), size);
    bytes = bytes.subspan(size);
  }
  template <class T>
  T take() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  /// All was read, and there was enough.
  bool done() const { return good && bytes.empty(); }
};

}  // namespace managers
