// Defines frames, which carry batches over a byte stream. Converts bytes to frames and frames to
// bytes, for both clients and servers, but performs no I/O. docs/protocol.md specifies the frames.
//
//   frame     0        4        8                16                               48
//             | bytes  | flags  | request        | envelope, if flag envelope      | one batch (messages/batch.h)
//
//   envelope  0                8                16               24
//             | sequence       | session        | sender_request | clock_ns        |
//
//   bytes     size of the whole frame including this header; a multiple of 16, so batches in an aligned buffer are aligned
//   request   the id that the sender chose for a question; an answer has the id of its question, and a frame of a watch has
//             the id of the Follow that opened it; 0: no answer is requested
//   envelope  only from server to client: identifies the input of the world to which this batch or
//             value belongs
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/batch.h"

namespace muster {

/// Bits of FrameHeader::flags. Only servers set these bits. A decoder refuses frames with unknown
/// bits, and a server refuses frames with any of these bits.
enum FrameFlags : std::uint32_t {
  frame_envelope = 1,  ///< an envelope follows the header, before the batch
  frame_more = 2,      ///< the answer, or the state at this sequence, continues in a later frame
  frame_event = 4,     ///< the frame belongs to a watch and contains an input as it occurred,
                       ///< rather than part of the state
  frame_pushed = 8,    ///< set only together with frame_event: the message came from a handler or a
                       ///< timer and is not an input
};
constexpr std::uint32_t frame_flags_known = frame_envelope | frame_more | frame_event | frame_pushed;

struct FrameHeader {
  std::uint32_t bytes = 0;
  std::uint32_t flags = 0;
  std::uint64_t request = 0;
};
static_assert(sizeof(FrameHeader) == 16);

struct FrameEnvelope {
  std::uint64_t sequence = 0;
  std::uint64_t session = 0;         ///< the session that sent the input; 0 means the world itself
  std::uint64_t sender_request = 0;  ///< the session's request id for the input
  std::uint64_t clock_ns = 0;
};
static_assert(sizeof(FrameEnvelope) == 32);

constexpr std::uint32_t frame_overhead_max = sizeof(FrameHeader) + sizeof(FrameEnvelope);
constexpr std::uint32_t frame_bytes_min = sizeof(FrameHeader) + sizeof(BatchHeader);

/// A complete frame. `batch` points into the decoder and has not been verified (verify_batch).
struct WireFrame {
  FrameHeader header;
  FrameEnvelope envelope;  ///< all zeros if the frame has no envelope
  std::span<const std::byte> batch;
};

struct FrameFault {
  enum class Code : std::uint8_t { misaligned, too_short, oversized, unknown_flag, unexpected_envelope, ended_inside };
  Code code = Code::misaligned;
  std::uint64_t stream_offset = 0;  ///< byte offset of the frame in the stream
  std::string text;                 ///< a sentence that gives the value found and the allowed
                                    ///< values
};
const char* name(FrameFault::Code code) noexcept;

/// Splits a byte stream into frames. Holds at most one incomplete frame and the bytes received
/// after it. Memory use depends on the bytes received, not on the length claimed by a header. Only
/// one thread may use a decoder at a time.
///
///     while (reading) { auto room = decoder.room(); n = read(room); decoder.received(n);
///                       while (auto frame = decoder.next()) { if (!*frame) break; use(**frame); } }
class FrameDecoder {
 public:
  /// If `envelopes` is true, frames may have envelopes and flags. Clients set it to true.
  explicit FrameDecoder(std::uint32_t frame_bytes_max, bool envelopes = false);
  ~FrameDecoder();
  FrameDecoder(FrameDecoder&&) noexcept;
  FrameDecoder& operator=(FrameDecoder&&) noexcept;

  /// Sets the limit on the size of a frame, in bytes. The limit applies to every frame whose header
  /// has not been read yet.
  void set_frame_bytes_max(std::uint32_t bytes) noexcept { frame_bytes_max_ = bytes; }

  /// Returns a non-empty span of memory to fill with received bytes. Invalidates previously
  /// returned frames.
  std::span<std::byte> room();
  /// Must be called after the first `bytes` bytes of room() have been filled.
  void received(std::size_t bytes) noexcept;
  /// Returns the next complete frame, or nothing if more bytes are needed. After a fault, every
  /// call returns that fault. The frame is valid until room() is called.
  [[nodiscard]] std::expected<std::optional<WireFrame>, FrameFault> next();
  /// Reads the next frame if it is complete and has no flags, as is the case for most frames sent
  /// to a server. Otherwise returns false and does nothing; the caller must then call next().
  bool next_plain(WireFrame& frame) noexcept {
    FrameHeader header;
    if (end_ - begin_ < sizeof header + sizeof(BatchHeader)) return false;
    std::memcpy(&header, buffer_.get() + begin_, sizeof header);
    if (fault_ || header.flags != 0 || header.bytes % batch_alignment != 0 || header.bytes > frame_bytes_max_ ||
        header.bytes < sizeof header + sizeof(BatchHeader) || header.bytes > end_ - begin_)
      return false;
    frame.header = header;
    frame.batch = {buffer_.get() + begin_ + sizeof header, header.bytes - sizeof header};
    begin_ += header.bytes;
    stream_begin_ += header.bytes;
    return true;
  }
  /// Must be called after the stream has ended. Returns a fault if the stream ended in the middle
  /// of a frame.
  [[nodiscard]] std::expected<void, FrameFault> finish() const;

  std::size_t memory_bytes() const noexcept { return capacity_; }
  /// Returns the size of the frame whose header has been received, but not all of its bytes.
  /// Returns 0 if there is no such frame. Valid after next() has returned nothing.
  std::uint32_t awaited_bytes() const noexcept;

 private:
  struct Freer {
    void operator()(std::byte* memory) const noexcept;
  };
  using Buffer = std::unique_ptr<std::byte[], Freer>;
  static Buffer allocate(std::size_t bytes);
  void resize(std::size_t capacity);

  Buffer buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // start of the first frame that has not yet been returned; a multiple of
                           // 16
  std::size_t end_ = 0;    // end of the received bytes
  std::size_t last_received_ = 0;
  std::uint64_t stream_begin_ = 0;  // stream offset of begin_
  std::uint32_t frame_bytes_max_;
  bool envelopes_;
  std::optional<FrameFault> fault_;
};

/// Appends one frame to `out`. The size of `out` must be a multiple of 16, and remains a multiple
/// of 16. The batch must be complete.
void append_frame(std::vector<std::byte>& out, std::span<const std::byte> batch, std::uint64_t request,
                  std::uint32_t flags = 0, const FrameEnvelope* envelope = nullptr);
/// Appends the part of a frame that precedes the batch. The caller must send the batch's bytes
/// directly after it.
void append_frame_head(std::vector<std::byte>& out, std::size_t batch_bytes, std::uint64_t request,
                       std::uint32_t flags = 0, const FrameEnvelope* envelope = nullptr);

}  // namespace muster
