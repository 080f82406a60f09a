// What a Client makes of what it is told, whatever that is, and what it asks: of a server that is made up.
#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "changed_game.h"
#include "tests/client/made_up_server.h"

namespace client_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;
using Asked = MadeUpServer::Asked;
using Kind = ClientError::Kind;

namespace {

template <class T>
void fails(const Result<T>& result, Kind kind, const std::string& text) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == kind);
  CHECK(result.error().text == text);
}
session::Fault closing(std::string text) {
  return {.code = session::FaultCode::stopping, .closes = true, .text = std::move(text)};
}
session::Fault refusing(std::string text) {
  return {.code = session::FaultCode::refused, .closes = false, .text = std::move(text)};
}
std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

TEST_CASE("a client says who it is, what it speaks and with which token", "[client]") {
  const MadeUpServer server([](MadeUpServer&, const Asked&) {});
  const Client client = connect(server);
  const auto hello = server.last<session::Hello>();
  CHECK(hello.protocol == session::protocol_newest);
  CHECK(hello.protocol_oldest == session::protocol_oldest);
  CHECK(hello.token == "a token");
  CHECK(hello.name == "somebody");
  CHECK(hello.kind == "test");
}

TEST_CASE("each question has what was asked", "[client]") {
  MadeUpServer server([](MadeUpServer& it, const Asked& asked) {
    it.say(asked.request, refusing("no"));  // what is asked counts here, not what comes
  });
  Client client = connect(server);
  const Entity orc{5, 2}, elf{6, 3};
  (void)client.ask(session::ListChildren{.entity = orc, .offset = 7, .limit = 9});
  const auto children = server.last<session::ListChildren>();
  CHECK((children.entity == orc && children.offset == 7 && children.limit == 9));
  (void)client.ask(session::Resolve{.path = "/a/b", .limit = 4});
  const auto resolve = server.last<session::Resolve>();
  CHECK((resolve.path == "/a/b" && resolve.limit == 4));
  (void)client.entity("tower");
  CHECK(server.last<session::Resolve>().path == "tower");
  CHECK(server.last<session::Resolve>().limit == 20);
  (void)client.show(elf);
  CHECK(server.last<session::Show>().entity == elf);
  (void)client.ask(session::GetTemplate{.name = "orc"});
  CHECK(server.last<session::GetTemplate>().name == "orc");
  (void)client.read_templates("{}", "orcs.json");
  const auto read = server.last<session::ReadTemplates>();
  CHECK((read.text == "{}" && read.file == "orcs.json"));
  (void)client.ask(session::ListTimers{.limit = 3});
  const auto first_timers = server.last<session::ListTimers>();
  CHECK((first_timers.after_due_ns == 0 && first_timers.after_timer == 0 && first_timers.limit == 3));
  (void)client.ask(session::ListTimers{.after_due_ns = 200, .after_timer = 4, .limit = 5});
  const auto more_timers = server.last<session::ListTimers>();
  CHECK((more_timers.after_due_ns == 200 && more_timers.after_timer == 4 && more_timers.limit == 5));
  (void)client.ask(session::ListHandlers{.limit = 3});
  CHECK(server.last<session::ListHandlers>().after == 0);
  (void)client.ask(session::ListHandlers{.after = 9, .limit = 6});
  const auto handlers = server.last<session::ListHandlers>();
  CHECK((handlers.after == 9 && handlers.limit == 6));
  (void)client.ask<session::GetInfo>();
  CHECK(server.last<session::GetInfo>().hash == 0);
  (void)client.ask(session::GetInfo{.hash = 1});
  CHECK(server.last<session::GetInfo>().hash == 1);
  (void)client.ask(session::Reload{.plugin = "plug"});
  CHECK(server.last<session::Reload>().plugin == "plug");
  (void)client.ask(session::SetClock{.speed = 2, .paused = 1, .steps = 3});
  const auto clock = server.last<session::SetClock>();
  CHECK((clock.speed == 2 && clock.paused == 1 && clock.steps == 3));
  (void)client.unwatch(77);
  CHECK(server.last<session::Unwatch>().watch == 77);
  (void)client.follow({.watch = 5, .values = true});
  CHECK(server.last<session::Follow>().watch == 0);  // a new one
  CHECK(server.last<session::Follow>().values);
  (void)client.follow(9, {.watch = 5, .world = true});
  CHECK(server.last<session::Follow>().watch == 9);
  (void)client.follow_more({.watch = 4, .drop = {orc}});
  const auto more = server.last<session::FollowMore>();
  CHECK((more.watch == 4 && more.drop == std::vector{orc}));
  (void)client.next_id();
  CHECK(server.last<session::RequestGrant>().count == 256);
  (void)client.reparent(orc, elf, Entity{7, 1});
  const auto moved = server.last<Reparent>();
  CHECK((moved.parent == elf && moved.before == Entity{7, 1}));
  (void)client.fetch_text(Text{99});
  CHECK(server.last<session::GetText>().hash == 99);
  CHECK(server.count<session::BeginTrace>() + server.count<session::Save>() + server.count<session::GetLoad>() +
            server.count<session::GetClock>() + server.count<session::ListTemplates>() ==
        0);
  (void)client.ask<session::BeginTrace>();
  (void)client.ask<session::Save>();
  (void)client.ask<session::GetLoad>();
  (void)client.ask<session::GetClock>();
  (void)client.templates();
  CHECK(server.count<session::BeginTrace>() == 1);
  CHECK(server.count<session::Save>() == 1);
  CHECK(server.count<session::GetLoad>() == 1);
  CHECK(server.count<session::GetClock>() == 1);
  CHECK(server.count<session::ListTemplates>() == 1);
}

TEST_CASE("an answer in several frames is whole with the last of them", "[client]") {
  MadeUpServer server([](MadeUpServer& it, const Asked& asked) {
    const std::uint64_t request = asked.request;
    if (asked.is<session::ListTemplates>()) {
      it.say(request, session::Templates{.sequence = 4, .names = {"a", "b"}, .nodes = {1, 2}}, frame_more);
      it.say(request, session::Templates{.sequence = 5, .names = {"c"}, .nodes = {3}});
    } else if (asked.is<session::EndTrace>()) {
      it.say(request, session::TraceText{.slices = 1, .left_out = 2, .bytes = bytes_of("{\"a\"")}, frame_more);
      it.say(request, session::TraceText{.slices = 6, .left_out = 7, .bytes = bytes_of(": 1}")});
    } else {
      it.say(request, session::Saved{.sequence = 12});
    }
  });
  Client client = connect(server);
  const auto templates = client.templates();
  REQUIRE(templates);
  CHECK(templates->sequence == 5);
  CHECK(templates->names == std::vector<std::string>{"a", "b", "c"});
  CHECK(templates->nodes == std::vector<std::uint32_t>{1, 2, 3});
  const auto trace = client.end_trace();
  REQUIRE(trace);
  CHECK(trace->bytes == bytes_of("{\"a\": 1}"));
  CHECK((trace->slices == 6 && trace->left_out == 7));
  CHECK(client.ask<session::Save>().value().sequence == 12);
  fails(client.ask<session::GetLoad>(), Kind::lost, "the server's answer is not a muster.session.Load");
  fails(client.wait_ack(99), Kind::mistaken, "no answer is expected for request 99");
}

TEST_CASE("a refusal leaves the session as it is, a Fault that closes it is what each later call says", "[client]") {
  int asked_before = 0;
  MadeUpServer server([&](MadeUpServer& it, const Asked& asked) {
    if (++asked_before == 1) return it.say(asked.request, refusing("not this"));
    if (asked_before == 2) return it.say(asked.request, session::Saved{.sequence = 3});
    it.say(0, closing("enough"));
    it.say(asked.request, session::Saved{.sequence = 4});
    it.close();
  });
  Client client = connect(server);
  fails(client.ask<session::Save>(), Kind::refused, "not this");
  CHECK(client.ask<session::Save>());
  fails(client.ask<session::Save>(), Kind::lost, "enough");
  const auto again = client.ask<session::GetInfo>();
  fails(again, Kind::lost, "enough");
  CHECK(again.error().fault.code == session::FaultCode::stopping);
  fails(client.next(0, 0s), Kind::lost, "enough");
}

TEST_CASE("what the server said before it closed is read, though nothing can be sent any more", "[client]") {
  std::promise<void> gone;
  MadeUpServer server([&](MadeUpServer& it, const Asked&) {
    it.say(0, closing("the world ends"));
    it.close();
    gone.set_value();
  });
  Client client = connect(server);
  BatchBuilder question;
  session::append(question, session::Save{});
  REQUIRE(client.post_batch(question.bytes(), false).value() == 0);
  gone.get_future().wait();
  fails(client.post_batch(question.bytes(), false), Kind::lost, "the world ends");
  fails(client.ask<session::Save>(), Kind::lost, "the world ends");
}

TEST_CASE("texts and types that come unasked are known from then on, and a bad schema ends the session", "[client]") {
  int asked_before = 0;
  MadeUpServer server([&](MadeUpServer& it, const Asked& asked) {
    if (++asked_before == 2) it.say(0, session::Schema{.count = 1, .bytes = bytes_of("nonsense, but long enough")});
    it.say(0, InternText{.text = "tower"});
    const auto types = TypeTraits<game::Damage>::schema;
    it.say(0, session::Schema{.count = 1, .bytes = {types.begin(), types.end()}});
    it.say(asked.request, session::Saved{.sequence = 1});
  });
  Client client = connect(server);
  CHECK(client.text(Text{hash64("tower")}).empty());
  CHECK(client.types().find(TypeTraits<game::Damage>::id) == nullptr);
  fails(client.push(Entity{1, 1}, game::Damage{}), Kind::mistaken, "the world has no type game.Damage");
  REQUIRE(client.ask<session::Save>());
  CHECK(client.text(Text{hash64("tower")}) == "tower");
  CHECK(client.types().find(TypeTraits<game::Damage>::id) != nullptr);
  CHECK(client.fetch_text(Text{hash64("tower")}).value() == "tower");
  CHECK(server.count<session::GetText>() == 0);
  fails(client.ask<session::Save>(), Kind::lost, "the server sent a bad schema: this is not a binary schema (.bfbs)");
}

TEST_CASE("a batch that is none ends the session with what is wrong with it", "[client]") {
  MadeUpServer server([](MadeUpServer& it, const Asked&) {
    BatchBuilder builder;
    session::append(builder, session::Heartbeat{});
    std::vector<std::byte> batch(builder.bytes().begin(), builder.bytes().end());
    batch[8] = std::byte{99};
    it.say_batch(0, batch);
  });
  Client client = connect(server);
  fails(client.ask<session::Save>(), Kind::lost, "the server sent a bad batch: batch kind 99 is unknown");
}

TEST_CASE("a heartbeat is answered once, with its number and under its id, and an answer is not", "[client]") {
  MadeUpServer server([](MadeUpServer& it, const Asked& asked) {
    if (asked.is<session::Heartbeat>()) return;
    it.say(31, session::Heartbeat{.number = 8, .time_ns = 9});
    it.say(32, session::Heartbeat{.number = 10, .answer = 1});
    it.say(asked.request, session::Saved{.sequence = 1});
  });
  Client client = connect(server);
  REQUIRE(client.ask<session::Save>());
  REQUIRE(client.ask<session::Save>());  // the answers to the first ones have come
  std::vector<session::Heartbeat> answers;
  for (const Asked& asked : server.asked())
    if (asked.is<session::Heartbeat>()) {
      answers.push_back(asked.read<session::Heartbeat>());
      CHECK(asked.request == 31);
    }
  REQUIRE(!answers.empty());
  for (const session::Heartbeat& each : answers) CHECK((each.number == 8 && each.time_ns == 9 && each.answer == 1));
  CHECK(answers.size() <= 2);
}

TEST_CASE("an answer that does not come in time is told with the time, and nobody takes it when it comes", "[client]") {
  int asked_before = 0;
  std::uint64_t late = 0;
  MadeUpServer server([&](MadeUpServer& it, const Asked& asked) {
    if (++asked_before == 1) {
      late = asked.request;
      return;
    }
    it.say(late, session::Saved{.sequence = 1});
    it.say(asked.request, session::Saved{.sequence = 2});
  });
  Client client = connect(server, 60ms);
  BatchBuilder question;
  session::append(question, session::Save{});
  const std::uint64_t request = client.send(question.bytes()).value();
  fails(client.wait(request), Kind::late, "the server did not answer within 60 ms");
  fails(client.wait(request), Kind::mistaken, "no answer is expected for request " + std::to_string(request));
  Client patient = std::move(client);
  CHECK(patient.ask<session::Save>().value().sequence == 2);
}

TEST_CASE("frames of a watch wait for who asks for them, and what refuses a watch forgets it", "[client]") {
  MadeUpServer server([](MadeUpServer& it, const Asked& asked) {
    if (asked.is<session::Follow>()) {
      if (!asked.read<session::Follow>().values) return it.say(asked.request, refusing("no such watch"));
      it.say(asked.request, session::Watching{.sequence = 1, .entities = 2});
      it.say(asked.request, Rename{.name = Text{5}}, frame_event);
      return;
    }
    if (asked.is<session::Unwatch>()) return it.say(asked.request, session::Unwatched{});
    it.say(2, session::Saved{});  // to nobody
    for (const Asked& each : it.asked())
      if (each.is<session::Follow>() && each.read<session::Follow>().values)
        it.say(each.request, refusing("the watch is over"));
    it.say(asked.request, session::Saved{.sequence = 3});
  });
  Client client = connect(server);
  const auto refused = client.follow({});
  fails(refused, Kind::refused, "no such watch");
  fails(client.next(3, 0s), Kind::mistaken, "no watch has the id 3");
  const std::uint64_t watch = client.follow({.world = true, .values = true}).value();
  const auto begun = client.next(watch, 5s);
  REQUIRE((begun && *begun));
  CHECK((*begun)->is<session::Watching>());
  CHECK((*begun)->header.request == watch);
  CHECK((*begun)->is_last());
  const auto event = client.next(0, 5s);
  REQUIRE((event && *event));
  CHECK((*event)->is_event());
  CHECK_FALSE((*event)->is_last());
  CHECK_FALSE((*event)->is_pushed());
  const auto nothing = client.next(watch, 0s);
  REQUIRE(nothing);
  CHECK_FALSE(*nothing);
  REQUIRE(client.ask<session::Save>());
  fails(client.next(watch, 5s), Kind::refused, "the watch is over");
  REQUIRE(client.unwatch(watch));
  fails(client.next(watch, 0s), Kind::mistaken, "no watch has the id " + std::to_string(watch));
}

TEST_CASE("a message that nobody may send from outside is refused before anything is sent, and the session goes on",
          "[client]") {
  MadeUpServer server(
      [](MadeUpServer& it, const Asked& asked) { it.say(asked.request, session::Ack{.sequence = 1, .handled = 1}); });
  Client client = connect(server);
  BatchBuilder update;
  update.append_world(Update{});
  const std::string why = "muster.Update may not be sent from outside";
  const std::size_t before = server.asked().size();
  fails(client.push(Update{}), Kind::mistaken, why);
  fails(client.push("muster.Update", {}, {}), Kind::mistaken, why);
  fails(client.push_batch(update.bytes()), Kind::mistaken, why);
  fails(client.post_batch(update.bytes(), false), Kind::mistaken, why);
  fails(client.post_batch(update.bytes()), Kind::mistaken, why);
  fails(client.send(update.bytes()), Kind::mistaken, why);
  fails(client.ask_all(session::Saved{}), Kind::mistaken, "muster.session.Saved may not be sent from outside");
  CHECK(client.destroy(Entity{1, 1}));
  CHECK(server.asked().size() == before + 1);
}

}  // namespace client_test
