// Each start of a server is an epoch: a client says with what it was told in which, and who comes back learns whether it is another.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/client/made_up_server.h"

namespace epoch_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;
using Asked = MadeUpServer::Asked;

namespace {

session::Welcome welcome(std::uint64_t epoch, std::uint64_t secret, std::uint64_t sequence) {
  session::Welcome made;
  made.epoch = epoch;
  made.secret = secret;
  made.sequence = sequence;
  made.frame_bytes_max = 1u << 16;
  return made;
}
/// Acknowledges with sequences 41, 42 ...
MadeUpServer::Script acknowledging() {
  return [sequence = std::uint64_t{40}](MadeUpServer& it, const Asked& asked) mutable {
    if (asked.is<session::Follow>()) return it.say(asked.request, session::Watching{.sequence = sequence});
    if (asked.is<session::FollowDurable>()) return it.say(asked.request, session::Durable{.sequence = 100});
    it.say(asked.request, session::Ack{.sequence = ++sequence, .durable_through = 30, .handled = 1});
  };
}
/// Of who was connected before.
Client connect(const MadeUpServer& server, SoFar before) {
  ClientOptions options = server.options();
  options.before = before;
  return Client::connect(options).value();
}

}  // namespace

TEST_CASE("acknowledgements and what watches bring have the epoch that Welcome named", "[client]") {
  const MadeUpServer server(acknowledging(), welcome(7, 5, 40));
  Client client = connect(server);
  CHECK(client.epoch() == 7);
  const auto first = client.destroy({1, 1}), second = client.destroy({2, 1});
  REQUIRE((first && second));
  CHECK((first->epoch == 7 && second->epoch == 7));
  CHECK((first->sequence == 41 && first->durable_through == 30 && first->handled == 1 && second->sequence == 42));
  const auto watch = client.follow({.world = true, .values = true});
  REQUIRE(watch);
  const auto frame = client.next(*watch, 5s);
  REQUIRE((frame && *frame));
  CHECK((*frame)->epoch == 7);
}

TEST_CASE("a client tells the next one how far it came, which says so and learns whether the server was started anew",
          "[client]") {
  SoFar before;
  {
    const MadeUpServer server(acknowledging(), welcome(7, 5, 40));
    Client client = connect(server);
    CHECK_FALSE(client.is_started_anew());  // nothing was before
    const auto hello = server.last<session::Hello>();
    CHECK((hello.secret == 0 && hello.last_sequence == 0));
    CHECK((client.so_far().epoch == 7 && client.so_far().secret == 5 && client.so_far().sequence == 40));
    REQUIRE(client.destroy({1, 1}));
    before = client.so_far();
    CHECK(before.sequence == 41);
  }
  for (const std::uint64_t epoch : {7, 8}) {
    const MadeUpServer server(acknowledging(), welcome(epoch, 6, 40));
    const Client client = connect(server, before);
    CHECK(client.is_started_anew() == (epoch == 8));
    const auto hello = server.last<session::Hello>();
    CHECK((hello.secret == 5 && hello.last_sequence == 41));
  }
}

TEST_CASE("nobody waits for an Ack of another epoch: its sequence may be another input's by now", "[client]") {
  Acknowledged old;
  {
    const MadeUpServer server(acknowledging(), welcome(7, 5, 40));
    Client client = connect(server);
    old = client.destroy({1, 1}).value();
    CHECK(client.wait_durable(old).value().sequence == 100);
  }
  const MadeUpServer server(acknowledging(), welcome(8, 5, 40));
  Client client = connect(server);
  const auto refused = client.wait_durable(old);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ClientError::Kind::mistaken);
  CHECK(refused.error().text ==
        "sequence 41 is from an earlier run of the server: what was not durable when that run ended is lost");
  CHECK(server.count<session::FollowDurable>() == 0);
  CHECK(client.wait_durable(client.destroy({1, 1}).value()).has_value());
}

TEST_CASE("what a client has from one epoch it does not use in the next, even if both come in the same bytes",
          "[client]") {
  std::uint64_t epoch = 7, sequence = 40;
  std::uint32_t first = 0;
  std::atomic<bool> ends = false;
  const MadeUpServer server(
      [&](MadeUpServer& it, const Asked& asked) {
        const auto answer = [&](const auto& said) {
          if (!ends.exchange(false)) return it.say(asked.request, said);
          it.say_with(asked.request, said, session::NewEpoch{.epoch = ++epoch, .playing = epoch % 2 == 0});
        };
        if (asked.is<session::EnterEpoch>()) return;
        if (asked.is<session::RequestGrant>()) return answer(session::Granted{.first = first += 1000, .count = 256});
        answer(session::Ack{.sequence = ++sequence, .handled = 1});
      },
      welcome(7, 5, 40));
  SoFar before;
  before.epoch = 7;
  Client client = connect(server, before);
  ends = true;
  const auto old = client.destroy({1, 1});
  REQUIRE(old);
  CHECK((old->epoch == 7 && client.epoch() == 8 && client.welcome().playing));
  CHECK_FALSE(client.is_started_anew());

  CHECK(client.next_id().value() == Entity{1000, 1});
  CHECK(server.last<session::EnterEpoch>().epoch == 8);
  ends = true;
  REQUIRE(client.destroy({1, 1}));
  ends = true;
  CHECK(client.next_id().value() == Entity{3000, 1});  // 2000 was granted in an epoch that was over

  REQUIRE(client.intern("orc"));
  REQUIRE(client.intern("orc"));
  CHECK(server.count<InternText>() == 1);
  ends = true;
  REQUIRE(client.destroy({1, 1}));
  ends = true;
  REQUIRE(client.intern("orc"));  // the level may lack it
  CHECK(server.count<InternText>() == 2);
  REQUIRE(client.intern("orc"));
  CHECK(server.count<InternText>() == 3);
}

TEST_CASE("an epoch that begins with the Welcome is the client's", "[client]") {
  MadeUpServer server(acknowledging(), welcome(7, 5, 40));
  server.with_welcome = session::NewEpoch{.epoch = 8, .playing = true};
  Client client = connect(server, SoFar{});
  CHECK((client.epoch() == 8 && client.welcome().playing && client.welcome().secret == 5));
}

}  // namespace epoch_test
