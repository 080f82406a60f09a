// Of messages that say journal: "latest" only the last that waits becomes an input, and everybody is told.
#include <catch2/catch.hpp>

#include "tests/registry/sight.h"
#include "tests/server/desk/hand_desk.h"

using namespace muster;
using namespace muster::testing;
using sight::Steer;
using sight::Title;

namespace {

struct Steered : HandDesk {
  explicit Steered(const std::function<void(HandWorld&)>& change = {}) : HandDesk({}, change) {
    handlers.push_back(registry.subscribe("steer", [](const Steer& steer, arena::Health& health, Outbox&) {
      health.value = 10 * health.value + steer.to;  // each one that came shows
    }));
    registry.add_type<Title>();
    e = registry.create(arena::Health{.value = 0});
    other = registry.create(arena::Health{.value = 0});
    session = join();
    flush();
    (void)heard(*session);  // the schema
  }
  void steer(std::uint64_t request, float to, Entity at) {
    BatchBuilder edit;
    edit.append(at, Steer{.to = to});
    put(request, edit);
  }
  void put(std::uint64_t request, BatchBuilder& edit) {
    REQUIRE(desk->take_next(*session, request, edit.front(), true, true));
    desk->pass_on(*session);
  }
  float value(Entity of) const { return registry.get<arena::Health>(of).value; }
  /// Request, sequence and targets of each answer.
  struct Answer {
    std::uint64_t request, sequence;
    std::uint32_t handled;
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  std::vector<Answer> answers() {
    std::vector<Answer> all;
    for (const Received& frame : heard(*session)) {
      REQUIRE(frame.is<session::Ack>());
      const auto ack = session::read<session::Ack>(frame.batch());
      CHECK(ack.unhandled + ack.dead + ack.cut_short == 0);
      all.push_back({frame.header.request, ack.sequence, ack.handled});
    }
    return all;
  }
  std::vector<Subscription> handlers;
  Entity e, other;
  std::shared_ptr<Session> session;
};

}  // namespace

TEST_CASE("one that wants no answer gives those that it overtook theirs, also where its like was taken before") {
  Steered world;
  world.steer(0, 1, world.e);
  world.flush();
  const std::uint64_t before = world.registry.sequence();
  for (std::uint64_t i = 1; i <= 3; ++i) world.steer(i, static_cast<float>(i), world.e);
  world.steer(0, 4, world.e);
  world.flush();
  CHECK(world.value(world.e) == 14);
  using Answer = Steered::Answer;
  CHECK((world.answers() == std::vector<Answer>{{1, before + 1, 0}, {2, before + 1, 0}, {3, before + 1, 0}}));
}

TEST_CASE("of five that wait the last is an input, and all five are acknowledged with its number") {
  Steered world;
  const std::uint64_t before = world.registry.sequence();
  for (std::uint64_t i = 1; i <= 5; ++i) world.steer(i, static_cast<float>(i), world.e);
  world.flush();
  CHECK(world.registry.sequence() == before + 1);
  CHECK(world.value(world.e) == 5);
  using Answer = Steered::Answer;
  CHECK((world.answers() ==
         std::vector<Answer>{
             {1, before + 1, 0}, {2, before + 1, 0}, {3, before + 1, 0}, {4, before + 1, 0}, {5, before + 1, 1}}));
  // What was taken is not overtaken any more.
  world.steer(6, 6, world.e);
  world.flush();
  CHECK(world.value(world.e) == 56);
  CHECK((world.answers() == std::vector<Answer>{{6, before + 2, 1}}));
  CHECK(world.session->requests.bytes() == 0);
}

TEST_CASE("nothing is overtaken past something else of the session, nor by what goes elsewhere") {
  Steered world;
  SECTION("another entity") {
    for (const Entity at : {world.e, world.other, world.e}) world.steer(1, 1, at);
    world.flush();
    CHECK(world.value(world.e) == 11);
    CHECK(world.value(world.other) == 1);
  }
  SECTION("another edit") {
    world.steer(1, 1, world.e);
    world.edit(*world.session, 2, [&](BatchBuilder& edit) { edit.append(world.e, Steer{.to = 2}); });
    world.steer(3, 3, world.e);
    world.flush();
    CHECK(world.value(world.e) == 123);
  }
  SECTION("a question") {
    world.steer(1, 1, world.e);
    world.ask(*world.session, 2, session::GetInfo{});
    world.steer(3, 3, world.e);
    world.flush();
    CHECK(world.value(world.e) == 13);
  }
  SECTION("several at once, spans, and what waits for a time") {
    const Entity both[] = {world.e, world.e};
    for (int i = 0; i < 2; ++i) {
      BatchBuilder two, span;
      two.append(world.e, Steer{.to = 1});
      two.append(world.e, Steer{.to = 2});
      world.put(1, two);
      span.append_shared(std::span(both), Steer{.to = 3});
      world.put(2, span);
    }
    world.flush();
    CHECK(world.answers().size() == 4);
  }
  SECTION("everybody and one") {
    const std::uint64_t before = world.registry.sequence();
    for (int i = 0; i < 3; ++i) {
      BatchBuilder all;
      all.append_world(Steer{.to = 4});
      world.put(1, all);
    }
    world.steer(2, 5, world.e);
    world.flush();
    CHECK(world.registry.sequence() == before + 2);
    CHECK(world.value(world.e) == 45);
    CHECK(world.value(world.other) == 4);
  }
}

TEST_CASE("a table is overtaken by one that is no longer; a longer one follows it") {
  Steered world;
  const auto title = [&](std::uint64_t request, const char* text) {
    BatchBuilder edit;
    edit.append_table(TypeTraits<Title>::id, world.e, encode(Title{.text = text}));
    world.put(request, edit);
  };
  const std::uint64_t before = world.registry.sequence();
  title(1, "the one who is king now");
  title(2, "the king");
  title(3, "the one who was king then, and is no longer, and whom nobody remembers");
  world.flush();
  CHECK(world.registry.sequence() == before + 2);
  CHECK(world.session->requests.bytes() == 0);
}

TEST_CASE("where the last is refused, so are those whose place it took") {
  const std::string full = "the disk is full";
  const std::string* error = nullptr;
  Steered world([&](HandWorld& host) { host.gives_error = [&]() -> const std::string* { return error; }; });
  for (std::uint64_t i = 1; i <= 3; ++i) world.steer(i, 1, world.e);
  error = &full;
  world.flush();
  std::vector<std::uint64_t> refused;
  for (const Received& frame : HandDesk::heard(*world.session)) {
    REQUIRE(frame.is<session::Fault>());
    if (frame.header.request != 0) refused.push_back(frame.header.request);
  }
  CHECK((refused == std::vector<std::uint64_t>{1, 2, 3}));
  CHECK(world.value(world.e) == 0);
}

TEST_CASE("who wants no answer is overtaken without one; who wants one is told, however many there are") {
  Steered world;
  const std::uint64_t before = world.registry.sequence();
  world.steer(0, 1, world.e);
  const std::size_t bytes = world.session->requests.bytes();
  for (int i = 0; i < 5000; ++i) world.steer(0, 1, world.e);
  CHECK(world.session->requests.bytes() == bytes);
  world.flush();
  CHECK(world.registry.sequence() == before + 1);
  CHECK(world.answers().empty());
  for (std::uint64_t i = 1; i <= 1000; ++i) world.steer(i, 1, world.e);
  world.flush();
  CHECK(world.registry.sequence() == before + 1 + 1000 / (Requests::overtaken_max + 1) + 1);
  const auto answers = world.answers();
  REQUIRE(answers.size() == 1000);
  for (std::uint64_t i = 0; i < 1000; ++i) CHECK(answers[i].request == i + 1);
  CHECK(world.session->requests.bytes() == 0);
}

TEST_CASE("answers to those that were overtaken need room, too, where the last wants none") {
  Steered world;
  OutgoingLimits small;
  small.control_bytes_max = 8192;
  world.session = world.join("slow", session::Role::admin, small);
  world.flush();
  (void)world.heard(*world.session);
  BatchBuilder beat;
  session::append(beat, session::Heartbeat{.number = 1, .answer = 1});
  while (world.session->outgoing()->has_answer_room(1)) world.session->outgoing()->control(beat.bytes(), 1000);
  for (std::uint64_t i = 1; i <= 20; ++i) world.steer(i, static_cast<float>(i), world.e);
  world.steer(0, 21, world.e);
  const std::uint64_t before = world.registry.sequence();
  for (int i = 0; i < 3; ++i) world.flush();
  CHECK(world.registry.sequence() == before);
  CHECK(world.value(world.e) == 0);
  CHECK_FALSE(world.session->outgoing()->closed());
  (void)world.heard(*world.session);
  world.flush();
  CHECK(world.value(world.e) == 21);
  CHECK(world.answers().size() == 20);
}
