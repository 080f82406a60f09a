#include <catch2/catch.hpp>

#include "tests/server/hand_world.h"
#include "tests/server/live_world.h"

namespace handshake_test {

using namespace muster;
using namespace muster::testing;

TEST_CASE("a wrong token, and none, are refused with one and the same sentence", "[handshake]") {
  LiveWorld world;
  for (const char* wrong : {"", "wrong", "correct horse battery stapl", "correct horse battery staplee"}) {
    RawClient client(world.address());
    session::Hello hello = hello_with();
    hello.token = wrong;
    client.send_message(hello, 9);
    const session::Fault fault = client.receive_fault();
    REQUIRE(fault.code == session::FaultCode::bad_token);
    REQUIRE(fault.closes);
    REQUIRE(fault.text == "the token is not valid here");
    REQUIRE(client.closed());
  }
}

TEST_CASE("a protocol version that the server does not speak is refused with those it does", "[handshake]") {
  LiveWorld world;
  RawClient client(world.address());
  session::Hello hello = hello_with();
  hello.protocol = hello.protocol_oldest = 99;
  client.send_message(hello);
  const session::Fault fault = client.receive_fault();
  REQUIRE(fault.code == session::FaultCode::bad_protocol);
  REQUIRE(fault.text == "the client speaks protocol 99 to 99, this server 1 to 1");
  REQUIRE(client.closed());
}

TEST_CASE("a newer client that still speaks our version is welcomed with ours", "[handshake]") {
  LiveWorld world;
  RawClient client(world.address());
  session::Hello hello = hello_with();
  hello.protocol = 99;
  client.send_message(hello);
  const auto welcome = client.receive();
  REQUIRE(welcome->is<session::Welcome>());
  REQUIRE(session::read<session::Welcome>(welcome->batch()).protocol == session::protocol_newest);
}

TEST_CASE("everything before Hello is refused, world messages and questions alike", "[handshake]") {
  LiveWorld world;
  const std::uint64_t before = world.hash();
  {
    RawClient client(world.address());
    client.send_message(session::GetInfo{});
    const session::Fault fault = client.receive_fault();
    REQUIRE(fault.code == session::FaultCode::hello_expected);
    REQUIRE(fault.closes);
    REQUIRE(client.closed());
  }
  {
    RawClient client(world.address());
    BatchBuilder builder;
    builder.append(Entity{1, 1}, Destroy{});
    client.send_frame(builder.bytes());
    REQUIRE(client.receive_fault().code == session::FaultCode::hello_expected);
    REQUIRE(client.closed());
  }
  REQUIRE(world.hash() == before);
}

TEST_CASE("a second Hello ends the session", "[handshake]") {
  LiveWorld world;
  RawClient client(world.address());
  client.hello();
  client.send_message(hello_with());
  REQUIRE(client.receive_fault().code == session::FaultCode::hello_repeated);
  REQUIRE(client.closed());
}

TEST_CASE("a Hello that is not well-formed names what is wrong", "[handshake]") {
  LiveWorld world;
  RawClient client(world.address());
  BatchBuilder builder;
  session::append(builder, hello_with());
  std::vector<std::byte> batch(builder.bytes().begin(), builder.bytes().end());
  batch[40] = std::byte{0xff};  // length of the table
  batch[41] = std::byte{0xff};
  client.send_frame(batch);
  const session::Fault fault = client.receive_fault();
  REQUIRE(fault.code == session::FaultCode::bad_batch);
  REQUIRE(fault.closes);
  REQUIRE_FALSE(fault.text.empty());
  REQUIRE(client.closed());
}

TEST_CASE("a first frame that is too long for a Hello is not waited for", "[handshake]") {
  LiveWorld world;
  RawClient client(world.address());
  const FrameHeader header{1u << 20, 0, 1};
  client.send(std::as_bytes(std::span(&header, 1)));
  const session::Fault fault = client.receive_fault();
  REQUIRE(fault.code == session::FaultCode::bad_frame);
  REQUIRE(fault.reason == "oversized");
  REQUIRE(client.closed());
}

TEST_CASE("who says nothing is sent away when the time for a Hello is over", "[handshake]") {
  LiveWorldOptions options;
  options.limits.hello_time_max = std::chrono::milliseconds(100);
  LiveWorld world(options);
  RawClient client(world.address());
  REQUIRE(client.receive_fault().code == session::FaultCode::hello_late);
  REQUIRE(client.closed());
}

TEST_CASE("a session that falls silent is ended, and told why", "[handshake]") {
  LiveWorldOptions options;
  options.limits.silence_max = std::chrono::milliseconds(200);
  LiveWorld world(options);
  RawClient client(world.address());
  client.hello();
  REQUIRE(client.receive_fault().code == session::FaultCode::silent);
  REQUIRE(client.closed());
}

TEST_CASE("more sessions than allowed are refused, and a place that comes free is given again", "[handshake]") {
  LiveWorldOptions options;
  options.limits.sessions_max = 2;
  options.limits.reserved_sessions = 0;
  LiveWorld world(options);
  auto first = std::make_unique<Client>(world.client());
  Client second = world.client();
  const auto third = Client::connect(world.client_options());
  REQUIRE_FALSE(third.has_value());
  REQUIRE(third.error().fault.code == session::FaultCode::limit_exceeded);
  first.reset();
  for (int i = 0; i < 100; ++i) {
    if (Client::connect(world.client_options()).has_value()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL("the place of a session that ended was not given again");
}

TEST_CASE("a session's name is shown as one line of moderate length, cut between characters", "[handshake]") {
  std::mutex mutex;
  std::vector<std::string> lines;
  LiveWorldOptions options;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    if (line.starts_with("welcomed")) lines.push_back(line.substr(0, line.find(", number")));
  };
  LiveWorld world(options);
  const std::string tower = "\xe5\xa1\x94";
  const std::string a(62, 'a');
  const std::string names[] = {"two\nlines\x7f", a + "bcd", a + tower, std::string(61, 'a') + tower,
                               "\xc2\x9b"
                               "31mred\xe2\x80\xae"
                               "der"};
  for (const std::string& name : names) {
    ClientOptions as = world.client_options();
    as.name = name;
    REQUIRE(Client::connect(as).has_value());
  }
  const std::lock_guard lock(mutex);
  std::vector<std::string> shown;
  for (const std::string& name :
       {std::string("twolines"), a + "bc", a, std::string(61, 'a') + tower, std::string("31mredder")})
    shown.push_back("welcomed: session " + std::to_string(shown.size() + 1) + " \"" + name + "\" (client)");
  CHECK(lines == shown);
}

TEST_CASE("addresses that are not loopback, not addresses, or taken are errors at start", "[handshake]") {
  LiveWorld world;
  EntityRegistry registry;
  HandWorld host;
  Desk desk(registry, host, {});
  const auto failure = [&](const std::string& listen, const std::string& path = "") {
    try {
      const Listener listener(desk, ListenerOptions{listen, path, {}, {}, {}, {}});
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("no failure");
  };
  REQUIRE(failure("0.0.0.0:0").find("only loopback") != std::string::npos);
  REQUIRE(failure("192.0.2.1:7717").find("only loopback") != std::string::npos);
  REQUIRE(failure("nonsense").find("expected ADDRESS:PORT") != std::string::npos);
  REQUIRE(failure("127.0.0.1:99999").find("is not a port") != std::string::npos);
  REQUIRE(failure("example:1").find("is not an IP address") != std::string::npos);
  REQUIRE(failure(world.address()).find("Address already in use") != std::string::npos);
  REQUIRE(failure("", "/nonexistent/socket").find("cannot listen on") != std::string::npos);
  REQUIRE(failure("", "/tmp").find("is not a socket") != std::string::npos);
}

}  // namespace handshake_test
