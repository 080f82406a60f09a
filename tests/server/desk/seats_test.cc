// A session outlives its connections and its seats: what each of them takes along, and what stays.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "registry/host.h"
#include "tests/server/desk/hand_desk.h"

namespace seats_test {

using namespace muster;
using namespace muster::testing;

namespace {

std::uint64_t granted_ids(const EntityRegistry& registry) {
  std::uint64_t granted = 0;
  for (std::uint32_t i = 1; i < registry.host().storage().ids().indices(); ++i)
    granted += registry.host().storage().in_state({i, 1}, IdState::granted) ? 1 : 0;
  return granted;
}

void change_seat(HandDesk& world, const std::shared_ptr<Session>& session) {
  world.desk->leave_seat(*session);
  world.desk->take_seat(session);
}

void create(HandDesk& world, Session& by, std::uint64_t request, std::uint32_t index) {
  world.edit(by, request, [&](BatchBuilder& to) { to.append_rows({index, 1}, Create{}, arena::Health{.value = 1}); });
}

/// "ack", or why not.
std::string answer(HandDesk& world, Session& session, std::uint64_t request) {
  world.settle();
  for (const Received& frame : world.heard(session)) {
    if (frame.header.request != request) continue;
    if (frame.is<session::Ack>()) return "ack";
    if (frame.is<session::Fault>()) return session::read<session::Fault>(frame.batch()).reason;
  }
  return "nothing";
}

std::size_t texts_shown(HandDesk& world, Session& session, Entity e) {
  session::Show what;
  what.entity = e;
  const std::vector<Received> frames = world.answers(session, what);
  return static_cast<std::size_t>(
      std::ranges::count_if(frames, [](const Received& frame) { return frame.is<InternText>(); }));
}

}  // namespace

TEST_CASE("a session that takes another seat keeps its connection, rights and number, and none of its ids and timers",
          "[desk]") {
  HandDesk world;
  const auto one = world.join("one", session::Role::edit, {}, 5);
  const auto connection = one->connection();
  const std::uint64_t number = one->number, secret = one->secret;
  const auto granted = world.answer_to<session::Granted>(*one, session::RequestGrant{.count = 8}, 1);
  create(world, *one, 2, granted.first);
  CHECK(answer(world, *one, 2) == "ack");
  world.edit(*one, 3, [&](BatchBuilder& to) {
    BatchBuilder inner;
    inner.append({granted.first + 1, 1}, Create{});
    to.append_timed(1'000'000'000, 0, inner.front());
  });
  CHECK(answer(world, *one, 3) == "ack");
  world.edit(*one, 4, [](BatchBuilder& to) { session::append(to, InternText{.text = "made known"}); });
  CHECK(answer(world, *one, 4) == "ack");
  CHECK(granted_ids(world.registry) == 7);
  const auto before = one->seat();
  CHECK((before->edits == 3 && before->timers.size() == 1 && before->texts == 1 && before->texts_told.size() == 1));

  // One edit with an old id waits while the seat is changed, another comes later.
  create(world, *one, 5, granted.first + 2);
  change_seat(world, one);
  CHECK(granted_ids(world.registry) == 1);  // the timer's
  CHECK(answer(world, *one, 5) == "id_not_granted");
  create(world, *one, 6, granted.first + 3);
  CHECK(answer(world, *one, 6) == "id_not_granted");
  create(world, *one, 7, granted.first + 1);
  CHECK(answer(world, *one, 7) == "id_not_granted");

  CHECK(one->seat() != before);
  const auto after = one->seat();
  CHECK((after->grants.empty() && after->timers.empty() && after->texts_told.empty()));
  CHECK((after->edits == 0 && after->texts == 0 && after->text_bytes == 0));
  CHECK(one->connection() == connection);
  CHECK(connection->session() == one);
  CHECK_FALSE(connection->outgoing.closed());
  CHECK((one->number == number && one->secret == secret && one->user == 5));
  CHECK(one->rights.role == session::Role::edit);
  CHECK(world.desk->sessions() == 1);
  CHECK(world.answer_to<session::Sessions>(*one, session::ListSessions{}).sessions == std::vector{number});

  // With ids of its own it edits again.
  const auto anew = world.answer_to<session::Granted>(*one, session::RequestGrant{.count = 4}, 8);
  create(world, *one, 9, anew.first);
  CHECK(answer(world, *one, 9) == "ack");
  CHECK(after->edits == 1);
  // The old timer is the world's; when it is over, its id is free like any other.
  const auto timers = world.answer_to<session::PendingTimers>(*one, session::ListTimers{}, 10);
  CHECK(timers.own == std::vector<std::uint8_t>{0});
  const std::size_t entities = world.registry.entity_count();
  world.registry.advance(2'000'000'000);
  world.settle();
  CHECK(world.registry.entity_count() == entities + 1);
  CHECK(world.registry.alive({granted.first + 1, 1}));
}

TEST_CASE("a session that takes another seat keeps its watches and its open questions", "[desk]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{.value = 1});
  const auto one = world.join("one");
  session::Follow follow;
  follow.world = follow.values = true;
  world.answers(*one, follow, 5);
  // The second waits until the first, which is seldom work, was a while ago.
  world.ask(*one, 6, session::GetInfo{.hash = 1});
  world.ask(*one, 7, session::GetInfo{.hash = 1});
  world.ask(*one, 8, session::RequestGrant{.count = 3});
  world.flush();
  REQUIRE(world.desk->questions_waiting() > 0);
  change_seat(world, one);
  world.registry.set(unit, arena::Health{.value = 2});
  world.settle();
  std::vector<std::uint64_t> answered;
  for (const Received& frame : world.heard(*one)) answered.push_back(frame.header.request);
  for (const std::uint64_t request : {5, 6, 7, 8}) {
    CAPTURE(request);
    CHECK(std::ranges::count(answered, request) == 1);
  }
  REQUIRE(one->seat()->grants.size() == 1);
  CHECK(one->seat()->grants[0].count == 3);
  CHECK(world.answer_to<session::Info>(*one, session::GetInfo{}, 9).watches == 1);
}

TEST_CASE("a session is answered on the connection that it has now, and ends with the last", "[desk]") {
  HandDesk world;
  const auto one = world.join("one"), other = world.join("other");
  const auto first = one->connection();
  first->received_bytes = 77;
  world.answer_to<session::Granted>(*one, session::RequestGrant{.count = 3}, 1);
  const std::uint64_t taken = first->outgoing.taken();

  const auto second = std::make_shared<Connection>();
  CHECK(second->session() == nullptr);
  CHECK(one->connect(second) == first);
  CHECK(one->connection() == second);
  CHECK(second->session() == one);
  // heard() reads the connection's queue.
  CHECK(world.answer_to<session::Info>(*one, session::GetInfo{}, 2).sessions == 2);
  CHECK(first->outgoing.taken() == taken);
  CHECK(first->outgoing.waiting().bytes() == 0);
  auto told = world.answer_to<session::Sessions>(*other, session::ListSessions{});
  CHECK(told.received_bytes[0] == 0);
  CHECK(told.sent_bytes[0] == second->outgoing.taken());

  world.desk->leave(*first);
  world.settle();
  CHECK(world.desk->sessions() == 2);
  CHECK(granted_ids(world.registry) == 3);
  world.desk->leave(*second);
  world.desk->leave(*second);
  world.settle();
  CHECK(world.desk->sessions() == 1);
  CHECK(granted_ids(world.registry) == 0);
  // Somebody without a session leaves nothing.
  world.desk->leave(Connection());
  world.settle();
  CHECK(world.desk->sessions() == 1);
}

TEST_CASE("answers that wait for room in the queue of a connection go on with another, and so do watches once resumed",
          "[desk]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{.value = 1});
  const auto one = world.join("one", session::Role::view, {.control_bytes_max = 3000, .data_bytes_max = 1});
  session::Follow follow;
  follow.world = follow.values = true;
  world.ask(*one, 5, follow);
  world.settle();
  // It is not read.
  const auto first = one->connection();
  REQUIRE(first->outgoing.waiting().data > 0);
  REQUIRE(first->outgoing.waiting().control > 0);
  world.ask(*one, 6, session::GetInfo{});
  for (int i = 0; i < 10; ++i) {
    world.registry.set(unit, arena::Health{.value = static_cast<float>(2 + i)});
    world.flush();
  }
  REQUIRE(world.desk->questions_waiting() == 1);
  const auto waiting = first->outgoing.waiting();
  one->connect(std::make_shared<Connection>());
  first->outgoing.close();
  world.ask(*one, 7, session::ResumeWatches{.watches = {5}, .sequences = {0}, .follows = {follow}});
  // What the door does once a queue has room.
  world.desk->on_watch_room();
  world.desk->world().wake();
  world.settle();
  bool info = false;
  float value = 0;
  for (const Received& frame : world.heard(*one)) {
    info = info || (frame.is<session::Info>() && frame.header.request == 6);
    if (!frame.is<session::Values>()) continue;
    const auto values = session::read<session::Values>(frame.batch());
    if (values.component != TypeTraits<arena::Health>::id) continue;
    REQUIRE(values.values.size() == sizeof(arena::Health));
    std::memcpy(&value, values.values.data(), sizeof value);
  }
  CHECK(info);
  CHECK(value == 11);
  CHECK(first->outgoing.waiting().bytes() == waiting.bytes());
}

TEST_CASE("texts are sent anew to a new connection and in a new seat", "[desk]") {
  HandDesk world;
  const Entity sign = world.registry.create("", arena::Label{.title = world.registry.intern("a title")});
  const auto one = world.join("one");
  CHECK(texts_shown(world, *one, sign) == 1);
  CHECK(texts_shown(world, *one, sign) == 0);
  one->connect(std::make_shared<Connection>());
  CHECK(texts_shown(world, *one, sign) == 1);
  CHECK(texts_shown(world, *one, sign) == 0);
  change_seat(world, one);
  CHECK(texts_shown(world, *one, sign) == 1);
  CHECK(texts_shown(world, *one, sign) == 0);
}

}  // namespace seats_test
