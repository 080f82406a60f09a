// How watches of a Client begin and end, and how much it lets them bring: of a server that is made up.
#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "changed_game.h"
#include "tests/client/made_up_server.h"

namespace watch_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;
using Asked = MadeUpServer::Asked;
using Kind = ClientError::Kind;

namespace {

/// Opens no watch before a save, then all watches that were requested. Refuses watches of inputs.
class LateOpener {
 public:
  void operator()(MadeUpServer& it, const Asked& asked) {
    if (asked.is<session::Follow>()) {
      (asked.read<session::Follow>().inputs ? refused_ : opened_).push_back(asked.request);
    } else if (asked.is<session::Save>()) {
      for (const std::uint64_t request : refused_)
        it.say(request, session::Fault{.code = session::FaultCode::bad_question, .text = "no"});
      for (const std::uint64_t request : opened_) {
        it.say(request, session::Watching{.sequence = 1, .entities = 1}, frame_more);
        it.say(request, Rename{.name = Text{}});
        it.say(request, session::Watching{.sequence = 1, .entities = 1});
      }
      opened_.clear();
      refused_.clear();
      it.say(asked.request, session::Saved{.sequence = 3});
    } else {
      it.say(asked.request, session::Unwatched{});
    }
  }

 private:
  std::vector<std::uint64_t> opened_, refused_;
};

/// Under which request the last watch was asked for.
std::uint64_t watch_of(const MadeUpServer& server) {
  std::uint64_t request = 0;
  for (const Asked& each : server.asked())
    if (each.is<session::Follow>()) request = each.request;
  return request;
}

}  // namespace

TEST_CASE("a watch that opens after its caller gave up is ended then, once, and brings nothing", "[client]") {
  MadeUpServer server(LateOpener{});
  Client client = connect(server, 100ms);
  for (int i = 0; i < 2; ++i) {
    const auto watch = client.follow({.world = true, .values = true});
    REQUIRE_FALSE(watch);
    CHECK(watch.error().kind == Kind::late);
  }
  CHECK(server.count<session::Unwatch>() == 0);  // nothing is open that could be ended
  REQUIRE(client.ask<session::Save>());
  REQUIRE(client.ask<session::Save>());  // what came of the first is read, and what was said because of it was heard
  std::vector<std::uint64_t> asked, ended;
  for (const Asked& each : server.asked()) {
    if (each.is<session::Follow>()) asked.push_back(each.request);
    if (each.is<session::Unwatch>()) ended.push_back(each.read<session::Unwatch>().watch);
  }
  CHECK(asked.size() == 2);
  CHECK(ended == asked);
  const auto nothing = client.next(0, 0s);
  REQUIRE(nothing);
  CHECK_FALSE(*nothing);
}

TEST_CASE("a watch that is refused after its caller gave up is not ended: it never began", "[client]") {
  MadeUpServer server(LateOpener{});
  Client client = connect(server, 100ms);
  const auto watch = client.follow({.world = true, .inputs = true});
  REQUIRE_FALSE(watch);
  CHECK(watch.error().kind == Kind::late);
  REQUIRE(client.ask<session::Save>());
  REQUIRE(client.ask<session::Save>());
  CHECK(server.count<session::Unwatch>() == 0);
}

TEST_CASE("credit is counted from the first byte that came, and what waits for next is not worked on yet", "[client]") {
  const std::string text(1000, 'x');
  MadeUpServer server([&](MadeUpServer& it, const Asked& asked) {
    if (asked.is<session::Credit>()) return;
    if (asked.is<session::Follow>()) return it.say(asked.request, session::Watching{.sequence = 1, .entities = 2});
    if (asked.is<session::GetLoad>()) it.say(watch_of(it), InternText{.text = text}, frame_event);
    it.say(asked.request, session::Saved{.sequence = 1});
  });
  Client client = connect(server);
  const std::uint64_t greeting = client.received_bytes();
  CHECK(greeting > server.schema.size());
  REQUIRE(client.give_credit(5000));
  REQUIRE(client.ask<session::Save>());
  const std::uint64_t answer = client.received_bytes() - greeting;  // of save
  CHECK(server.last<session::Credit>().through == greeting + 5000);

  const std::uint64_t watch = client.follow({.world = true, .inputs = true}).value();
  REQUIRE(client.next(watch, 5s).value());  // Watching
  (void)client.ask<session::GetLoad>();     // an event came before its answer, and waits
  const std::uint64_t now = client.received_bytes();
  REQUIRE(client.give_credit(5000));
  REQUIRE(client.ask<session::Save>());
  const std::uint64_t through = server.last<session::Credit>().through;
  CHECK(through < now + 5000 - text.size());
  CHECK(through > now + 5000 - text.size() - 200);
  REQUIRE(client.next(watch, 5s).value());
  REQUIRE(client.give_credit(5000));
  REQUIRE(client.ask<session::Save>());
  CHECK(server.last<session::Credit>().through == now + answer + 5000);
  for (const Asked& each : server.asked())
    if (each.is<session::Credit>()) CHECK(each.request == 0);
}

TEST_CASE(
    "a call that is late while no credit is left says so, whoever sent the Credit, and one that has some does not",
    "[client]") {
  MadeUpServer server([](MadeUpServer&, const Asked&) {});
  Client client = connect(server, 60ms);
  const std::string late = "the server did not answer within 60 ms";
  const std::string spent = late + "; the watches' credit is used up: call give_credit to continue";
  CHECK(client.follow({}).error().text == late);
  REQUIRE(client.give_credit(0));
  CHECK(client.follow({}).error().text == spent);
  CHECK(client.follow(3, {}).error().text == spent);
  CHECK(client.unwatch(3).error().text == spent);
  CHECK(client.ask<session::Save>().error().text == late);  // answers need none
  REQUIRE(client.give_credit(1));
  CHECK(client.follow({}).error().text == late);

  MadeUpServer other([](MadeUpServer&, const Asked&) {});
  Client own = connect(other, 60ms);
  BatchBuilder credit;
  credit.append_world(session::Credit{.through = 1});
  REQUIRE(own.post_batch(credit.bytes(), false));
  CHECK(own.follow({}).error().text == spent);
}

TEST_CASE("what a watch brought that was too much for it is worked on: credit does not count it as waiting",
          "[client]") {
  const std::string text(3000, 'x');
  MadeUpServer server([&](MadeUpServer& it, const Asked& asked) {
    if (asked.is<session::Credit>()) return;
    if (asked.is<session::Follow>()) return it.say(asked.request, session::Watching{.sequence = 1, .entities = 2});
    if (asked.is<session::GetLoad>()) it.say(watch_of(it), InternText{.text = text}, frame_event);
    it.say(asked.request, session::Saved{.sequence = 1});
  });
  ClientOptions options = server.options();
  options.watch_bytes_max = 1000;
  Client client = Client::connect(options).value();
  const std::uint64_t watch = client.follow({.world = true, .inputs = true}).value();
  (void)client.ask<session::GetLoad>();
  (void)client.ask<session::GetLoad>();  // and what comes behind it is not kept either
  const auto overrun = client.next(watch, 5s);
  REQUIRE_FALSE(overrun);
  CHECK(overrun.error().text == "a watch delivered more than 1000 bytes that were not fetched");
  const std::uint64_t now = client.received_bytes();
  CHECK(now > 2 * text.size());
  REQUIRE(client.give_credit(5000));
  REQUIRE(client.ask<session::Save>());
  CHECK(server.last<session::Credit>().through == now + 5000);
}

TEST_CASE("less credit than was given before changes nothing", "[client]") {
  MadeUpServer server([](MadeUpServer&, const Asked&) {});
  Client client = connect(server, 60ms);
  REQUIRE(client.give_credit(5000));
  REQUIRE(client.give_credit(0));
  CHECK(client.follow({}).error().text == "the server did not answer within 60 ms");
}

TEST_CASE("credit for as much as there is goes on counting from what came, and is never taken for less", "[client]") {
  MadeUpServer server([](MadeUpServer& it, const Asked& asked) {
    if (!asked.is<session::Credit>()) it.say(asked.request, session::Saved{.sequence = 1});
  });
  Client client = connect(server);
  REQUIRE(client.give_credit(5000));
  REQUIRE(client.give_credit(~std::uint64_t{0}));
  REQUIRE(client.ask<session::Save>());
  CHECK(server.last<session::Credit>().through > std::uint64_t{1} << 62);
}

}  // namespace watch_test
