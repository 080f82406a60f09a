#include "messages/frame.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t capacity_min = 4096;
// A busy stream of small frames grows the buffer up to this capacity.
constexpr std::size_t capacity_streaming_max = 256u << 10;

}  // namespace

const char* name(FrameFault::Code code) noexcept {
  switch (code) {
    case FrameFault::Code::misaligned: return "misaligned";
    case FrameFault::Code::too_short: return "too_short";
    case FrameFault::Code::oversized: return "oversized";
    case FrameFault::Code::unknown_flag: return "unknown_flag";
    case FrameFault::Code::unexpected_envelope: return "unexpected_envelope";
    case FrameFault::Code::ended_inside: return "ended_inside";
  }
  return "unknown";
}

void FrameDecoder::Freer::operator()(std::byte* memory) const noexcept {
  ::operator delete(memory, std::align_val_t{batch_alignment});
}

FrameDecoder::Buffer FrameDecoder::allocate(std::size_t bytes) {
  return Buffer(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{batch_alignment})));
}

FrameDecoder::FrameDecoder(std::uint32_t frame_bytes_max, bool envelopes)
    : buffer_(allocate(capacity_min)),
      capacity_(capacity_min),
      frame_bytes_max_(frame_bytes_max),
      envelopes_(envelopes) {}
FrameDecoder::~FrameDecoder() = default;
FrameDecoder::FrameDecoder(FrameDecoder&&) noexcept = default;
FrameDecoder& FrameDecoder::operator=(FrameDecoder&&) noexcept = default;

void FrameDecoder::resize(std::size_t capacity) {
  Buffer larger = allocate(capacity);
  if (end_ > begin_) std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
  buffer_ = std::move(larger);
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

std::uint32_t FrameDecoder::awaited_bytes() const noexcept {
  FrameHeader header;
  if (fault_ || end_ - begin_ < sizeof header) return 0;
  std::memcpy(&header, buffer_.get() + begin_, sizeof header);
  return header.bytes;
}

std::span<std::byte> FrameDecoder::room() {
  const std::size_t held = end_ - begin_;
  if (held == 0) begin_ = end_ = 0;
  const bool was_filled = end_ == capacity_ && last_received_ > 0;
  if (held == 0 && capacity_ > capacity_min && last_received_ < capacity_ / 8) {
    // Shrink the buffer if the stream has become quiet. The memory of a large frame is freed at
    // once, because the next bytes may not arrive for a long time.
    resize(std::max(capacity_min, std::min(capacity_ / 4, capacity_streaming_max)));
  } else if (end_ == capacity_ || (begin_ > 0 && capacity_ - end_ < capacity_ / 4)) {
    // The remaining bytes start on a 16-byte boundary and are moved to another 16-byte boundary, so
    // batches stay aligned.
    if (held > capacity_ / 2 || (was_filled && capacity_ < capacity_streaming_max)) {
      resize(capacity_ * 2);
    } else {
      std::memmove(buffer_.get(), buffer_.get() + begin_, held);
      end_ = held;
      begin_ = 0;
    }
  }
  return {buffer_.get() + end_, capacity_ - end_};
}

void FrameDecoder::received(std::size_t bytes) noexcept {
  end_ += bytes;
  last_received_ = bytes;
}

std::expected<std::optional<WireFrame>, FrameFault> FrameDecoder::next() {
  if (fault_) return std::unexpected(*fault_);
  const auto fail = [&](FrameFault::Code code, std::string text) {
    fault_ = FrameFault{code, stream_begin_, std::move(text)};
    return std::unexpected(*fault_);
  };
  if (end_ - begin_ < sizeof(FrameHeader)) return std::optional<WireFrame>();
  WireFrame frame;
  const std::byte* base = buffer_.get() + begin_;
  std::memcpy(&frame.header, base, sizeof frame.header);
  const std::uint32_t bytes = frame.header.bytes;
  if (bytes % batch_alignment != 0)
    return fail(FrameFault::Code::misaligned,
                "a frame of " + std::to_string(bytes) + " bytes; the size must be a multiple of 16");
  if ((frame.header.flags & ~frame_flags_known) != 0)
    return fail(FrameFault::Code::unknown_flag, "frame flags " + std::to_string(frame.header.flags) +
                                                    "; this version supports " + std::to_string(frame_flags_known));
  const bool enveloped = (frame.header.flags & frame_envelope) != 0;
  if (enveloped && !envelopes_)
    return fail(FrameFault::Code::unexpected_envelope,
                "unexpected envelope in a frame to the server: only the server writes envelopes");
  if (frame.header.flags != 0 && !envelopes_)
    return fail(FrameFault::Code::unknown_flag,
                "frame flags " + std::to_string(frame.header.flags) + "; frames to the server have none");
  const std::uint32_t overhead = enveloped ? frame_overhead_max : std::uint32_t{sizeof(FrameHeader)};
  if (bytes < overhead + sizeof(BatchHeader))
    return fail(FrameFault::Code::too_short, "a frame of " + std::to_string(bytes) + " bytes; the minimum is " +
                                                 std::to_string(overhead + sizeof(BatchHeader)));
  if (bytes > frame_bytes_max_)
    return fail(FrameFault::Code::oversized,
                "a frame of " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(frame_bytes_max_));
  if (end_ - begin_ < bytes) return std::optional<WireFrame>();
  if (enveloped) std::memcpy(&frame.envelope, base + sizeof(FrameHeader), sizeof frame.envelope);
  frame.batch = {base + overhead, bytes - overhead};
  begin_ += bytes;
  stream_begin_ += bytes;
  return std::optional<WireFrame>(frame);
}

std::expected<void, FrameFault> FrameDecoder::finish() const {
  if (fault_) return std::unexpected(*fault_);
  if (begin_ == end_) return {};
  return std::unexpected(FrameFault{FrameFault::Code::ended_inside, stream_begin_,
                                    "the stream ended " + std::to_string(end_ - begin_) + " bytes into a frame"});
}

namespace {

std::size_t head_bytes(const FrameEnvelope* envelope) {
  return sizeof(FrameHeader) + (envelope ? sizeof *envelope : 0);
}

/// Writes the head of a frame and returns the end of that head.
std::byte* write_head(std::byte* to, std::size_t batch_bytes, std::uint64_t request, std::uint32_t flags,
                      const FrameEnvelope* envelope) {
  FrameHeader header;
  header.flags = envelope ? flags | frame_envelope : flags & ~std::uint32_t{frame_envelope};
  header.bytes = static_cast<std::uint32_t>(head_bytes(envelope) + batch_bytes);
  header.request = request;
  std::memcpy(to, &header, sizeof header);
  if (envelope) std::memcpy(to + sizeof header, envelope, sizeof *envelope);
  return to + head_bytes(envelope);
}

}  // namespace

void append_frame(std::vector<std::byte>& out, std::span<const std::byte> batch, std::uint64_t request,
                  std::uint32_t flags, const FrameEnvelope* envelope) {
  const std::size_t at = out.size();
  out.resize(at + head_bytes(envelope) + batch.size());
  std::memcpy(write_head(out.data() + at, batch.size(), request, flags, envelope), batch.data(), batch.size());
}

void append_frame_head(std::vector<std::byte>& out, std::size_t batch_bytes, std::uint64_t request, std::uint32_t flags,
                       const FrameEnvelope* envelope) {
  const std::size_t at = out.size();
  out.resize(at + head_bytes(envelope));
  write_head(out.data() + at, batch_bytes, request, flags, envelope);
}

}  // namespace muster
