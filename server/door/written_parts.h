// Converts the parts of a write to the buffer type of a library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace muster {

/// `Buffer` is the library's buffer type, which is constructed from an address and a size. It is a
/// template parameter so that this file need not include the library's header. Must be used by only
/// one thread at a time. The result of of() is valid until the next call.
template <class Buffer>
class WrittenParts {
 public:
  /// Returns the buffers, except for the first `skipped` bytes.
  std::span<const Buffer> of(std::span<const std::span<const std::byte>> parts, std::size_t skipped = 0) {
    buffers_.clear();
    for (const std::span<const std::byte> part : parts) {
      const std::size_t gone = std::min(skipped, part.size());
      skipped -= gone;
      if (gone == 0 || gone < part.size()) buffers_.emplace_back(part.data() + gone, part.size() - gone);
    }
    return buffers_;
  }
  /// Returns the most recent result of of().
  std::span<const Buffer> all() const noexcept { return buffers_; }

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace muster
