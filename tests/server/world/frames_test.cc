// World::next_frame: ticks, arrivals, timers, stopping.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/delivery/executor.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/saved_by_hand.h"

namespace frames_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

Handlers install(EntityRegistry& registry) {
  return {
      registry.subscribe("damage", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; })};
}

/// The bytes of one Damage for a lane.
Bytes damage(Entity target, float amount) {
  BatchBuilder builder;
  builder.append(target, game::Damage{.amount = amount});
  const auto bytes = builder.front().bytes();
  return {bytes.begin(), bytes.end()};
}

double seconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

TEST_CASE(
    "frames come at the rate asked for, number on over restarts, and move the clock by exactly a second in hz frames") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install, {.hz = 60});
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t i = 1; i <= 60; ++i) {
      const Frame frame = world.next_frame();
      REQUIRE(frame);
      REQUIRE(frame.tick == i);
      REQUIRE(frame.dt == 1.0f / 60);
      REQUIRE(frame.now_ns == world.registry().now_ns());
    }
    const double took = seconds(std::chrono::steady_clock::now() - start);
    CHECK(took > 0.95);
    CHECK(took < 3.0);
    // 60 ticks of 16666666.67 ns: the parts below one ns are carried, not lost.
    CHECK(world.registry().now_ns() >= 999'999'999);
    CHECK(world.registry().now_ns() <= 1'000'000'000);
    world.save();
  }
  World world(path, install, {.hz = 200});
  CHECK(world.tick() == 60);
  CHECK(world.next_frame().tick == 61);
}

TEST_CASE("ticks are counted on where they were saved") {
  const Directory directory;
  {
    World world(directory / "w.muster", install, saved_by_hand({.hz = 1000}));
    for (int i = 0; i < 5; ++i) REQUIRE(world.next_frame());
    world.save();
    REQUIRE(world.next_frame().tick == 6);  // not saved
  }
  World world(directory / "w.muster", install, saved_by_hand({.hz = 1000}));
  CHECK(world.tick() == 5);
  CHECK(world.next_frame().tick == 6);
}

TEST_CASE("a host that comes late gets its ticks one after another, and after a long absence goes on from now") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 100});
  REQUIRE(world.next_frame());
  std::this_thread::sleep_for(55ms);
  const auto start = std::chrono::steady_clock::now();
  CHECK(world.next_frame().late_ns > 30'000'000);
  for (int i = 0; i < 3; ++i) CHECK(world.next_frame());
  CHECK(seconds(std::chrono::steady_clock::now() - start) < 0.02);
  std::this_thread::sleep_for(600ms);
  const Frame late = world.next_frame();
  CHECK(late.late_ns > 500'000'000);
  CHECK(world.next_frame().late_ns < 200'000'000);
  CHECK(world.tick() == 7);
}

TEST_CASE("what arrives is handled while the frame sleeps, not at the tick") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 0.2});
  const Entity orc = world.registry().create("orc", game::Health{.value = 1000});
  struct Watch : FlushVisitor {
    Entity orc;
    std::atomic<float> value{0};
    std::string calls;
    void before_flush() override { calls += '('; }
    void after_flush(EntityRegistry& registry) override {
      calls += ')';
      value = registry.get<game::Health>(orc).value;
    }
  } watch;
  watch.orc = orc;
  world.add_visitor(watch);
  const auto lane = world.registry().host().inbox().open_lane(7);
  double slowest = 0;
  std::thread writer([&] {
    for (int i = 1; i <= 50; ++i) {
      const auto start = std::chrono::steady_clock::now();
      if (!lane->put(damage(orc, 1))) break;
      while (watch.value != 1000.0f - static_cast<float>(i) && seconds(std::chrono::steady_clock::now() - start) < 3)
        std::this_thread::yield();
      slowest = std::max(slowest, seconds(std::chrono::steady_clock::now() - start));
    }
    world.stop();
  });
  const auto start = std::chrono::steady_clock::now();
  const Frame frame = world.next_frame();
  writer.join();
  CHECK_FALSE(frame);
  CHECK(seconds(std::chrono::steady_clock::now() - start) < 4.5);
  CHECK(slowest < 1);
  CHECK(world.registry().get<game::Health>(orc).value == 950);
  CHECK(watch.calls.substr(0, 4) == "()()");
  CHECK(watch.calls.size() >= 100);
  CHECK(world.tick() == 0);
  world.remove_visitor(watch);
  CHECK_FALSE(world.next_frame());
}

TEST_CASE("what arrived before stop is handled before the empty frame") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 0});
  const Entity orc = world.registry().create("orc", game::Health{.value = 10});
  const auto lane = world.registry().host().inbox().open_lane(1);
  REQUIRE(lane->put(damage(orc, 4)));
  world.stop();
  CHECK_FALSE(world.next_frame());
  CHECK(world.registry().get<game::Health>(orc).value == 6);
}

TEST_CASE("without hz timers come when they are due, and the clock stands while none waits") {
  const Directory directory;
  World world(directory / "w.muster", install);
  auto& registry = world.registry();
  const Entity orc = registry.create("orc", game::Health{.value = 100});
  const auto lane = registry.host().inbox().open_lane(1);
  std::vector<double> at;
  const auto start = std::chrono::steady_clock::now();
  const auto log = registry.subscribe("log", [&](const game::Damage&, const game::Health&) {
    at.push_back(seconds(std::chrono::steady_clock::now() - start));
  });
  registry.post_at(50'000'000, orc, game::Damage{.amount = 1});
  registry.post_at(100'000'000, orc, game::Damage{.amount = 2});
  std::thread host([&] {
    std::this_thread::sleep_for(70ms);
    (void)lane->put(damage(orc, 4));
    std::this_thread::sleep_for(250ms);
    world.stop();
  });
  CHECK_FALSE(world.next_frame());
  host.join();
  CHECK(registry.get<game::Health>(orc).value == 93);
  REQUIRE(at.size() == 3);
  CHECK(at[0] >= 0.05);
  CHECK(at[1] >= 0.07);
  CHECK(at[2] >= 0.10);
  CHECK(at[2] < 0.3);
  // After the second timer nothing waited for some 200 ms, and the clock stood.
  CHECK(registry.now_ns() >= 100'000'000);
  CHECK(registry.now_ns() < 280'000'000);
}

namespace {
World* stopped_by_signal = nullptr;
}

TEST_CASE("a signal handler stops a world that sleeps") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 0.01});
  stopped_by_signal = &world;
  struct sigaction action{}, before{};
  action.sa_handler = [](int) { stopped_by_signal->stop(); };
  ::sigaction(SIGUSR1, &action, &before);
  const pthread_t owner = ::pthread_self();
  std::thread sender([&] {
    std::this_thread::sleep_for(50ms);
    ::pthread_kill(owner, SIGUSR1);
  });
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(world.next_frame());
  CHECK(seconds(std::chrono::steady_clock::now() - start) < 5);
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("wake makes a world that sleeps flush once more") {
  const Directory directory;
  World world(directory / "w.muster", install);
  struct Count : FlushVisitor {
    std::atomic<int> flushes{0};
    void before_flush() override {}
    void after_flush(EntityRegistry&) override { ++flushes; }
  } count;
  world.add_visitor(count);
  std::thread other([&] {
    while (count.flushes < 1) std::this_thread::yield();
    world.wake();
    while (count.flushes < 2) std::this_thread::yield();
    world.stop();
  });
  CHECK_FALSE(world.next_frame());
  other.join();
  // Where it was told to stop before it looked after the second one, that was the last.
  CHECK(count.flushes >= 2);
  CHECK(count.flushes <= 3);
  world.remove_visitor(count);
}

TEST_CASE("a visitor may save after a flush") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    World world(path, install);
    struct Save : FlushVisitor {
      World* world = nullptr;
      std::uint64_t checkpoint = 0;
      void before_flush() override {}
      void after_flush(EntityRegistry&) override {
        if (const auto saved = world->try_save()) checkpoint = saved->checkpoint;
        world->stop();
      }
    } save;
    save.world = &world;
    world.add_visitor(save);
    world.registry().create("orc").or_stop();
    CHECK_FALSE(world.next_frame());
    CHECK(save.checkpoint == 1);
    world.remove_visitor(save);
  }
  World world(path, install);
  CHECK(world.registry().find_path("/orc"));
}

TEST_CASE("a world of several workers, saved half-way and read back by one of a single worker, has the same hash") {
  const auto installing = [](EntityRegistry& registry) -> Handlers {
    return {
        registry.subscribe("move", [](const Update& update, game::Position& position,
                                      const game::Velocity& velocity) { position.at.x += velocity.by.x * update.dt; }),
        registry.subscribe("wear", [](const Update&, game::Health& health, Entity self, Outbox& out) {
          health.value -= 1;
          if (health.value <= 0) out.destroy(self);
        })};
  };
  const auto fill = [](EntityRegistry& registry) {
    for (int i = 0; i < 3000; ++i)
      registry.create(game::Position{}, game::Velocity{.by = {.x = static_cast<float>(i), .y = 0, .z = 0}},
                      game::Health{.value = static_cast<float>(i % 50)});
  };
  const auto tick = [](EntityRegistry& registry, int ticks) {
    for (int i = 0; i < ticks; ++i) registry.push(Update{.dt = 0.25f});
    return registry.hash();
  };
  const Directory directory;
  {
    World world(directory / "w.muster", installing, {.registry = {.pass_serial_below_ns = 0}, .workers = 4});
    fill(world.registry());
    tick(world.registry(), 20);
    CHECK(world.registry().profile().pass_counters().spread >= 20);
    world.save();
  }
  World one(directory / "one.muster", installing);
  fill(one.registry());
  tick(one.registry(), 20);
  World again(directory / "w.muster", installing);
  CHECK(again.registry().hash() == one.registry().hash());
  CHECK(tick(again.registry(), 20) == tick(one.registry(), 20));
}

}  // namespace frames_test
