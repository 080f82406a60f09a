// A WebSocket as the stream of a session: what it may say beside frames, and how it ends.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/server/door/web_client.h"
#include "tests/server/live_world.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

template <GeneratedType M>
std::string frame_of(const M& message, std::uint64_t request = 1) {
  BatchBuilder builder;
  session::append(builder, message);
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), request);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

/// The type of the message in the first frame of a WebSocket's message.
TypeId type_of(const WebFrame& frame) {
  BatchHeader header;
  REQUIRE(frame.bytes.size() >= sizeof(FrameHeader) + sizeof header);
  std::memcpy(&header, frame.bytes.data() + sizeof(FrameHeader), sizeof header);
  return header.type;
}

struct Visitor : WebClient {
  explicit Visitor(const LiveWorld& world) : WebClient(world.address()) {
    open();
    send_frame(binary, frame_of(hello_with()));
    const auto welcome = receive_frame();
    REQUIRE(welcome);
    REQUIRE(type_of(*welcome) == TypeTraits<session::Welcome>::id);
  }
  bool answers() {
    send_frame(binary, frame_of(session::Heartbeat{}, 9));
    const auto beat = receive_frame();
    return beat && type_of(*beat) == TypeTraits<session::Heartbeat>::id;
  }
  /// The close frame that comes next; 0: none came.
  int close_code() {
    const auto frame = receive_frame();
    return frame && frame->opcode == close ? frame->code() : 0;
  }
};

}  // namespace

TEST_CASE("a ping is answered with what it held, a pong is not, and empty messages mean nothing", "[web]") {
  LiveWorld world;
  Visitor visitor(world);
  visitor.send_frame(WebClient::ping, "are you there");
  const auto pong = visitor.receive_frame();
  REQUIRE(pong);
  CHECK(pong->opcode == WebClient::pong);
  CHECK(pong->bytes == "are you there");
  visitor.send_frame(WebClient::pong, "unasked");
  visitor.send_frame(WebClient::binary, "");
  visitor.send_frame(WebClient::binary, "", false);
  visitor.send_frame(WebClient::more, "", true);
  CHECK(visitor.answers());
}

TEST_CASE("a text message ends the session, and the code says why", "[web]") {
  LiveWorld world;
  {
    Visitor visitor(world);
    visitor.send_frame(WebClient::text, "hello");
    CHECK(visitor.close_code() == 1003);
    visitor.send_frame(WebClient::close, "\x03\xeb");
    CHECK(visitor.closed());
  }
  {
    Visitor visitor(world);
    visitor.send_frame(WebClient::text, "");
    CHECK(visitor.close_code() == 1003);
    CHECK(visitor.closed());  // also where nobody answers that
  }
  WebClient stranger(world.address());
  stranger.open();
  stranger.send_frame(WebClient::text, "hello");
  CHECK(stranger.receive_frame()->code() == 1003);
  CHECK(world.run([](EntityRegistry&) { return true; }));
}

TEST_CASE("a message that is longer than a frame may be is not read", "[web]") {
  LiveWorldOptions options;
  options.limits.frame_bytes_max = 4096;
  LiveWorld world(options);
  Visitor visitor(world);
  visitor.send_head(WebClient::binary, 4097);
  CHECK(visitor.close_code() == 1009);
  Visitor fragments(world);
  fragments.send_frame(WebClient::binary, frame_of(session::Heartbeat{}, 9), false);
  REQUIRE(fragments.receive_frame());
  fragments.send_head(WebClient::more, 4096);
  CHECK(fragments.close_code() == 1009);
}

TEST_CASE("what WebSockets do not allow ends the connection as the protocol says", "[web]") {
  LiveWorld world;
  {
    Visitor visitor(world);
    visitor.send_frame(WebClient::binary, "unmasked", true, false);
    CHECK(visitor.close_code() == 1002);
  }
  {
    Visitor visitor(world);
    visitor.send_frame(3, "no such opcode");
    CHECK(visitor.close_code() == 1002);
  }
  {
    Visitor visitor(world);
    visitor.send_frame(WebClient::more, "of nothing");
    CHECK(visitor.close_code() == 1002);
  }
  {
    Visitor visitor(world);
    visitor.send_frame(WebClient::ping, std::string(126, 'x'));
    CHECK(visitor.close_code() == 1002);
  }
  for (int i = 0; i < 100; ++i) {
    if (world.client().ask<session::GetInfo>().value().sessions == 1) return;
    std::this_thread::sleep_for(20ms);
  }
  FAIL("a session whose WebSocket failed is still there");
}

TEST_CASE("a client's farewell is answered and ends the session", "[web]") {
  LiveWorld world;
  Visitor visitor(world);
  visitor.send_frame(WebClient::close, "\x03\xe8");
  CHECK(visitor.close_code() == 1000);
  CHECK(visitor.closed());
}

TEST_CASE("a session that is refused hears why before the farewell, and that a server stops", "[web]") {
  LiveWorld world;
  Visitor repeated(world);
  repeated.send_frame(WebClient::binary, frame_of(hello_with()));
  CHECK(type_of(*repeated.receive_frame()) == TypeTraits<session::Fault>::id);
  CHECK(repeated.close_code() == 1008);
  Visitor visitor(world);
  world.stop_listening();
  CHECK(type_of(*visitor.receive_frame()) == TypeTraits<session::Fault>::id);
  CHECK(visitor.close_code() == 1001);
}

TEST_CASE("bytes that are no frames have the same Fault as on a socket", "[web]") {
  LiveWorld world;
  WebClient client(world.address());
  client.open();
  client.send_frame(WebClient::binary, std::string("GET / HTTP/1.1\r\n\r\n"));  // decided already: these are frames
  const auto fault = client.receive_frame();
  REQUIRE(fault);
  CHECK(type_of(*fault) == TypeTraits<session::Fault>::id);
  CHECK(client.receive_frame()->code() == 1008);
}
