// A client that was cut is told why when it comes again, and one that says how much it has room for is sent no more.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/server/live_world.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

session::Welcome come_again(const LiveWorld& world, std::uint64_t before) {
  RawClient client(world.address());
  session::Hello hello = hello_with();
  hello.secret = before;
  client.send_message(hello);
  const auto answer = client.receive();
  REQUIRE(answer.has_value());
  REQUIRE(answer->is<session::Welcome>());
  return session::read<session::Welcome>(answer->batch());
}

/// Until the server has cut it.
void wait_cut(LiveWorld& world) {
  for (int i = 0; i < 1000 && world.listener().streams() > 0; ++i) std::this_thread::sleep_for(10ms);
  REQUIRE(world.listener().streams() == 0);
}

}  // namespace

TEST_CASE("a client that did not read its answers is told so when it comes again", "[door]") {
  LiveWorldOptions options;
  options.limits.outgoing.control_bytes_max = 64 << 10;
  LiveWorld world(options);
  RawClient deaf(world.address());
  deaf.send_message(hello_with());
  const auto welcome = deaf.receive();
  REQUIRE(welcome.has_value());
  const auto before = session::read<session::Welcome>(welcome->batch());
  CHECK(before.ended_code == session::FaultCode::none);
  CHECK(before.ended.empty());
  // Heartbeats are answered at once, whatever waits.
  BatchBuilder builder;
  session::append(builder, session::Follow{.world = true, .structure = true});
  deaf.send_frame(builder.bytes(), 7);
  world.run([](EntityRegistry& registry) {
    // One text after another: they go as answers do.
    for (int i = 0; i < 200; ++i)
      registry.create("a name of some length that nobody reads " + std::to_string(i) + std::string(2000, 'x'))
          .or_stop();
    return 0;
  });
  std::vector<std::byte> beats;
  BatchBuilder beat;
  session::append(beat, session::GetSchema{});
  for (std::uint64_t i = 100; i < 1100; ++i) append_frame(beats, beat.bytes(), i);
  (void)deaf.send_what_goes(beats);
  for (int i = 0; i < 500 && come_again(world, before.secret).ended.empty(); ++i) std::this_thread::sleep_for(10ms);
  const auto again = come_again(world, before.secret);
  CHECK(again.ended_code == session::FaultCode::slow_reader);
  CHECK(again.ended == "the client does not read its answers: 65536 bytes wait");
  // It is told to who names that session, and to nobody else.
  CHECK(come_again(world, 0).ended.empty());
  CHECK(come_again(world, before.secret + 1).ended.empty());
}

TEST_CASE("a client that took nothing for too long is told so when it comes again", "[door]") {
  LiveWorldOptions options;
  options.limits.stall_max = 300ms;
  LiveWorld world(options);
  world.run([](EntityRegistry& registry) {
    registry.create_many(200'000, arena::Health{});
    return 0;
  });
  std::uint64_t before = 0;
  RawClient deaf(world.address());
  deaf.send_message(hello_with());
  const auto welcome = deaf.receive();
  REQUIRE(welcome.has_value());
  before = session::read<session::Welcome>(welcome->batch()).secret;
  deaf.send_message(session::Follow{.world = true, .values = true}, 7);
  wait_cut(world);
  const auto again = come_again(world, before);
  CHECK(again.ended_code == session::FaultCode::stalled);
  CHECK(again.ended.starts_with("the client has accepted no data for 0 s; "));
  CHECK(again.ended.ends_with(" bytes wait"));
}

TEST_CASE("why a session ended is known also of one whose user was sent away, and not of one that left", "[door]") {
  LiveWorldOptions options;
  options.limits.silence_max = 300ms;
  LiveWorld world(options);
  std::uint64_t silent = 0, left = 0;
  {
    RawClient client(world.address());
    client.send_message(hello_with());
    left = session::read<session::Welcome>(client.receive()->batch()).secret;
  }
  RawClient client(world.address());
  client.send_message(hello_with());
  silent = session::read<session::Welcome>(client.receive()->batch()).secret;
  CHECK(client.receive_fault().code == session::FaultCode::silent);
  CHECK(come_again(world, silent).ended_code == session::FaultCode::silent);
  CHECK(come_again(world, left).ended_code == session::FaultCode::none);
}

TEST_CASE("a client that says how much it has room for is sent no more of a watch, and answers all the same",
          "[door]") {
  LiveWorld world;
  world.run([](EntityRegistry& registry) {
    registry.create_many(50'000, arena::Health{});
    return 0;
  });
  RawClient client(world.address());
  client.send_message(hello_with());
  std::uint64_t received = 0, rows = 0;
  bool whole = false;
  /// The next frame, counted.
  const auto next = [&] {
    auto frame = client.receive();
    if (!frame) return frame;
    received += frame->header.bytes;
    if (frame->is<session::Values>()) rows += session::read<session::Values>(frame->batch()).entities.size();
    whole = whole || (frame->header.request == 9 && frame->is_last());
    return frame;
  };
  REQUIRE(next()->is<session::Welcome>());
  std::uint64_t through = received + 100'000;
  client.send_message(session::Credit{.through = through}, 0);
  session::Follow all;
  all.world = all.values = true;
  all.components = {TypeTraits<arena::Health>::id};
  client.send_message(all, 9);
  std::uint64_t beat = 0;
  for (int rounds = 0; !whole; ++rounds) {
    REQUIRE(rounds < 100);
    // Until an answer comes that was asked for when nothing of the watch could come any more.
    for (int i = 0; i < 2; ++i) {
      client.send_message(session::Heartbeat{.number = ++beat}, 1000);
      while (true) {
        const auto frame = next();
        REQUIRE(frame.has_value());
        if (frame->is<session::Heartbeat>()) break;
      }
      if (i == 0) std::this_thread::sleep_for(20ms);
    }
    // A frame may reach beyond it.
    CHECK(received <= through + (64u << 10) + 1000);
    through = received + 100'000;
    client.send_message(session::Credit{.through = through}, 0);
  }
  CHECK(rows == 50'000);
}
