// What comes before what: a desk that is driven by hand, with a clock that only what is done moves on.
#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "server/desk/desk.h"
#include "tests/server/arena.h"
#include "tests/server/hand_world.h"
#include "tests/support/all_threads.h"

namespace turns_test {

using namespace muster;

namespace {

constexpr std::uint64_t ms = 1'000'000;

struct DeskByHand {
  EntityRegistry registry;
  std::uint64_t time_ns = 0;                                 // processor time
  std::function<void()> on_info = [] {}, on_damage = [] {};  // a question is answered, an edit is handled
  std::uint32_t infos = 0;                                   // answered
  testing::HandWorld host;
  std::unique_ptr<Desk> desk;
  Subscription damage;
  Entity unit;

  DeskByHand() {
    registry.add_type<Rename>();
    damage = registry.subscribe("damage", [this](const arena::Damage&, arena::Health&) { on_damage(); });
    unit = registry.create("unit", arena::Health{});
    host.gives_processor_ns = [this] { return time_ns; };
    host.gives_plugins = [this]() -> std::vector<std::string> {
      ++infos;
      on_info();
      return {};
    };
    desk = std::make_unique<Desk>(registry, host, ServerLimits{});
  }
  std::shared_ptr<Session> join(const char* name) {
    return desk->join({session::Role::admin}, name, "test", std::make_shared<Connection>(OutgoingLimits{}), 0,
                      [](Session&) {});
  }
  void ask(Session& from) {
    BatchBuilder builder;
    session::append(builder, session::GetInfo{});
    REQUIRE(desk->take_next(from, ++requests, BatchView(builder.bytes()), false, false));
    desk->pass_on(from);
  }
  template <class M>
  void push(Session& from, const M& message, std::uint32_t times) {
    BatchBuilder builder;
    const std::vector<Entity> units(times, unit);
    builder.append_shared(std::span<const Entity>(units), message);
    REQUIRE(desk->take_next(from, ++requests, BatchView(builder.bytes()), true, false));
    desk->pass_on(from);
  }
  void rename(Session& from, std::uint32_t times = 1) { push(from, Rename{}, times); }
  void hit(Session& from) { push(from, arena::Damage{}, 1); }
  std::uint64_t edits() const { return desk->intake_counters().edits; }
  void flush() {
    desk->before_flush();
    registry.flush();
    desk->after_flush(registry);
  }
  std::uint64_t requests = 0;
};

}  // namespace

TEST_CASE("an edit that comes while questions are answered waits for one of them, not for all", "[abuse]") {
  DeskByHand world;
  const auto mean = world.join("mean"), honest = world.join("honest");
  for (int i = 0; i < 10; ++i) world.ask(*mean);
  world.on_info = [&] {
    if (world.infos == 1) world.rename(*honest);
    world.time_ns += 5 * ms;
  };
  while (world.infos < 10) world.flush();
  CHECK(world.edits() == 1);
  CHECK(honest->seat()->edit_waits.longest_ns() == 5 * ms);
}

TEST_CASE("an edit that comes while another takes long is taken in the same flush where it costs little", "[abuse]") {
  DeskByHand world;
  const auto mean = world.join("mean"), honest = world.join("honest"), dear = world.join("dear");
  world.hit(*mean);
  bool first = true;
  world.on_damage = [&] {
    if (!std::exchange(first, false)) return;
    world.rename(*honest);
    world.rename(*dear, 2000);
    world.time_ns += 5 * ms;
  };
  world.flush();
  CHECK(world.edits() == 2);
  CHECK(honest->seat()->edit_waits.all() == 1);
  CHECK(dear->seat()->edit_waits.all() == 0);
  world.flush();
  CHECK(world.edits() == 3);
}

TEST_CASE("an edit that comes when edits were taken is taken before the flush is over, where something took long",
          "[abuse]") {
  DeskByHand world;
  const auto mean = world.join("mean"), honest = world.join("honest");
  world.ask(*mean);
  world.on_info = [&] {
    world.rename(*honest);
    world.time_ns += 5 * ms;
  };
  world.flush();
  CHECK(world.edits() == 1);
}

TEST_CASE("after edits that took long questions are answered in the next flush, and then whatever edits take",
          "[abuse]") {
  DeskByHand world;
  const auto asks = world.join("asks"), mean = world.join("mean");  // whose turn comes first
  world.on_damage = [&] { world.time_ns += 5 * ms; };
  world.ask(*asks);
  world.hit(*mean);
  world.flush();
  CHECK(world.infos == 0);
  world.hit(*mean);
  world.flush();
  CHECK(world.infos == 1);
  // Short work puts nothing off.
  world.on_damage = [&] { world.time_ns += 1 * ms; };
  world.ask(*asks);
  world.hit(*mean);
  world.flush();
  CHECK(world.infos == 2);
}

}  // namespace turns_test
