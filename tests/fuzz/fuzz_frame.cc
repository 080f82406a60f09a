// The frame decoder takes any stream, in any pieces: they give the frames and the fault that the stream as a whole gives.
//
//   input   | pieces: 1 byte, bit 7: envelopes | stream ... |    a piece is as long as the next byte of the stream says
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "messages/frame.h"

namespace {

struct Outcome {
  std::vector<std::vector<std::byte>> batches;
  std::vector<std::uint64_t> numbers;  // of headers and envelopes
  std::string fault;
  bool operator==(const Outcome&) const = default;
};

/// `step`: 0 gives all that there is room for, others pieces of 1 to `step` bytes.
Outcome decode(std::span<const std::byte> stream, bool envelopes, std::size_t step) {
  muster::FrameDecoder decoder(4096, envelopes);
  Outcome out;
  while (out.fault.empty()) {
    while (true) {
      const auto frame = decoder.next();
      if (!frame) {
        out.fault = std::to_string(frame.error().stream_offset) + " " + frame.error().text;
        break;
      }
      if (!*frame) break;
      const auto& f = **frame;
      if (reinterpret_cast<std::uintptr_t>(f.batch.data()) % 16 != 0) __builtin_trap();
      out.batches.emplace_back(f.batch.begin(), f.batch.end());
      for (const std::uint64_t number :
           {std::uint64_t{f.header.bytes}, std::uint64_t{f.header.flags}, f.header.request, f.envelope.sequence,
            f.envelope.session, f.envelope.sender_request, f.envelope.clock_ns})
        out.numbers.push_back(number);
    }
    if (stream.empty()) break;
    const auto room = decoder.room();
    if (room.empty() || decoder.memory_bytes() > 64 * 1024) __builtin_trap();
    std::size_t piece = stream.size();
    if (step != 0) piece = 1 + std::to_integer<std::size_t>(stream.front()) % step;
    piece = std::min({piece, room.size(), stream.size()});
    std::memcpy(room.data(), stream.data(), piece);
    decoder.received(piece);
    stream = stream.subspan(piece);
  }
  const auto end = decoder.finish();
  if (out.fault.empty() && !end) out.fault = end.error().text;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto stream = std::as_bytes(std::span(data, size)).subspan(1);
  const bool envelopes = (data[0] & 0x80) != 0;
  if (decode(stream, envelopes, 0) != decode(stream, envelopes, 1 + (data[0] & 0x7fu))) __builtin_trap();
  return 0;
}
