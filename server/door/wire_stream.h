// The bytes of one connection, whatever carries them: a socket (socket_stream.h), or the messages
// of a WebSocket (web_stream.h). Those who speak on it know no more than this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace muster {

/// The result of a read. Where `end` is not none, there are no bytes and no further read may be
/// begun.
struct StreamRead {
  enum class End : std::uint8_t {
    none,    ///< at least one byte came
    ended,   ///< the other side sends nothing more
    broken,  ///< the connection is lost, was closed here, or the other side said what cannot be
  };
  std::size_t bytes = 0;
  End end = End::none;
};

/// Why this side ends a stream. A WebSocket tells it: 1000, 1001, 1008.
enum class Farewell : std::uint8_t { done, stopping, refused };

/// Listener's thread only. At most one read and one write at a time. `done` is called once, on the
/// listener's thread and never before the call that it was given to has returned, also where the
/// stream is closed meanwhile; not at all where the thread ends.
class WireStream {
 public:
  using ReadDone = std::move_only_function<void(StreamRead)>;
  using WriteDone = std::move_only_function<void(bool)>;

  virtual ~WireStream() = default;

  /// Reads at least one byte into `room`, which is valid until done.
  virtual void read_some(std::span<std::byte> room, ReadDone done) = 0;
  /// Writes all parts one behind the other. Their bytes are valid until done, their list until this
  /// returns. False: they did not all go, and nothing more will.
  virtual void write(std::span<const std::span<const std::byte>> parts, WriteDone done) = 0;
  /// True: all parts went at once, without a wait and a call of `done`. False, as from whoever
  /// cannot do this: call write() with the same parts, which goes on behind what went. No write may
  /// be pending.
  virtual bool write_at_once(std::span<const std::span<const std::byte>> parts) {
    static_cast<void>(parts);
    return false;
  }
  /// Tells the other side that nothing more is sent. No write may be pending; reads go on.
  virtual void end(Farewell why) = 0;
  /// At once; what is pending fails.
  virtual void close() = 0;
  /// Returns the bytes in the kernel that the other side has not taken; 0 if unknown.
  virtual std::size_t unsent() = 0;
  /// False: the stream is about to end, though a read may still be pending.
  virtual bool is_open() const = 0;
  /// Gives the socket away, to another kind of stream on it. Nothing may be pending; nothing may be
  /// done with this one any more.
  virtual int release() = 0;
};

}  // namespace muster
