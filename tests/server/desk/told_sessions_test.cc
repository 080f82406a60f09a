// What a desk tells of its sessions, and of what its world is busy with.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>

#include "registry/observe/clock.h"
#include "registry/observe/figures.h"
#include "registry/profile.h"
#include "server/figures/activity_count.h"
#include "tests/server/desk/hand_desk.h"

using namespace muster;
using muster::testing::HandDesk;

TEST_CASE("who asks for the sessions is told each with what it did and what it is told, by number, page by page",
          "[desk]") {
  HandDesk world;
  const auto first = world.join("first", session::Role::view),
             second = world.join("second", session::Role::edit, {}, 7), third = world.join("third");
  const Entity unit = world.registry.create("unit", arena::Health{});
  session::Follow follow;
  follow.world = follow.values = true;
  world.ask(*second, 5, follow);
  world.settle();
  const auto frames = world.heard(*second);
  REQUIRE_FALSE(frames.empty());
  for (int i = 0; i < 3; ++i)
    world.edit(*third, 1, [&](BatchBuilder& out) { out.append_rows(unit, Set{}, arena::Health{.value = 5}); });
  world.settle();
  third->connection()->received_bytes = 1234;
  world.heard(*third);

  const auto told = world.answer_to<session::Sessions>(*first, session::ListSessions{});
  CHECK(told.sequence == world.registry.sequence());
  CHECK_FALSE(told.more);
  CHECK(told.sessions == std::vector{first->number, second->number, third->number});
  CHECK(told.users == std::vector<std::uint64_t>{0, 7, 0});
  CHECK(told.names == std::vector<std::string>{"first", "second", "third"});
  CHECK(told.kinds == std::vector<std::string>{"test", "test", "test"});
  CHECK(told.roles == std::vector<std::uint8_t>{1, 2, 4});
  CHECK(told.own == std::vector<std::uint8_t>{1, 0, 0});
  CHECK(told.edits == std::vector<std::uint64_t>{0, 0, 3});
  CHECK(told.received_bytes == std::vector<std::uint64_t>{0, 0, 1234});
  CHECK(told.sent_bytes[1] == second->outgoing()->taken());
  CHECK(told.sent_bytes[2] == third->outgoing()->taken());
  CHECK(told.sent_bytes[2] > 0);
  CHECK(told.watches == std::vector<std::uint32_t>{0, 1, 0});
  CHECK(told.watched == std::vector<std::uint64_t>{0, 1, 0});
  CHECK(told.rows[0] == 0);
  CHECK(told.rows[1] > 0);
  // What changed is owed, and lies in the queue, until it is read.
  CHECK(told.watch_bytes[1] == second->outgoing()->waiting().data);
  CHECK(told.watch_bytes[1] > 0);
  CHECK(told.oldest_ns[1] > 0);
  CHECK(told.oldest_ns[0] == 0);
  CHECK(told.connected_ns[0] >= told.connected_ns[1]);
  CHECK(told.connected_ns[2] > 0);
  CHECK(told.waits_for == std::vector(3, session::WaitsFor::nothing));
  CHECK(told.stuck_ns == std::vector<std::uint64_t>{0, 0, 0});
  CHECK(told.watch_bytes[0] + told.watch_bytes[2] + told.answer_bytes[2] == 0);

  for (const std::uint32_t limit : {1u, 2u, 3u}) {
    std::vector<std::uint64_t> sessions;
    session::ListSessions question{.limit = limit};
    for (int pages = 0; pages < 5; ++pages) {
      const auto page = world.answer_to<session::Sessions>(*third, question);
      CHECK(page.sessions.size() <= limit);
      CHECK(page.names.size() == page.sessions.size());
      sessions.insert(sessions.end(), page.sessions.begin(), page.sessions.end());
      if (!page.more) break;
      question.after = page.sessions.back();
    }
    CHECK(sessions == told.sessions);
  }
  CHECK(world.answer_to<session::Sessions>(*third, session::ListSessions{.after = third->number}).sessions.empty());
}

TEST_CASE("what a session was told is a sum that does not fall when its watches end", "[desk]") {
  HandDesk world;
  const auto some = world.join("some"), other = world.join("other");
  world.registry.create("unit", arena::Health{}).or_stop();
  const auto rows = [&] { return world.answer_to<session::Sessions>(*some, session::ListSessions{}).rows[1]; };
  session::Follow follow;
  follow.world = follow.values = true;
  std::uint64_t before = 0;
  for (const std::uint64_t watch : {5u, 6u}) {
    world.ask(*other, watch, follow);
    world.settle();
    world.heard(*other);
    const std::uint64_t told = rows();
    CHECK(told > before);
    world.ask(*other, watch + 100, session::Unwatch{.watch = watch});
    world.settle();
    world.heard(*other);
    CHECK(rows() == told);
    before = told;
  }
}

TEST_CASE("whose session was ended by a fault is told, the newest first; who left by itself is not", "[desk]") {
  HandDesk world;
  const auto asks = world.join("asks"), left = world.join("left"), first = world.join("first"),
             second = world.join("second", session::Role::edit, {}, 7);
  CHECK(world.answer_to<session::Ended>(*asks, session::ListEnded{}).sessions.empty());
  session::Fault why;
  why.closes = true;
  why.code = session::FaultCode::silent;
  why.text = "nothing came";
  first->outgoing()->fault(why, 0);
  why.code = session::FaultCode::stalled;
  why.text = "nothing went";
  second->outgoing()->fault(why, 0);
  for (const auto& each : {left, first, second}) {
    world.desk->leave(*each->connection());
    world.settle();
  }
  const auto told = world.answer_to<session::Ended>(*asks, session::ListEnded{});
  CHECK(told.sequence == world.registry.sequence());
  CHECK(told.sessions == std::vector{second->number, first->number});
  CHECK(told.users == std::vector<std::uint64_t>{7, 0});
  CHECK(told.names == std::vector<std::string>{"second", "first"});
  CHECK(told.kinds == std::vector<std::string>{"test", "test"});
  CHECK(told.texts == std::vector<std::string>{"nothing went", "nothing came"});
  CHECK(told.codes == std::vector<std::uint16_t>{static_cast<std::uint16_t>(session::FaultCode::stalled),
                                                 static_cast<std::uint16_t>(session::FaultCode::silent)});
  CHECK(told.ago_ns.size() == 2);
  CHECK(told.ago_ns[0] <= told.ago_ns[1]);
  CHECK(world.answer_to<session::Ended>(*asks, session::ListEnded{.limit = 1}).sessions == std::vector{second->number});
}

TEST_CASE("a page of sessions ends where it has as many bytes as are allowed", "[desk]") {
  ServerLimits limits;
  limits.page_bytes_max = 1024;
  HandDesk world(limits);
  std::vector<std::shared_ptr<Session>> all;
  for (int i = 0; i < 50; ++i) all.push_back(world.join("somebody"));
  const auto page = world.answer_to<session::Sessions>(*all[0], session::ListSessions{});
  CHECK(page.more);
  CHECK(page.sessions.size() >= 5);
  CHECK(page.sessions.size() < 20);
}

TEST_CASE(
    "what the world is busy with is counted from the first question on, and not when nobody has asked for a while",
    "[desk]") {
  EntityRegistry registry;
  const Entity unit = registry.create("unit", arena::Health{.value = 100});
  auto hurt = registry.subscribe(
      "hurt", [](const arena::Damage& damage, arena::Health& health) { health.value -= damage.amount; });
  auto idle = registry.subscribe("idle", [](const arena::Blast&, arena::Health&) {});
  Observation observation(registry);
  ActivityCount count(registry, observation);
  registry.push(unit, arena::Damage{.amount = 1});
  std::uint64_t now_ns = 5'000'000'000;
  auto told = count.ask(0, now_ns);
  CHECK(count.counts());
  CHECK(registry.profile().observing());
  CHECK(told.messages.empty());
  CHECK(told.counted_ns == 0);
  for (int i = 0; i < 7; ++i) registry.push(unit, arena::Damage{.amount = 1});
  told = count.ask(0, now_ns += 100);
  CHECK(told.counted_ns == 100);
  CHECK(told.sequence == registry.sequence());
  REQUIRE(told.messages == std::vector{TypeTraits<arena::Damage>::id});
  CHECK(told.pushed == std::vector<std::uint64_t>{7});
  CHECK(told.caused == std::vector<std::uint64_t>{0});
  CHECK(told.handled == std::vector<std::uint64_t>{7});
  REQUIRE(told.names == std::vector<std::string>{"hurt"});
  CHECK(told.handled_types == std::vector{TypeTraits<arena::Damage>::id});
  CHECK(told.rows == std::vector<std::uint64_t>{7});
  CHECK(told.message_ns.size() == 1);
  CHECK(told.handler_ns.size() == 1);
  // Those that took most come first, as many as were asked for.
  registry.push(unit, arena::Blast{});
  CHECK(count.ask(0, now_ns).messages.size() == 2);
  CHECK(count.ask(1, now_ns).messages.size() == 1);
  CHECK(count.ask(1, now_ns).handlers.size() == 1);

  count.rest(now_ns + ActivityCount::quiet_ns);
  CHECK(count.counts());
  count.rest(now_ns + ActivityCount::quiet_ns + 1);
  CHECK_FALSE(count.counts());
  CHECK_FALSE(registry.profile().observing());
  // Then from zero.
  told = count.ask(0, now_ns += 2 * ActivityCount::quiet_ns);
  CHECK(told.messages.empty());
  CHECK(told.counted_ns == 0);
}

TEST_CASE("of what the world is busy with those come first that took most time", "[desk]") {
  EntityRegistry registry;
  const Entity unit = registry.create("unit", arena::Health{.value = 100});
  const auto busy = [](std::uint64_t ns) {
    for (const std::uint64_t until = steady_ns() + ns; steady_ns() < until;) {
    }
  };
  auto little = registry.subscribe("little", [&](const arena::Damage&, arena::Health&) { busy(10'000); });
  auto much = registry.subscribe("much", [&](const arena::Blast&, arena::Health&) { busy(3'000'000); });
  auto some = registry.subscribe("some", [&](const arena::Chat&, arena::Health&) { busy(300'000); });
  Observation observation(registry);
  ActivityCount count(registry, observation);
  count.ask(0, 1);
  registry.push(unit, arena::Damage{});
  registry.push(unit, arena::Blast{});
  registry.push(unit, arena::Chat{});
  const auto told = count.ask(0, 2);
  REQUIRE(told.message_ns.size() == 3);
  REQUIRE(told.handler_ns.size() == 3);
  CHECK(std::ranges::is_sorted(told.message_ns, std::ranges::greater()));
  CHECK(std::ranges::is_sorted(told.handler_ns, std::ranges::greater()));
  const auto most = count.ask(1, 3);
  CHECK(most.message_ns == std::vector{told.message_ns.front()});
  CHECK(most.handler_ns == std::vector{told.handler_ns.front()});
}

TEST_CASE("a trace and who asks what the world is busy with do not disturb each other", "[desk]") {
  HandDesk world;
  const auto one = world.join("one"), other = world.join("other");
  world.settle();
  (void)world.answer_to<session::Activity>(*one, session::GetActivity{});
  CHECK(world.registry.profile().observing());
  (void)world.answer_to<session::TraceBegun>(*other, session::BeginTrace{});
  world.registry.push(arena::Damage{});
  CHECK(world.answer_to<session::Activity>(*one, session::GetActivity{}).pushed == std::vector<std::uint64_t>{1});
  CHECK(world.answer_to<session::TraceText>(*other, session::EndTrace{}).slices > 0);
  CHECK(world.registry.profile().observing());
  world.registry.push(arena::Damage{});
  CHECK(world.answer_to<session::Activity>(*one, session::GetActivity{}).pushed == std::vector<std::uint64_t>{2});
  // Where the host looks for itself nobody switches it off.
  HandDesk observed;
  const auto third = observed.join("third");
  observed.settle();
  observed.registry.profile().observe(true);
  (void)observed.answer_to<session::Activity>(*third, session::GetActivity{});
  const auto refused = observed.answer_to<session::Fault>(*third, session::BeginTrace{});
  CHECK(refused.reason == "trace_running");
  CHECK(refused.text == "the world is already being recorded or observed by the program that serves it");
  CHECK(observed.registry.profile().observing());
}

TEST_CASE("who may not begin a trace because another session records one is told which", "[desk]") {
  HandDesk world;
  const auto one = world.join("one"), other = world.join("other"), nameless = world.join("");
  const auto refused = [&](const auto& to) { return world.answer_to<session::Fault>(*to, session::BeginTrace{}).text; };
  (void)world.answer_to<session::TraceBegun>(*one, session::BeginTrace{});
  const std::string number = std::to_string(one->number & 0xffffffff);
  CHECK(refused(other) == "the world is already being recorded by session " + number + " (one)");
  CHECK(refused(one) == "this session is already recording the world");
  (void)world.answer_to<session::TraceText>(*one, session::EndTrace{});
  (void)world.answer_to<session::TraceBegun>(*nameless, session::BeginTrace{});
  CHECK(refused(other) ==
        "the world is already being recorded by session " + std::to_string(nameless->number & 0xffffffff));
}

TEST_CASE("who has ended its trace may begin another", "[desk]") {
  HandDesk world;
  const auto one = world.join("one");
  for (int i = 0; i < 3; ++i) {
    (void)world.answer_to<session::TraceBegun>(*one, session::BeginTrace{});
    (void)world.answer_to<session::TraceText>(*one, session::EndTrace{});
  }
}

TEST_CASE("a trace with causes shows the chain from an edit to the messages that it caused", "[desk]") {
  for (const bool causes : {true, false}) {
    HandDesk world;
    const Entity unit = world.registry.create("unit", arena::Health{});
    Handlers handlers;
    handlers.add(world.registry.subscribe("strike", [](const arena::Damage&, const arena::Health&, Entity self,
                                                       Outbox& out) { out.post(self, arena::Chat{}); }));
    handlers.add(world.registry.subscribe(
        "turn", [](const arena::Chat&, const arena::Health&, Entity self, Outbox& out) { out.destroy(self); }));
    const auto one = world.join("one"), other = world.join("other");
    (void)world.answer_to<session::TraceBegun>(*one, session::BeginTrace{.causes = causes});
    world.edit(*other, 1, [&](BatchBuilder& to) { to.append(unit, arena::Damage{}); });
    world.settle();
    const std::uint64_t edit = world.registry.sequence();
    const auto piece = world.answer_to<session::TraceText>(*one, session::EndTrace{});
    const std::string_view text(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
    const auto shows = [&](const char* name, const std::string& args) {
      return text.find("\"name\": \"" + std::string(name) + "\", \"args\": {\"messages\": 1" + args + "}") != text.npos;
    };
    const auto number = [&](int place) { return "\"" + std::to_string(edit) + "." + std::to_string(place) + "\""; };
    CHECK(shows("arena.Damage", causes ? ", \"message\": " + number(0) : ""));
    CHECK(shows("arena.Chat", causes ? ", \"message\": " + number(1) + ", \"cause\": " + number(0) : ""));
    CHECK(shows("muster.Destroy", causes ? ", \"message\": " + number(2) + ", \"cause\": " + number(1) : ""));
    // Causes end with the trace.
    (void)world.answer_to<session::TraceBegun>(*one, session::BeginTrace{});
    world.registry.push(arena::Damage{});
    const auto later = world.answer_to<session::TraceText>(*one, session::EndTrace{});
    CHECK(std::string_view(reinterpret_cast<const char*>(later.bytes.data()), later.bytes.size()).find("\"message\"") ==
          std::string_view::npos);
  }
}

TEST_CASE("a trace shows what is done for those who watch", "[desk]") {
  for (const bool threaded : {false, true}) {
    HandDesk world({}, [&](muster::testing::HandWorld& host) { host.known.watch_thread = threaded; });
    const auto one = world.join("one"), other = world.join("other");
    const Entity unit = world.registry.create("unit", arena::Health{});
    session::Follow follow;
    follow.world = follow.values = true;
    world.ask(*other, 5, follow);
    world.settle();
    (void)world.answer_to<session::TraceBegun>(*one, session::BeginTrace{});
    const std::uint64_t before = other->outgoing()->taken();
    for (int i = 0; i < 2000 && (i < 3 || other->outgoing()->taken() == before); ++i) {
      world.registry.set(unit, arena::Health{.value = static_cast<float>(i + 1)});
      world.settle();
      world.heard(*other);
      if (threaded) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    world.settle();
    world.ask(*one, 9, session::EndTrace{});
    world.settle();
    std::string text;
    for (const Received& frame : world.heard(*one)) {
      REQUIRE(frame.is<session::TraceText>());
      const auto piece = session::read<session::TraceText>(frame.batch());
      text.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
    }
    CHECK(text.find(R"("cat": "watching", "name": "watching", "args": {"chunks": )") != std::string::npos);
    CHECK((text.find(R"("cat": "watching", "name": "telling", "args": {"watches": )") != std::string::npos) ==
          threaded);
    CHECK((text.find(R"("name": "thread_name", "args": {"name": "watches"})") != std::string::npos) == threaded);
    CHECK(text.find("\"name\": \"worker 1\"") == std::string::npos);
  }
}
