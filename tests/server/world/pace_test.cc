// World::set_pace: pause, steps and speed.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"

namespace pace_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

Handlers install(EntityRegistry& registry) {
  return {
      registry.subscribe("move", [](const Update& update, game::Position& position,
                                    const game::Velocity& velocity) { position.at.x += velocity.by.x * update.dt; }),
      registry.subscribe("damage", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; })};
}

/// Calls what the test wants after each flush.
struct AfterFlush : FlushVisitor {
  World& world;
  std::function<void(EntityRegistry&)> call;
  AfterFlush(World& to, std::function<void(EntityRegistry&)> called) : world(to), call(std::move(called)) {
    world.add_visitor(*this);
  }
  ~AfterFlush() override { world.remove_visitor(*this); }
  AfterFlush(const AfterFlush&) = delete;
  AfterFlush& operator=(const AfterFlush&) = delete;
  void before_flush() override {}
  void after_flush(EntityRegistry& registry) override { call(registry); }
};

struct Outcome {
  std::uint64_t hash, sequence, now_ns, tick;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// The same inputs by tick; `pace` is called before each frame.
Outcome play(const std::function<void(World&)>& pace) {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 700});
  EntityRegistry& registry = world.registry();
  std::vector<Entity> orcs;
  for (int i = 0; i < 100; ++i)
    orcs.push_back(registry.create(game::Position{},
                                   game::Velocity{.by = {.x = static_cast<float>(i) / 3, .y = 0, .z = 0}},
                                   game::Health{.value = 1000}));
  // Where it is paused and no step is left, the world is woken a few times and then goes on.
  int flushes = 0;
  const AfterFlush resume(world, [&](EntityRegistry&) {
    if (!world.pace().paused || world.pace().steps > 0) return;
    if (++flushes % 5 != 0) return world.wake();
    REQUIRE(world.set_pace({.speed = world.pace().speed}));
  });
  for (std::size_t tick = 1; tick <= 150; ++tick) {
    if (pace) pace(world);
    const Frame frame = world.next_frame();
    REQUIRE(frame.tick == tick);
    REQUIRE(frame.dt == 1.0f / 700);
    registry.push(Update{.dt = frame.dt});
    if (tick % 7 == 0) registry.push(orcs[tick % 100], game::Damage{.amount = 3});
    if (tick % 11 == 0) registry.post_at(registry.now_ns() + 7'000'000, orcs[tick % 13], game::Damage{.amount = 5});
    if (tick % 20 == 0) registry.destroy(orcs[99 - tick / 20]);
  }
  return {registry.hash(), registry.sequence(), registry.now_ns(), world.tick()};
}

}  // namespace

TEST_CASE("pausing, stepping and another speed change nothing of what so many ticks give") {
  const Outcome plain = play({});
  CHECK(play([](World& world) {
          const std::uint64_t tick = world.tick();
          if (tick == 5) REQUIRE(world.set_pace({.paused = true, .steps = 10}));
          if (tick == 30) REQUIRE(world.set_pace({.speed = 100}));
          if (tick == 60) REQUIRE(world.set_pace({.speed = 0.5}));
          if (tick == 70) REQUIRE(world.set_pace({.paused = true}));
        }) == plain);
  CHECK(play([](World& world) { REQUIRE(world.set_pace({.paused = true, .steps = 1})); }) == plain);
  CHECK(play([](World& world) {
          if (world.tick() % 3 == 0) REQUIRE(world.set_pace({.speed = 100, .paused = true}));
        }) == plain);
}

TEST_CASE("a paused world makes no tick and its clock and timers stand; what arrives is handled, and stop ends it") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 1000});
  EntityRegistry& registry = world.registry();
  const Entity orc = registry.create("orc", game::Health{.value = 100});
  REQUIRE(world.next_frame());
  registry.post_at(registry.now_ns() + 1, orc, game::Damage{.amount = 50});
  REQUIRE(world.set_pace({.paused = true}));
  const std::uint64_t clock_ns = registry.now_ns();
  const auto lane = registry.host().inbox().open_lane(7);
  std::atomic<float> value = 100;
  const AfterFlush look(world, [&](EntityRegistry& r) { value = r.get<game::Health>(orc).value; });
  std::thread other([&] {
    for (int i = 1; i <= 20; ++i) {
      BatchBuilder builder;
      builder.append(orc, game::Damage{.amount = 1});
      if (!lane->put(Bytes(builder.bytes().begin(), builder.bytes().end()))) break;
      while (value > 100.0f - static_cast<float>(i)) std::this_thread::sleep_for(1ms);  // ten ticks would be due
    }
    world.stop();
  });
  CHECK_FALSE(world.next_frame());
  other.join();
  CHECK(registry.get<game::Health>(orc).value == 80);
  CHECK(registry.now_ns() == clock_ns);
  CHECK(world.tick() == 1);
}

TEST_CASE("each step is a tick, the inbox is taken before each, and after the last one the world waits") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 0.001});  // a tick in a quarter of an hour
  EntityRegistry& registry = world.registry();
  const Entity orc = registry.create("orc", game::Health{.value = 100});
  const auto lane = registry.host().inbox().open_lane(7);
  REQUIRE(world.set_pace({.paused = true, .steps = 20}));
  std::vector<std::uint32_t> left;
  const AfterFlush look(world, [&](EntityRegistry&) {
    left.push_back(world.pace().steps);
    if (left.size() == 22) world.stop();
  });
  std::uint64_t ticks = 0;
  while (const Frame frame = world.next_frame()) {
    CHECK(frame.tick == ++ticks);
    CHECK(frame.late_ns == 0);
    CHECK(frame.now_ns == ticks * 1'000'000'000'000);
    CHECK(registry.get<game::Health>(orc).value == 101.0f - static_cast<float>(ticks));
    BatchBuilder builder;
    builder.append(orc, game::Damage{.amount = 1});
    REQUIRE(lane->put(Bytes(builder.bytes().begin(), builder.bytes().end())));
    if (ticks == 20) world.wake();
  }
  CHECK(ticks == 20);
  CHECK(registry.get<game::Health>(orc).value == 80);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 21; i-- > 0;) expected.push_back(i);
  expected.push_back(0);
  CHECK(left == expected);
  CHECK_FALSE(world.set_pace({.steps = 1}));
}

TEST_CASE("work that is done while a world is paused is counted to no tick") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 1000});
  REQUIRE(world.set_pace({.paused = true}));
  int flushes = 0;
  const AfterFlush busy(world, [&](EntityRegistry&) {
    if (++flushes > 3) return;
    const ProcessorClock clock = ProcessorClock::of_this_thread();
    for (const std::uint64_t begin = clock.now_ns(); clock.now_ns() - begin < 30'000'000;) {
    }
    if (flushes == 3) REQUIRE(world.set_pace({}));
    world.wake();
  });
  REQUIRE(world.next_frame());
  CHECK(world.tick_times().all() == 1);
  CHECK(world.tick_times().longest_ns() >= 30'000'000);  // of the flush that ended the pause
  CHECK(world.tick_times().longest_ns() < 60'000'000);
}

TEST_CASE("ticks of a slower clock, which leaves more time for what arrives between them, are not timed") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 1000});
  REQUIRE(world.next_frame());
  REQUIRE(world.tick_times().all() == 1);
  REQUIRE(world.set_pace({.speed = 0.5}));
  for (int i = 0; i < 3; ++i) REQUIRE(world.next_frame());
  CHECK(world.tick_times().all() == 1);
  REQUIRE(world.set_pace({.speed = 2}));
  for (int i = 0; i < 3; ++i) REQUIRE(world.next_frame());
  CHECK(world.tick_times().all() == 4);
}

TEST_CASE("how a world's clock runs is not saved") {
  const Directory directory;
  {
    World world(directory / "w.muster", install, {.hz = 1000});
    REQUIRE(world.set_pace({.speed = 0.25, .paused = true}));
    world.save();
  }
  World world(directory / "w.muster", install, {.hz = 1000});
  CHECK(world.pace() == Pace{});
  CHECK(world.next_frame());
}

TEST_CASE("without hz a paused world's clock does not follow the wall clock, and there is nothing to step to") {
  const Directory directory;
  World world(directory / "w.muster", install);
  EntityRegistry& registry = world.registry();
  const Entity orc = registry.create("orc", game::Health{.value = 100});
  registry.post_at(2'000'000, orc, game::Damage{.amount = 1});
  REQUIRE(world.set_pace({.paused = true}));
  CHECK(world.set_pace({.paused = true, .steps = 1}).error().reason == "no_ticks");
  int flushes = 0;
  const AfterFlush look(world, [&](EntityRegistry& r) {
    if (++flushes <= 10) {
      CHECK(r.now_ns() == 0);
      CHECK(r.get<game::Health>(orc).value == 100);
      std::this_thread::sleep_for(1ms);
      world.wake();
    }
    if (flushes == 10) {
      REQUIRE(world.set_pace({.speed = 100}));
      r.post_at(60'000'000'000, orc, game::Damage{.amount = 10});
    }
    if (r.get<game::Health>(orc).value == 89) world.stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(world.next_frame());
  CHECK(std::chrono::steady_clock::now() - begin < 30s);  // the minute passed at a hundred times its speed
  CHECK(registry.now_ns() >= 60'000'000'000);
}

}  // namespace pace_test
