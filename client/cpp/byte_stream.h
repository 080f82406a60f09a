// A connection to a server, with or without TLS. Sends and receives bytes, and honors deadlines. No
// other part of the client uses sockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/cpp/result.h"
#include "system/tls.h"

namespace muster {

using Deadline = std::chrono::steady_clock::time_point;

/// Not thread-safe.
class ByteStream {
 public:
  /// Connects to `address`: "127.0.0.1:7717", "[::1]:7717", "localhost:7717", "tls:HOST:7717", or
  /// "unix:/path/of/socket". Uses TLS if the address begins with "tls:" or names another machine,
  /// or if `trust` is not empty; `trust.host` is not used. Fails with `lost` if the server cannot
  /// be trusted, or if the process behind a Unix socket belongs to another user.
  [[nodiscard]] static Result<ByteStream> connect(const std::string& address, Deadline deadline,
                                                  const TlsTrust& trust = {});
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
  /// Returns true if connect() has made sure that the server is the one that was meant.
  bool is_trusted() const noexcept { return is_trusted_; }

 private:
  explicit ByteStream(int descriptor) noexcept : descriptor_(descriptor) {}
  static Result<ByteStream> connect_local(const std::string& path, Deadline deadline);
  /// Performs the handshake of TLS.
  Result<void> encrypt(const TlsTrust& trust, Deadline deadline);

  int descriptor_ = -1;
  bool is_trusted_ = false;
  std::unique_ptr<TlsChannel> tls_;
  bool may_have_more_ = false;  // bytes that were received may still be in `tls_`
};

}  // namespace muster
