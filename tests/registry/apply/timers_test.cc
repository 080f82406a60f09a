#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "registry/apply/timers.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/support/change_marks.h"

using namespace muster;

TEST_CASE("a timed message arrives when the clock reaches it, and the clock shows its time") {
  EntityRegistry registry;
  std::vector<std::uint64_t> when;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe(
      "log", [&](const game::Ping&, const game::Health&, Outbox& out) { when.push_back(out.now_ns()); });
  registry.post_at(300, orc, game::Ping{});
  registry.post_at(100, orc, game::Ping{});
  registry.post_at(200, orc, game::Ping{});
  registry.flush();
  REQUIRE_FALSE(registry.host().timers().empty());
  CHECK(registry.host().timers().next_due() == 100);
  registry.advance(99);
  CHECK(when.empty());
  CHECK(registry.now_ns() == 99);
  registry.advance(1);
  CHECK(when == std::vector<std::uint64_t>{100});
  registry.advance(500);
  CHECK(when == std::vector<std::uint64_t>{100, 200, 300});
  CHECK(registry.now_ns() == 600);
  CHECK(registry.host().timers().empty());
}

TEST_CASE("messages due at one time arrive in the order they were posted, in one flush") {
  EntityRegistry registry;
  std::string seen;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("log", [&](const game::Ping& ping, const game::Health&, Entity self, Outbox& out) {
    seen += std::to_string(ping.hops);
    if (ping.hops < 5) out.post(self, game::Ping{.hops = ping.hops + 5});
  });
  for (std::uint32_t i = 0; i < 3; ++i) registry.post_at(50, orc, game::Ping{.hops = i});
  registry.advance(100);
  CHECK(seen == "012567");
}

TEST_CASE("what is due already is delivered at once, a timed pass reaches everyone") {
  EntityRegistry registry;
  int passes = 0;
  const auto s = registry.subscribe("pass", [&](const Update&) { ++passes; });
  registry.advance(100);
  registry.post_at(100, Update{});
  registry.post_at(40, Update{});
  CHECK(passes == 0);
  registry.flush();
  CHECK(passes == 2);
  registry.post_at(150, Update{});
  registry.flush();
  CHECK(passes == 2);
  registry.advance(50);
  CHECK(passes == 3);
}

TEST_CASE("timers can be cancelled, from outside and from handlers") {
  EntityRegistry registry;
  int pings = 0;
  const Entity orc = registry.create("orc", game::Health{});
  TimerId mine = 0;
  const auto s = registry.subscribe("log", [&](const game::Ping&, const game::Health&) { ++pings; });
  const auto t = registry.subscribe("arm", [&](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    mine = out.post_after(10, self, game::Ping{});
  });
  const auto u =
      registry.subscribe("disarm", [&](const game::Damage&, const game::Health&, Outbox& out) { out.cancel(mine); });
  const TimerId timer = registry.post_at(10, orc, game::Ping{});
  registry.flush();
  registry.cancel(timer);
  registry.cancel(timer);
  registry.cancel(12345);
  registry.push(orc, game::Heal{});
  registry.push(orc, game::Damage{});
  registry.advance(100);
  CHECK(pings == 0);
  registry.push(orc, game::Heal{});
  registry.advance(9);
  CHECK(pings == 0);
  registry.advance(1);
  CHECK(pings == 1);
}

TEST_CASE("a handler that rearms its timer runs once per due time within one advance") {
  EntityRegistry registry;
  std::vector<std::uint64_t> when;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("beat", [&](const game::Ping&, const game::Health&, Entity self, Outbox& out) {
    when.push_back(out.now_ns());
    out.post_after(10, self, game::Ping{});
  });
  registry.push(orc, game::Ping{});
  registry.advance(35);
  CHECK(when == std::vector<std::uint64_t>{0, 10, 20, 30});
  registry.destroy(orc);
  const Receipt receipt = registry.advance(100);
  CHECK(receipt.handled == 1);  // the advance itself; the timer found nobody
  CHECK(registry.host().counters().dead == 1);
  CHECK(when.size() == 4);
}

TEST_CASE("a time behind the last there is, is the last there is") {
  constexpr std::uint64_t last = ~std::uint64_t{0};
  EntityRegistry registry;
  int late = 0;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("late", [&](const game::Heal&, const game::Health&) { ++late; });
  const auto t = registry.subscribe("ask", [&](const game::Ping&, const game::Health&, Entity self, Outbox& out) {
    out.post_after(last, self, game::Heal{});
  });
  registry.advance(10);
  registry.push(orc, game::Ping{});
  CHECK(late == 0);
  REQUIRE_FALSE(registry.host().timers().empty());
  CHECK(registry.host().timers().next_due() == last);
  registry.advance(100);
  CHECK(registry.now_ns() == 110);
  CHECK(late == 0);
  registry.advance(last);  // the clock stops at its end; it never goes back
  CHECK(registry.now_ns() == last);
  CHECK(late == 1);
  registry.advance(5);
  CHECK(registry.now_ns() == last);
}

TEST_CASE("a number that an input of the host brings for a timer is used up, and no other is") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  BatchBuilder inner;
  inner.append(orc, game::Damage{});
  const auto push = [&](TimerId timer) {
    BatchBuilder builder;
    builder.append_timed(100, timer, inner.front());
    return registry.host().push_batch(builder.bytes()).handled;
  };
  for (const TimerId timer : {TimerId{1}, TimerId{5}, TimerId{3}}) {
    CAPTURE(timer);
    const TimerId before = registry.host().next_timer();
    CHECK(push(timer) == 1);
    CHECK(registry.host().next_timer() == std::max(before, timer + 1));
  }
  CHECK(registry.post_at(100, orc, game::Damage{}) == 6);
  CHECK(registry.flush().refused == 0);
  CHECK(registry.host().timers().waiting().size() == 4);
}

TEST_CASE("a timer that takes the number of one that is gone is saved as another") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  const TimerId timer = registry.post_at(100, orc, game::Damage{.amount = 1});
  registry.flush();
  test::ChangeMarks marks{registry};
  // As an input of the host that is given again brings the number it was given.
  BatchBuilder inner, builder;
  inner.append(orc, game::Damage{.amount = 2});
  builder.append_timed(100, timer, inner.front());
  registry.cancel(timer);
  CHECK(registry.host().push_batch(builder.bytes()).handled == 1);
  CHECK(marks.check() == "");
}

TEST_CASE("advance says that what its timers caused was cut short") {
  EntityRegistry registry({.cascade_messages_max = 2});
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe(
      "again", [](const game::Ping&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Ping{}); });
  registry.post_at(100, orc, game::Ping{});
  CHECK_FALSE(registry.advance(99).cut_short);
  CHECK(registry.advance(1).cut_short);
}
