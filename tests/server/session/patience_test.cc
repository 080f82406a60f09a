// How long client and server wait for each other: heartbeats of who has nothing to say, and answers that come too late.
#include <catch2/catch.hpp>

#include "tests/server/live_world.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

LiveWorldOptions silent_after(std::chrono::milliseconds time) {
  LiveWorldOptions options;
  options.limits.silence_max = time;
  return options;
}

}  // namespace

TEST_CASE("a client that waits for what may never come says now and then that it is there", "[patience]") {
  LiveWorld world(silent_after(600ms));
  Client client = world.client();
  CHECK(client.welcome().silence_ns_max == 600'000'000);
  const auto watch = client.follow({.world = true, .values = true});
  REQUIRE(watch.has_value());
  for (int i = 0; i < 3; ++i) {
    const auto frame = client.next(*watch, 700ms);
    REQUIRE(frame.has_value());  // the session is there; whatever came was its first state
  }
  CHECK(client.ask<session::GetInfo>().has_value());
}

TEST_CASE("a client that looks in now and then, without waiting, stays", "[patience]") {
  LiveWorld world(silent_after(900ms));
  Client client = world.client();
  const auto until = std::chrono::steady_clock::now() + 2500ms;
  while (std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(100ms);
    REQUIRE(client.next(0, 0ns).has_value());
  }
  CHECK(client.ask<session::GetInfo>().has_value());
}

TEST_CASE("a client that makes no call for longer than it may is gone, and its next call says why", "[patience]") {
  LiveWorld world(silent_after(300ms));
  Client client = world.client();
  std::this_thread::sleep_for(1200ms);
  const auto info = client.ask<session::GetInfo>();
  REQUIRE_FALSE(info.has_value());
  CHECK(info.error().kind == ClientError::Kind::lost);
  CHECK(info.error().fault.code == session::FaultCode::silent);
}

TEST_CASE("where silence has no bound a session that says nothing stays", "[patience]") {
  LiveWorld world(silent_after(0ms));
  RawClient client(world.address());
  client.hello();
  std::this_thread::sleep_for(800ms);
  client.send_message(session::GetInfo{});
  const auto answer = client.receive();
  REQUIRE(answer.has_value());
  CHECK(answer->is<session::Info>());
}

TEST_CASE("a client that waits for a slow world is not taken for dead, and gets its answer", "[patience]") {
  LiveWorld world(silent_after(400ms));
  Client client = world.client();
  world.hold(true);
  std::thread later([&] {
    std::this_thread::sleep_for(1500ms);
    world.hold(false);
  });
  const auto info = client.ask<session::GetInfo>();
  later.join();
  CHECK(info.has_value());
}

TEST_CASE("an answer that comes too late is nobody else's, and what was asked was done", "[patience]") {
  LiveWorld world;
  ClientOptions options = world.client_options();
  options.time_max = 300ms;
  auto connected = Client::connect(options);
  REQUIRE(connected.has_value());
  Client& client = *connected;
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 30}); });
  REQUIRE(client.show(orc)->get<arena::Health>()->value == 30);
  world.hold(true);
  const auto hit = client.push(orc, arena::Damage{.amount = 5});
  REQUIRE_FALSE(hit.has_value());
  CHECK(hit.error().kind == ClientError::Kind::late);
  CHECK(hit.error().text == "the server did not answer within 300 ms");
  const auto shown = client.show(orc);
  REQUIRE_FALSE(shown.has_value());
  CHECK(shown.error().kind == ClientError::Kind::late);
  world.hold(false);
  // Each of these is answered behind the late ones, and must take its own answer.
  for (float health = 20; health > 0; health -= 5) {
    const auto ack = client.push(orc, arena::Damage{.amount = 5});
    REQUIRE(ack.has_value());
    CHECK(ack->handled == 1);
    const auto now = client.show(orc);
    REQUIRE(now.has_value());
    CHECK(now->get<arena::Health>()->value == health);
  }
}
