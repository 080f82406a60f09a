// Connections that say no Hello, or a wrong one: they keep nobody out, and cost what the limits say.
#include <catch2/catch.hpp>
#include <deque>

#include "tests/server/live_world.h"

namespace strangers_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("connections that say nothing take no session's place, however many they are", "[door]") {
  LiveWorldOptions options;
  options.limits.sessions_max = 4;
  options.limits.reserved_sessions = 0;
  options.limits.strangers_max = 8;
  options.limits.hello_time_max = 60s;
  LiveWorld world(options);
  std::deque<RawClient> silent;
  std::deque<Client> sessions;
  const auto crowd = [&] {
    for (int i = 0; i < 100; ++i) silent.emplace_back(world.address());
  };
  crowd();
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    sessions.push_back(world.client());
    CHECK(seconds_since(start) < 2);
    crowd();
  }
  for (Client& session : sessions) CHECK(session.ask<muster::session::GetInfo>().value().sessions == 4);
  const auto fifth = Client::connect(world.client_options());
  REQUIRE_FALSE(fifth);
  CHECK(fifth.error().fault.reason == "sessions_max");
  CHECK(world.listener().streams() <= 4 + 8 + 1);
  CHECK(silent.front().closed());
}

TEST_CASE("of a stranger that was refused not more is read than the limit says", "[door]") {
  LiveWorldOptions options;
  options.limits.frame_bytes_max = 128u << 20;  // a session's
  LiveWorld world(options);
  RawClient client(world.address());
  client.send_message(session::GetInfo{});
  const std::vector<std::byte> much(1u << 20);
  std::size_t sent = 0;
  const auto start = std::chrono::steady_clock::now();
  while (sent < (256u << 20) && seconds_since(start) < 10) {
    const std::size_t now = client.send_what_goes(much);
    if (now == 0) break;
    sent += now;
  }
  CHECK(sent < (32u << 20));  // what the kernel's buffers of both sides hold
}

TEST_CASE("wrong tokens are answered later and later, a right one at once", "[door]") {
  LiveWorldOptions options;
  options.limits.wrong_token_delay_max = 300ms;
  LiveWorld world(options);
  const auto answer_takes = [&](const char* wrong) {
    RawClient client(world.address());
    const auto start = std::chrono::steady_clock::now();
    client.send_message(hello_with(wrong));
    REQUIRE(client.receive_fault().code == session::FaultCode::bad_token);
    return seconds_since(start);
  };
  for (int i = 0; i < 3; ++i) CHECK(answer_takes("wrong") < 0.095);
  CHECK(answer_takes("wrong") >= 0.095);
  CHECK(answer_takes("wrong") >= 0.195);
  CHECK(answer_takes("wrong") >= 0.295);
  std::deque<RawClient> guessing;
  for (int i = 0; i < 20; ++i) guessing.emplace_back(world.address()).send_message(hello_with("guess"));
  const auto start = std::chrono::steady_clock::now();
  (void)world.client();
  CHECK(seconds_since(start) < 0.25);
  for (RawClient& client : guessing) CHECK(client.receive_fault().code == session::FaultCode::bad_token);
}

}  // namespace strangers_test
