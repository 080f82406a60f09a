#include "messages/frame.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace muster;

namespace {

std::vector<std::byte> batch_of(std::uint32_t bytes, std::uint8_t fill) {
  std::vector<std::byte> batch(bytes, std::byte{fill});
  BatchHeader header;
  header.bytes = bytes;
  std::memcpy(batch.data(), &header, sizeof header);
  return batch;
}

struct Seen {
  FrameHeader header;
  FrameEnvelope envelope;
  std::vector<std::byte> batch;
};

/// Feeds `bytes` in the pieces that `cuts` end, and says what came out.
std::vector<Seen> feed(FrameDecoder& decoder, std::span<const std::byte> bytes, std::vector<std::size_t> cuts) {
  std::vector<Seen> seen;
  cuts.push_back(bytes.size());
  std::size_t at = 0;
  for (const std::size_t cut : cuts) {
    while (at < cut) {
      auto room = decoder.room();
      REQUIRE_FALSE(room.empty());
      const std::size_t n = std::min(room.size(), cut - at);
      std::memcpy(room.data(), bytes.data() + at, n);
      decoder.received(n);
      at += n;
      while (true) {
        auto frame = decoder.next();
        REQUIRE(frame.has_value());
        if (!*frame) break;
        REQUIRE(reinterpret_cast<std::uintptr_t>((*frame)->batch.data()) % 16 == 0);
        seen.push_back({(*frame)->header, (*frame)->envelope, {(*frame)->batch.begin(), (*frame)->batch.end()}});
      }
    }
  }
  return seen;
}

std::vector<std::byte> three_frames() {
  std::vector<std::byte> stream;
  append_frame(stream, batch_of(32, 1), 7);
  const FrameEnvelope envelope{11, 12, 13, 14};
  append_frame(stream, batch_of(48, 2), 8, frame_more, &envelope);
  append_frame(stream, batch_of(64, 3), 9);
  return stream;
}

void require_three(const std::vector<Seen>& seen) {
  REQUIRE(seen.size() == 3);
  REQUIRE(seen[0].batch == batch_of(32, 1));
  REQUIRE(seen[0].header.request == 7);
  REQUIRE(seen[0].header.flags == 0);
  REQUIRE(seen[1].batch == batch_of(48, 2));
  REQUIRE(seen[1].header.flags == (frame_more | frame_envelope));
  REQUIRE(seen[1].envelope.sequence == 11);
  REQUIRE(seen[1].envelope.session == 12);
  REQUIRE(seen[1].envelope.sender_request == 13);
  REQUIRE(seen[1].envelope.clock_ns == 14);
  REQUIRE(seen[2].batch == batch_of(64, 3));
  REQUIRE(seen[2].header.request == 9);
}

FrameFault fault_of(std::uint32_t bytes, std::uint32_t flags, std::uint32_t bytes_max = 1024, bool envelopes = false) {
  FrameDecoder decoder(bytes_max, envelopes);
  const FrameHeader header{bytes, flags, 1};
  std::memcpy(decoder.room().data(), &header, sizeof header);
  decoder.received(sizeof header);
  auto frame = decoder.next();
  REQUIRE_FALSE(frame.has_value());
  auto again = decoder.next();
  REQUIRE_FALSE(again.has_value());
  REQUIRE(again.error().text == frame.error().text);
  return frame.error();
}

}  // namespace

TEST_CASE("every split of a stream into two or three pieces gives the same frames", "[frame]") {
  const auto stream = three_frames();
  for (std::size_t first = 0; first <= stream.size(); ++first)
    for (std::size_t second = first; second <= stream.size(); ++second) {
      FrameDecoder decoder(1024, true);
      require_three(feed(decoder, stream, {first, second}));
      REQUIRE(decoder.finish().has_value());
    }
}

TEST_CASE("a stream that comes byte by byte gives the same frames", "[frame]") {
  const auto stream = three_frames();
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < stream.size(); ++i) cuts.push_back(i);
  FrameDecoder decoder(1024, true);
  require_three(feed(decoder, stream, cuts));
}

TEST_CASE("a stream that ends inside a frame is told from one that ends between frames", "[frame]") {
  const auto stream = three_frames();
  for (std::size_t end = 0; end <= stream.size(); ++end) {
    FrameDecoder decoder(1024, true);
    feed(decoder, std::span(stream).first(end), {});
    const bool whole = end == 0 || end == 48 || end == 48 + 96 || end == stream.size();
    INFO("end " << end);
    REQUIRE(decoder.finish().has_value() == whole);
    if (!whole) REQUIRE(decoder.finish().error().code == FrameFault::Code::ended_inside);
  }
}

TEST_CASE("a frame header that is wrong is named, and stays wrong", "[frame]") {
  REQUIRE(fault_of(50, 0).code == FrameFault::Code::misaligned);
  REQUIRE(fault_of(50, 0).text == "a frame of 50 bytes; the size must be a multiple of 16");
  REQUIRE(fault_of(0, 0).code == FrameFault::Code::too_short);
  REQUIRE(fault_of(32, 0).code == FrameFault::Code::too_short);
  REQUIRE(fault_of(64, frame_envelope, 1024, true).code == FrameFault::Code::too_short);
  REQUIRE(fault_of(1040, 0).code == FrameFault::Code::oversized);
  REQUIRE(fault_of(1040, 0).text == "a frame of 1040 bytes; the limit is 1024");
  REQUIRE(fault_of(0xfffffff0u, 0, 16u << 20).code == FrameFault::Code::oversized);
  REQUIRE(fault_of(64, 16).code == FrameFault::Code::unknown_flag);
  REQUIRE(fault_of(96, frame_envelope).code == FrameFault::Code::unexpected_envelope);
}

TEST_CASE("frames before a wrong one are still given, and the wrong one's place in the stream is told", "[frame]") {
  std::vector<std::byte> stream = three_frames();
  stream.resize(stream.size() + 16, std::byte{0xff});
  FrameDecoder decoder(1024, true);
  std::memcpy(decoder.room().data(), stream.data(), stream.size());
  decoder.received(stream.size());
  for (int i = 0; i < 3; ++i) REQUIRE(decoder.next().value().has_value());
  auto frame = decoder.next();
  REQUIRE_FALSE(frame.has_value());
  REQUIRE(frame.error().stream_offset == stream.size() - 16);
}

TEST_CASE("a large frame grows the buffer only as its bytes come, and a quiet stream gives the memory back",
          "[frame]") {
  FrameDecoder decoder(16u << 20);
  const FrameHeader header{16u << 20, 0, 1};
  std::memcpy(decoder.room().data(), &header, sizeof header);
  decoder.received(sizeof header);
  REQUIRE_FALSE(decoder.next().value().has_value());
  for (int i = 0; i < 100; ++i) decoder.room();
  REQUIRE(decoder.memory_bytes() <= 8192);

  FrameDecoder busy(16u << 20);
  std::vector<std::byte> stream;
  append_frame(stream, batch_of(1u << 20, 5), 1);
  REQUIRE(feed(busy, stream, {}).size() == 1);
  REQUIRE(busy.memory_bytes() <= (4u << 20));
  stream.clear();
  append_frame(stream, batch_of(32, 5), 1);
  for (int i = 0; i < 20; ++i) REQUIRE(feed(busy, stream, {}).size() == 1);
  REQUIRE(busy.memory_bytes() <= 8192);
}

TEST_CASE("what is wrong with a frame is said in numbers, and every fault has its name", "[frame]") {
  REQUIRE(fault_of(0, 0).text == "a frame of 0 bytes; the minimum is 48");
  REQUIRE(fault_of(32, 0).text == "a frame of 32 bytes; the minimum is 48");
  REQUIRE(fault_of(64, frame_envelope, 1024, true).text == "a frame of 64 bytes; the minimum is 80");
  REQUIRE(fault_of(64, 16, 1024, true).text == "frame flags 16; this version supports 15");
  REQUIRE(fault_of(64, frame_more).code == FrameFault::Code::unknown_flag);
  REQUIRE(fault_of(64, frame_more).text == "frame flags 2; frames to the server have none");
  REQUIRE(fault_of(96, frame_envelope).text ==
          "unexpected envelope in a frame to the server: only the server writes envelopes");
  const std::pair<FrameFault::Code, std::string> names[] = {
      {FrameFault::Code::misaligned, "misaligned"},     {FrameFault::Code::too_short, "too_short"},
      {FrameFault::Code::oversized, "oversized"},       {FrameFault::Code::unknown_flag, "unknown_flag"},
      {FrameFault::Code::ended_inside, "ended_inside"}, {FrameFault::Code::unexpected_envelope, "unexpected_envelope"}};
  for (const auto& [code, text] : names) CHECK(name(code) == text);
}

TEST_CASE("the shortest and the longest frame are taken, and the longest may grow with the next header", "[frame]") {
  std::vector<std::byte> stream;
  append_frame(stream, batch_of(32, 1), 1);
  append_frame(stream, batch_of(112, 1), 2);
  append_frame(stream, batch_of(128, 1), 3);
  FrameDecoder decoder(128);
  std::memcpy(decoder.room().data(), stream.data(), stream.size());
  decoder.received(stream.size());
  CHECK(decoder.next().value()->header.bytes == 48);
  CHECK(decoder.next().value()->header.bytes == 128);
  decoder.set_frame_bytes_max(144);
  CHECK(decoder.next().value()->header.bytes == 144);
  CHECK_FALSE(decoder.next().value().has_value());
  const FrameEnvelope envelope{1, 2, 3, 4};
  std::vector<std::byte> enveloped;
  append_frame(enveloped, batch_of(32, 1), 1, 0, &envelope);
  REQUIRE(enveloped.size() == frame_bytes_min + 32);
  FrameDecoder other(80, true);
  CHECK(feed(other, enveloped, {}).size() == 1);
}

TEST_CASE("a frame without an envelope never says that it has one", "[frame]") {
  std::vector<std::byte> stream;
  append_frame(stream, batch_of(32, 1), 1, frame_envelope | frame_event | frame_pushed);
  FrameDecoder decoder(1024, true);
  const auto seen = feed(decoder, stream, {});
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].header.flags == (frame_event | frame_pushed));
  CHECK(seen[0].envelope.sequence == 0);
  CHECK(seen[0].header.bytes == 48);
}

TEST_CASE("where a stream ended inside a frame is told by its bytes, and after a fault that fault", "[frame]") {
  const auto stream = three_frames();
  FrameDecoder decoder(1024, true);
  feed(decoder, std::span(stream).first(48 + 20), {});
  CHECK(decoder.finish().error().text == "the stream ended 20 bytes into a frame");
  CHECK(decoder.finish().error().stream_offset == 48);
  FrameDecoder faulty(1024, true);
  const FrameHeader header{50, 0, 1};
  std::memcpy(faulty.room().data(), &header, sizeof header);
  faulty.received(sizeof header);
  CHECK_FALSE(faulty.next().has_value());
  CHECK(faulty.finish().error().code == FrameFault::Code::misaligned);
}
