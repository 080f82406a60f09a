// Frames are the same whatever carries them: one script over TCP, a Unix socket and a WebSocket, and what it is answered.
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>

#include "tests/server/door/web_client.h"
#include "tests/server/live_world.h"
#include "tests/server/queued_frames.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace muster::testing;

namespace {

using Bytes = std::vector<std::byte>;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The frame as it came.
Bytes whole(const FrameHeader& header, const FrameEnvelope& envelope, std::span<const std::byte> batch) {
  Bytes all;
  append_frame(all, batch, header.request, header.flags & ~std::uint32_t{frame_envelope},
               (header.flags & frame_envelope) ? &envelope : nullptr);
  return all;
}

/// Frames over a WebSocket. Every frame leaves in messages and fragments that are cut elsewhere than frames are.
class WebFrames {
 public:
  explicit WebFrames(const std::string& address) : client_(address) { client_.open(); }
  void send(const Bytes& frames) {
    const std::string bytes = text_of(frames);
    constexpr std::size_t piece = 37;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const bool goes_on = (at / piece) % 3 != 0;  // fragments: up to three make a message
      const bool last = (at / piece) % 3 == 2 || at + piece >= bytes.size();
      client_.send_frame(goes_on ? WebClient::more : WebClient::binary, bytes.substr(at, piece), last);
      if (at % 5 == 0) client_.send_frame(WebClient::ping, "x");
    }
  }
  std::optional<Bytes> receive() {
    while (ready_.empty()) {
      const auto got = client_.receive_frame();
      if (!got || got->opcode == WebClient::close) return std::nullopt;
      if (got->opcode != WebClient::binary) continue;
      REQUIRE(got->bytes.size() % 16 == 0);  // whole frames
      decode(decoder_, std::as_bytes(std::span(got->bytes)),
             [&](const WireFrame& frame) { ready_.push_back(whole(frame.header, frame.envelope, frame.batch)); });
      REQUIRE(decoder_.finish());
    }
    Bytes next = std::move(ready_.front());
    ready_.pop_front();
    return next;
  }

 private:
  WebClient client_;
  FrameDecoder decoder_{1u << 20, true};
  std::deque<Bytes> ready_;
};

/// The same over a socket.
class SocketFrames {
 public:
  explicit SocketFrames(const std::string& address) : client_(address) {}
  void send(const Bytes& frames) { client_.send(frames); }
  std::optional<Bytes> receive() {
    const auto got = client_.receive();
    if (!got) return std::nullopt;
    return whole(got->header, got->envelope, got->bytes);
  }

 private:
  RawClient client_;
};

template <GeneratedType M>
void add(Bytes& to, std::uint64_t request, const M& message) {
  BatchBuilder builder;
  session::append(builder, message);
  append_frame(to, builder.bytes(), request);
}

/// Overwrites what is drawn at random or counts clients.
void forget_identity(Bytes& frame) {
  BatchHeader header;
  std::memcpy(&header, frame.data() + sizeof(FrameHeader), sizeof header);
  if (header.type == TypeTraits<session::Welcome>::id) frame.resize(sizeof(FrameHeader) + 8);
}

/// What a world of its own answers: to a Hello, questions, an edit that is refused, and what ends the session.
template <class Frames>
std::vector<std::string> answers(LiveWorld& world, const std::string& address) {
  const Entity orc = world.run([](EntityRegistry& registry) { return registry.create("orc", arena::Health{}); });
  Frames frames(address);
  std::vector<std::string> got;
  const auto keep = [&] {
    auto frame = frames.receive();
    if (!frame) return false;
    forget_identity(*frame);
    got.push_back(text_of(*frame));
    return true;
  };
  Bytes first;
  session::Hello hello = hello_with();
  hello.name = "same";
  add(first, 1, hello);
  session::Heartbeat beat;
  beat.number = 7;
  add(first, 2, beat);
  add(first, 3, session::GetSchema{});
  frames.send(first);
  for (int i = 0; i < 2; ++i) REQUIRE(keep());
  std::string* schema = nullptr;
  do {
    REQUIRE(keep());
    schema = &got.back();
  } while ((static_cast<unsigned char>((*schema)[4]) & frame_more) != 0);
  Bytes edits;
  BatchBuilder damage;
  damage.append(orc, arena::Damage{.amount = 2.5f});
  append_frame(edits, damage.bytes(), 4);
  BatchBuilder nobody;
  nobody.append(orc, Destroy{});
  append_frame(edits, nobody.bytes(), 5);
  append_frame(edits, nobody.bytes(), 6);
  frames.send(edits);
  for (int i = 0; i < 3; ++i) REQUIRE(keep());
  Bytes last;
  add(last, 8, hello);  // a second one ends the session
  frames.send(last);
  REQUIRE(keep());
  CHECK_FALSE(frames.receive());
  return got;
}

}  // namespace

TEST_CASE("the same frames have the same answers over TCP, a Unix socket and a WebSocket", "[web]") {
  const test::Folder folder;
  std::vector<std::string> over_tcp, over_unix, over_web;
  {
    LiveWorld world;
    over_tcp = answers<SocketFrames>(world, world.address());
  }
  {
    LiveWorldOptions options;
    options.tcp = false;
    options.unix_path = folder / "socket";
    LiveWorld world(options);
    over_unix = answers<SocketFrames>(world, world.address());
  }
  {
    LiveWorld world;
    over_web = answers<WebFrames>(world, world.address());
  }
  REQUIRE(over_tcp.size() >= 7);
  CHECK(over_tcp == over_unix);
  CHECK(over_tcp == over_web);
}
