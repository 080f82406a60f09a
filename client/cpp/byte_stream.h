// A connection to a server. Sends and receives bytes, and honors deadlines. No other part of the
// client uses sockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/result.h"

namespace muster {

using Deadline = std::chrono::steady_clock::time_point;

/// Not thread-safe.
class ByteStream {
 public:
  /// Connects to `address`: "127.0.0.1:7717", "[::1]:7717", "localhost:7717", or
  /// "unix:/path/of/socket".
  [[nodiscard]] static Result<ByteStream> connect(const std::string& address, Deadline deadline);
  ByteStream(ByteStream&& other) noexcept;
  ByteStream& operator=(ByteStream&& other) noexcept;
  ~ByteStream();

  enum class Ready { readable, writable, neither };
  /// Waits until bytes can be received or, if `want_write` is true, sent. Returns `neither` if the
  /// deadline passes first.
  [[nodiscard]] Ready wait(Deadline deadline, bool want_write);
  /// Sends without waiting, and returns the number of bytes sent, which may be 0.
  [[nodiscard]] Result<std::size_t> send_some(std::span<const std::byte> bytes);
  /// Receives without waiting, and returns the number of bytes received, which may be 0. The end of
  /// the stream is an error of kind `lost`.
  [[nodiscard]] Result<std::size_t> receive_some(std::span<std::byte> room);
  int descriptor() const noexcept { return descriptor_; }

 private:
  explicit ByteStream(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace muster
