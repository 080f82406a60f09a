// The interface of a connection's byte stream: a socket (socket_stream.h), or the messages of a
// WebSocket (web_stream.h), which are themselves carried by another stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace muster {

/// The result of a read. If `end` is not none, there are no bytes, and no further read may begin.
struct StreamRead {
  enum class End : std::uint8_t {
    none,    ///< at least one byte came
    ended,   ///< the other side sends nothing more
    broken,  ///< lost, closed here, or ended by an invalid message
  };
  std::size_t bytes = 0;
  End end = End::none;
};

/// The reason why this side ends a stream. A WebSocket sends it as 1000, 1001 or 1008.
enum class Farewell : std::uint8_t { done, stopping, refused };

/// Used on the listener's thread. At most one read and one write may be pending. `done` is called
/// once, on the listener's thread, after the call has returned, even if the stream is closed
/// meanwhile. It is not called if the thread ends.
class WireStream {
 public:
  using ReadDone = std::move_only_function<void(StreamRead)>;
  using WriteDone = std::move_only_function<void(bool)>;

  virtual ~WireStream() = default;

  /// Reads at least one byte into `room`, which must stay valid until done.
  virtual void read_some(std::span<std::byte> room, ReadDone done) = 0;
  /// Writes all parts in order. Their bytes must stay valid until done, and their list until this
  /// returns. done(false) means that some bytes were not sent and nothing more will be sent.
  virtual void write(std::span<const std::span<const std::byte>> parts, WriteDone done) = 0;
  /// Sends all parts at once if possible, and returns true without a call of `done`. Otherwise
  /// returns false; call write() with the same parts, which continues after the sent bytes. No
  /// write may be pending.
  virtual bool write_at_once(std::span<const std::span<const std::byte>> parts) {
    static_cast<void>(parts);
    return false;
  }
  /// Ends the sending direction. No write may be pending; reads go on.
  virtual void end(Farewell why) = 0;
  /// Closes at once; pending reads and writes fail.
  virtual void close() = 0;
  /// Returns the bytes in the kernel that the other side has not taken; 0 if unknown.
  virtual std::size_t unsent() = 0;
  /// Returns false if the stream is about to end, even if a read is still pending.
  virtual bool is_open() const = 0;
};

}  // namespace muster
