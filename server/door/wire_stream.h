// Defines the interface of a connection's byte stream. The stream is either a socket
// (socket_stream.h) or the messages of a WebSocket (web_stream.h), which is itself carried by
// another stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace muster {

/// The result of a read. If `end` is not `none`, no bytes were read, and no further read may be
/// started.
struct StreamRead {
  enum class End : std::uint8_t {
    none,    ///< at least one byte was received
    ended,   ///< the peer has finished sending
    broken,  ///< the stream was lost, closed here, or ended by an invalid message
  };
  std::size_t bytes = 0;
  End end = End::none;
};

/// The reason why the server ends a stream. A WebSocket sends the reason as status 1000, 1001, or
/// 1008.
enum class Farewell : std::uint8_t { done, stopping, refused };

/// Must be used only on the listener's thread. At most one read and one write may be pending.
/// `done` is called exactly once, on the listener's thread, after the call has returned, even if
/// the stream is closed in the meantime. If the thread ends first, `done` is not called.
class WireStream {
 public:
  using ReadDone = std::move_only_function<void(StreamRead)>;
  using WriteDone = std::move_only_function<void(bool)>;

  virtual ~WireStream() = default;

  /// Reads at least one byte into `room`, which must stay valid until `done` is called.
  virtual void read_some(std::span<std::byte> room, ReadDone done) = 0;
  /// Writes all parts in order. Their bytes must stay valid until `done` is called, and the list
  /// itself until this function returns. done(false) means that some bytes were not sent and that
  /// no further bytes will be sent.
  virtual void write(std::span<const std::span<const std::byte>> parts, WriteDone done) = 0;
  /// Sends all parts immediately if possible, and returns true without calling `done`. Otherwise,
  /// returns false, and the caller must call write() with the same parts. That write() continues
  /// after the bytes that were already sent. No write may be pending.
  virtual bool write_at_once(std::span<const std::span<const std::byte>> parts) {
    static_cast<void>(parts);
    return false;
  }
  /// Ends the sending direction. No write may be pending. Reads continue.
  virtual void end(Farewell why) = 0;
  /// Closes the stream immediately. Pending reads and writes fail.
  virtual void close() = 0;
  /// Returns the number of bytes that are still in the kernel because the peer has not received
  /// them, or 0 if the number is unknown.
  virtual std::size_t unsent() = 0;
  /// Returns false if the stream is about to end, even while a read is still pending.
  virtual bool is_open() const = 0;
  /// Returns true if the port needs TLS, but the client does not use it. Such a client must be
  /// refused.
  virtual bool needs_tls() const { return false; }
};

}  // namespace muster
