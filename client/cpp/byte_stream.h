// One connection to a server: bytes out, bytes in, with deadlines. The only part of the client that knows sockets.
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
  /// `address`: "127.0.0.1:7717", "[::1]:7717", "localhost:7717", or "unix:/path/of/socket".
  [[nodiscard]] static Result<ByteStream> connect(const std::string& address, Deadline deadline);
  ByteStream(ByteStream&& other) noexcept;
  ByteStream& operator=(ByteStream&& other) noexcept;
  ~ByteStream();

  enum class Ready { readable, writable, neither };
  /// Waits until bytes came, or `want_write` and some can go. `neither`: the deadline passed.
  [[nodiscard]] Ready wait(Deadline deadline, bool want_write);
  /// How many bytes went or came now, without waiting; 0: none just now.
  [[nodiscard]] Result<std::size_t> send_some(std::span<const std::byte> bytes);
  /// The stream's end is an error of kind lost.
  [[nodiscard]] Result<std::size_t> receive_some(std::span<std::byte> room);
  int descriptor() const noexcept { return descriptor_; }

 private:
  explicit ByteStream(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace muster
