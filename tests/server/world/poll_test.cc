// World::poll: a loop of the host's own, at a rate of its own or with ticks.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  return {
      registry.subscribe("move", [](const Update& update, game::Position& position,
                                    const game::Velocity& velocity) { position.at.x += velocity.by.x * update.dt; }),
      registry.subscribe("damage", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; })};
}

void put_damage(InboxLane& lane, Entity target, float amount) {
  BatchBuilder builder;
  builder.append(target, game::Damage{.amount = amount});
  REQUIRE(lane.put(builder.bytes()));
}

/// Calls what the test wants after each flush.
struct AfterFlush : FlushVisitor {
  World& world;
  std::function<void()> call;
  AfterFlush(World& to, std::function<void()> called) : world(to), call(std::move(called)) { world.add_visitor(*this); }
  ~AfterFlush() override { world.remove_visitor(*this); }
  AfterFlush(const AfterFlush&) = delete;
  AfterFlush& operator=(const AfterFlush&) = delete;
  void before_flush() override {}
  void after_flush(EntityRegistry&) override { call(); }
};

/// An engine's loop at a rate of its own: the time of a frame, and what it does in it, follow from
/// its number alone.
struct Engine {
  Engine(const std::string& path, Durability durability)
      : world(path, install, {.code = "game 1", .durability = durability, .autosave = {}}) {
    EntityRegistry& registry = world.registry();
    if (world.is_new()) {
      for (int i = 0; i < 20; ++i)
        registry
            .create("e" + std::to_string(i), game::Position{},
                    game::Velocity{.by = {.x = static_cast<float>(i) / 3, .y = 0, .z = 0}}, game::Health{.value = 1000})
            .or_stop();
      world.save();
    }
  }
  void frame() {
    EntityRegistry& registry = world.registry();
    std::mt19937_64 random(world.tick());
    const Frame frame = world.poll(std::chrono::nanoseconds(1 + random() % 40'000'000));
    REQUIRE(frame);
    registry.push(Update{.dt = frame.dt});
    const Entity one = registry.find_path("/e" + std::to_string(random() % 20));
    if (random() % 3 == 0) registry.push(one, game::Damage{.amount = frame.dt});
    if (random() % 5 == 0) registry.post_at(registry.now_ns() + random() % 90'000'000, one, game::Damage{.amount = 3});
  }
  World world;
};

}  // namespace

TEST_CASE("without hz a poll gives a frame as long as what passed, and the clock moves by exactly as much") {
  const Directory directory;
  World world(directory / "w.muster", install);
  Frame frame = world.poll(16'666'667ns);
  REQUIRE(frame);
  CHECK(frame.tick == 1);
  CHECK(frame.now_ns == 16'666'667);
  CHECK(frame.dt == static_cast<float>(16'666'667 / 1e9));
  CHECK(frame.late_ns == 0);
  frame = world.poll(std::chrono::duration<float>(0.5f));
  CHECK(frame.tick == 2);
  CHECK(frame.dt == 0.5f);
  CHECK(world.registry().now_ns() == 516'666'667);
  CHECK(world.tick() == 2);
  // Parts of a nanosecond are kept for the next frame.
  for (int i = 0; i < 1000; ++i) (void)world.poll(std::chrono::duration<double, std::nano>(1.25));
  CHECK(world.registry().now_ns() == 516'667'917);
}

TEST_CASE("where nothing passed there is no frame, and what arrived is handled all the same") {
  const Directory directory;
  World world(directory / "w.muster", install);
  const Entity orc = world.registry().create("orc", game::Health{.value = 100});
  const auto lane = world.registry().host().inbox().open_lane(1);
  const double no_times[] = {0, -1, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()};
  float left = 100;
  for (const double none : no_times) {
    put_damage(*lane, orc, 1);
    CHECK_FALSE(world.poll(std::chrono::duration<double>(none)));
    CHECK(world.registry().get<game::Health>(orc).value == --left);
  }
  CHECK(world.registry().now_ns() == 0);
  CHECK(world.tick() == 0);
  CHECK_FALSE(world.has_ended());
}

TEST_CASE("a time that no clock measures is cut to a year") {
  const Directory directory;
  World world(directory / "w.muster", install);
  CHECK(world.poll(std::chrono::duration<double>(std::numeric_limits<double>::infinity())));
  CHECK(world.registry().now_ns() == 31'536'000'000'000'000);
}

TEST_CASE("without a time of the host's a poll of a world without hz gives what passed since the one before") {
  const Directory directory;
  World world(directory / "w.muster", install);
  CHECK_FALSE(world.poll());
  const auto begun = std::chrono::steady_clock::now();
  while (!world.poll()) {
  }
  const std::uint64_t first = world.registry().now_ns();
  CHECK(first > 0);
  CHECK(first <= static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begun).count()) + 250'000'000);
  // A host that was away for long does not find a frame of that length.
  std::this_thread::sleep_for(400ms);
  const Frame late = world.poll();
  CHECK(late.dt == 0.25f);
  CHECK(late.now_ns == first + 250'000'000);
}

TEST_CASE("the speed of the clock scales a frame, and a paused clock gives none but for its steps") {
  const Directory directory;
  World world(directory / "w.muster", install);
  EntityRegistry& registry = world.registry();
  const Entity orc = registry.create("orc", game::Health{.value = 100});
  const auto lane = registry.host().inbox().open_lane(1);
  CHECK(world.poll(10ms).dt == 0.01f);
  REQUIRE(world.set_pace({.speed = 0.5}));
  CHECK(world.poll(10ms).dt == 0.005f);
  REQUIRE(world.set_pace({.speed = 4}));
  CHECK(world.poll(10ms).dt == 0.04f);
  CHECK(registry.now_ns() == 55'000'000);
  registry.post_at(56'000'000, orc, game::Damage{.amount = 50});
  REQUIRE(world.set_pace({.speed = 2, .paused = true}));
  put_damage(*lane, orc, 1);
  CHECK_FALSE(world.poll(10ms));
  CHECK(registry.get<game::Health>(orc).value == 99);
  CHECK(registry.now_ns() == 55'000'000);
  REQUIRE(world.set_pace({.speed = 2, .paused = true, .steps = 2}));
  CHECK_FALSE(world.poll(0ns));
  CHECK(world.poll(10ms).dt == 0.02f);
  CHECK(registry.get<game::Health>(orc).value == 49);
  CHECK(world.pace().steps == 1);
  CHECK(world.poll(1ms).dt == 0.002f);
  CHECK(world.pace().steps == 0);
  CHECK_FALSE(world.poll(10ms));
  CHECK(world.tick() == 5);
  REQUIRE(world.set_pace({}));
  CHECK(world.poll(10ms).dt == 0.01f);
}

TEST_CASE("a step that is asked for in the first poll is made") {
  const Directory directory;
  World world(directory / "w.muster", install);
  std::optional<std::expected<void, PaceFault>> set;
  const AfterFlush ask(world, [&] {
    if (!set) set = world.set_pace({.paused = true, .steps = 1});
  });
  CHECK(world.poll(10ms).dt == 0.01f);
  CHECK(set->has_value());
  CHECK_FALSE(world.poll(10ms));
}

TEST_CASE("timers come in the frame in which they are due") {
  const Directory directory;
  World world(directory / "w.muster", install);
  EntityRegistry& registry = world.registry();
  const Entity orc = registry.create("orc", game::Health{.value = 100});
  registry.post_at(15'000'000, orc, game::Damage{.amount = 1});
  REQUIRE(world.poll(10ms));
  CHECK(registry.get<game::Health>(orc).value == 100);
  REQUIRE(world.poll(10ms));
  CHECK(registry.get<game::Health>(orc).value == 99);
}

TEST_CASE("with hz polls give the ticks that are due, one after another, and an empty frame when none is") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 1000});
  std::uint64_t empty = 0;
  for (std::uint64_t tick = 0; tick < 50;) {
    const Frame frame = world.poll();
    if (!frame) {
      ++empty;
      continue;
    }
    REQUIRE(frame.tick == ++tick);
    REQUIRE(frame.dt == 1.0f / 1000);
    REQUIRE(frame.now_ns == tick * 1'000'000);
  }
  CHECK(empty > 0);
}

TEST_CASE("a poll does not wait for a tick") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 0.001});
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(world.poll());
  REQUIRE(world.set_pace({.paused = true}));
  CHECK_FALSE(world.poll());
  REQUIRE(world.set_pace({.paused = true, .steps = 3}));
  for (std::uint64_t tick = 1; tick <= 3; ++tick) CHECK(world.poll().tick == tick);
  CHECK_FALSE(world.poll());
}

TEST_CASE("polls and next_frame give the ticks of one clock") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 1000});
  for (std::uint64_t tick = 1; tick <= 40;) {
    const Frame frame = tick % 3 == 0 ? world.next_frame() : world.poll();
    if (!frame) continue;
    REQUIRE(frame.tick == tick);
    REQUIRE(frame.now_ns == tick * 1'000'000);
    ++tick;
  }
}

TEST_CASE("a loop over all ticks that are due comes to its end where they never are all made") {
  const Directory directory;
  World world(directory / "w.muster", install, {.hz = 1e6});
  while (!world.poll()) {
  }
  int ticks = 0;
  while (world.poll()) ++ticks;
  CHECK(ticks > 0);
}

TEST_CASE("what arrived before stop is handled by one poll more, which gives an empty frame") {
  const Directory directory;
  const double hz = GENERATE(0.0, 1e6);
  World world(directory / "w.muster", install, {.hz = hz});
  const Entity orc = world.registry().create("orc", game::Health{.value = 10});
  const auto lane = world.registry().host().inbox().open_lane(1);
  put_damage(*lane, orc, 4);
  world.stop();
  CHECK_FALSE(world.has_ended());
  const Frame last = hz == 0 ? world.poll(1s) : world.poll();
  CHECK_FALSE(last);
  CHECK(world.has_ended());
  CHECK(world.registry().get<game::Health>(orc).value == 6);
  CHECK_FALSE(world.next_frame());
  CHECK_FALSE(world.poll());
  CHECK(world.tick() == 0);
}

TEST_CASE("a world has ended after a next_frame behind stop as after a poll") {
  const Directory directory;
  World world(directory / "w.muster", install);
  world.stop();
  CHECK_FALSE(world.has_ended());
  CHECK_FALSE(world.next_frame());
  CHECK(world.has_ended());
}

TEST_CASE("a world that one thread made belongs to the one that polls it first") {
  const Directory directory;
  std::optional<World> world;
  std::thread([&] {
    world.emplace(directory / "w.muster", install, WorldOptions{.durability = Durability::each_flush, .autosave = {}});
    world->registry().create("orc", game::Health{.value = 10}).or_stop();
    world->save();
  }).join();
  CHECK(world->poll(1ms).tick == 1);
  CHECK(world->try_save().has_value());
}

TEST_CASE("polls tell of a save that was begun, and begin those that are due by themselves") {
  const Directory directory;
  World world(directory / "w.muster", install, {.autosave = 1ms});
  world.registry().create("orc", game::Health{.value = 10}).or_stop();
  world.save();
  bool told = false;
  REQUIRE(world.poll(1ms));
  REQUIRE(world.begin_save([&](const auto& report) { told = report.has_value(); }));
  while (!told) (void)world.poll(0ns);
  REQUIRE(world.poll(1ms));
  const std::uint64_t sequence = world.registry().sequence();
  while (world.saved_sequence() < sequence) (void)world.poll(0ns);
  CHECK(world.autosave_error() == nullptr);
}

TEST_CASE("a world of frames of any length that is killed goes on with the same state and the same clock") {
  const Directory directory;
  const auto durability = GENERATE(Durability::each_flush, Durability::batched);
  const std::string path = directory / "w.muster";
  Engine whole(directory / "whole.muster", Durability::checkpoint);
  for (const std::uint64_t frames : {1, 2, 300, 700}) {
    const pid_t child = ::fork();
    if (child == 0) {
      Engine engine(path, durability);
      while (engine.world.tick() < frames) engine.frame();
      do (void)engine.world.poll(0ns);
      while (engine.world.durable_sequence() < engine.world.registry().sequence());
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    while (whole.world.tick() < frames) whole.frame();
    (void)whole.world.poll(0ns);  // what was posted last is taken there, too
    const Engine again(path, Durability::checkpoint);
    CAPTURE(frames, again.world.recovery_report().text());
    CHECK(again.world.recovery_report().exact());
    CHECK(again.world.tick() == frames);
    CHECK(again.world.registry().now_ns() == whole.world.registry().now_ns());
    CHECK(again.world.registry().hash() == whole.world.registry().hash());
  }
}

TEST_CASE("a poll by a handler, on another thread, or inside another one stops the program and says why") {
  const auto with_world = [](double hz, const std::function<void(World&)>& mistake) {
    return last_words([&] {
      const Directory directory;
      World world(directory / "w.muster", install, {.hz = hz});
      mistake(world);
    });
  };
  CHECK_THAT(with_world(0,
                        [](World& world) {
                          const auto s = world.registry().subscribe(
                              "meddler", [&](const game::Damage&) { (void)world.poll(1ms); });
                          world.registry().push(game::Damage{});
                        }),
             Contains("World::poll: called inside handler \"meddler\""));
  CHECK_THAT(with_world(100,
                        [](World& world) {
                          const auto s = world.registry().subscribe(
                              "meddler", [&](const game::Damage&) { (void)world.next_frame(); });
                          world.registry().push(game::Damage{});
                        }),
             Contains("World::next_frame: called inside handler \"meddler\""));
  CHECK_THAT(with_world(0,
                        [](World& world) {
                          (void)world.poll(1ms);
                          std::thread([&] { (void)world.poll(1ms); }).join();
                        }),
             Contains("World::poll: called on another thread than the first next_frame or poll"));
  CHECK_THAT(with_world(0,
                        [](World& world) {
                          const AfterFlush visitor(world, [&] { (void)world.poll(1ms); });
                          (void)world.poll(1ms);
                        }),
             Contains("World::poll: called while a next_frame or poll of the same world is under way"));
  CHECK_THAT(with_world(60, [](World& world) { (void)world.poll(1ms); }),
             Contains("World::poll: the ticks of a world with hz have one length"));
}
