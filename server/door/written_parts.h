// The parts of one write, as Asio takes them.
#pragma once

#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace muster {

/// One thread at a time. What of() gives is valid until it is called again.
class WrittenParts {
 public:
  std::span<const boost::asio::const_buffer> of(std::span<const std::span<const std::byte>> parts) {
    buffers_.clear();
    for (const std::span<const std::byte> part : parts) buffers_.emplace_back(part.data(), part.size());
    return buffers_;
  }
  /// What of() gave last.
  std::span<const boost::asio::const_buffer> all() const noexcept { return buffers_; }

 private:
  std::vector<boost::asio::const_buffer> buffers_;
};

}  // namespace muster
