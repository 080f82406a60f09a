// A world with a server in a loop of the host's own, and clients beside it.
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "server/server.h"
#include "server/world/world.h"
#include "tests/lineage/allocations.h"
#include "tests/server/live_world.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

/// An engine's loop on a thread of its own, which makes a frame when it is asked for one: a poll,
/// and then it "draws".
class Engine {
 public:
  explicit Engine(double hz = 0) : hz_(hz) {
    std::promise<void> ready;
    thread_ = std::thread([this, &ready] { run(ready); });
    ready.get_future().wait();
  }
  ~Engine() {
    world_->stop();
    wanted_ = ~std::uint64_t{0};
    wanted_.notify_one();
    thread_.join();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Makes so many frames, and returns when they are made.
  void frames(std::uint64_t count) {
    const std::uint64_t until = wanted_.fetch_add(count) + count;
    wanted_.notify_one();
    for (std::uint64_t made = made_; made < until; made = made_) made_.wait(made);
  }
  const std::string& address() const { return address_; }
  Client client() const {
    auto made = Client::connect({.address = address_, .token = token, .name = "test"});
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }
  Entity orc() const { return orc_; }
  /// The orc's health as it was drawn last.
  float drawn() const { return drawn_; }

 private:
  void run(std::promise<void>& ready) {
    const test::Folder folder;
    World world(
        folder / "w.muster",
        [](EntityRegistry& registry) -> Handlers {
          registry.add_type<arena::Health>();
          return {subscribe_damage(registry)};
        },
        test::saved_by_hand({.hz = hz_}));
    orc_ = world.registry().create("orc", arena::Health{.value = 100});
    world.save();
    Server server(world, {.listen = "127.0.0.1:0", .token = token});
    world_ = &world;
    address_ = server.address();
    ready.set_value();
    for (std::uint64_t frame = 0; !world.has_ended(); ++frame) {
      for (std::uint64_t wanted = wanted_; wanted <= frame; wanted = wanted_) wanted_.wait(wanted);
      if (const Frame tick = hz_ > 0 ? world.poll() : world.poll(16'666'667ns))
        world.registry().push(Update{.dt = tick.dt});
      drawn_ = world.registry().get<arena::Health>(orc_).value;
      made_ = frame + 1;
      made_.notify_all();
    }
  }

  const double hz_;
  std::string address_;
  World* world_ = nullptr;
  Entity orc_;
  std::atomic<std::uint64_t> wanted_ = 0, made_ = 0;
  std::atomic<float> drawn_ = 0;
  std::thread thread_;
};

/// The frames of an engine go on by themselves while this lives.
class Runs {
 public:
  explicit Runs(Engine& engine) {
    thread_ = std::thread([this, &engine] {
      while (!ends_) engine.frames(1);
    });
  }
  ~Runs() {
    ends_ = true;
    thread_.join();
  }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("the next frame of a host's own loop has an edit that came before it, and answers it") {
  const double hz = GENERATE(0.0, 0.001);
  Engine engine(hz);
  RawClient client(engine.address());
  client.hello();
  engine.frames(1);
  for (std::uint64_t edit = 1; edit <= 60; ++edit) {
    BatchBuilder builder;
    builder.append(engine.orc(), arena::Damage{.amount = 1});
    client.send_frame(builder.bytes(), edit);
    // The beat is answered without the world: when the answer is here, the edit is there.
    client.send_message(session::Heartbeat{}, 1000);
    const auto beat = client.receive();
    REQUIRE(beat);
    REQUIRE(beat->is<session::Heartbeat>());
    engine.frames(1);
    CHECK(engine.drawn() == 100 - static_cast<float>(edit));
    const auto answer = client.receive();
    REQUIRE(answer);
    REQUIRE(answer->is<session::Ack>());
    CHECK(answer->header.request == edit);
  }
}

TEST_CASE("the clock of a host's own loop is paused, stepped and made faster from outside") {
  const double hz = GENERATE(0.0, 0.001);
  Engine engine(hz);
  const Runs runs(engine);
  Client client = engine.client();
  session::SetClock what;
  what.paused = 1;
  session::ClockState state = client.ask(what).value();
  CHECK(state.paused == 1);
  const std::uint64_t tick = state.tick, clock_ns = state.clock_ns;
  REQUIRE(client.set_field(engine.orc(), "Health.value", "7"));
  state = client.ask<session::GetClock>().value();
  CHECK(state.tick == tick);
  CHECK(state.clock_ns == clock_ns);
  const auto step = [&](std::uint32_t steps, double speed) {
    session::SetClock stepping;
    stepping.paused = 2;
    stepping.steps = steps;
    stepping.speed = speed;
    state = client.ask(stepping).value();
    while (state.steps > 0) state = client.ask<session::GetClock>().value();
  };
  step(3, 1);
  CHECK(state.tick == tick + 3);
  if (hz == 0) {
    CHECK(state.clock_ns == clock_ns + 3 * 16'666'667);
    step(2, 0.5);
    CHECK(state.clock_ns == clock_ns + 4 * 16'666'667);
    REQUIRE(client.ask(session::SetClock{}));  // it runs
    while (client.ask<session::GetClock>().value().tick < tick + 10) {
    }
  }
}

TEST_CASE("a poll that finds nothing to do allocates nothing, with a session there too") {
  const double hz = GENERATE(0.0, 0.001);
  const test::Folder folder;
  World world(
      folder / "w.muster", [](EntityRegistry& registry) -> Handlers { return {subscribe_damage(registry)}; },
      test::saved_by_hand({.hz = hz}));
  world.registry().create("orc", arena::Health{.value = 100}).or_stop();
  world.save();
  Server server(world, {.listen = "127.0.0.1:0", .token = token});
  std::atomic<bool> is_there = false;
  std::promise<void> over;
  std::thread other([&] {
    Client client = Client::connect({.address = server.address(), .token = token, .name = "test"}).value();
    (void)client.ask<session::GetClock>().value();
    is_there = true;
    over.get_future().wait();
  });
  const auto poll = [&] { return hz > 0 ? world.poll() : world.poll(0ns); };
  while (!is_there) REQUIRE_FALSE(poll());
  // The server's own threads may allocate for a while.
  std::uint64_t least = ~std::uint64_t{0};
  for (int round = 0; round < 20 && least > 0; ++round) {
    const std::uint64_t before = allocations();
    for (int i = 0; i < 1000; ++i)
      if (poll()) FAIL("a frame");
    least = std::min(least, allocations() - before);
  }
  CHECK(least == 0);
  over.set_value();
  other.join();
}

TEST_CASE("who gets no answer is told that the world's program calls neither next_frame nor poll") {
  const Engine engine;
  const auto said = [&](const std::string& command) {
    const std::string line = std::string(MUSTER_CLI) + " --connect " + engine.address() + " --token '" + token +
                             "' --timeout 6 " + command + " 2>&1";
    FILE* const running = ::popen(line.c_str(), "r");
    REQUIRE(running);
    std::string text;
    for (char buffer[256]; std::fgets(buffer, sizeof buffer, running);) text += buffer;
    ::pclose(running);
    return text;
  };
  const auto why =
      Catch::Contains("the world does not answer: its program has called neither next_frame nor poll for ");
  const std::string set = said("set 1:1 Health.value 50");
  CHECK_THAT(set, why);
  CHECK_THAT(set, Catch::Contains("did not answer within 6000 ms"));
  CHECK_THAT(said("info"), why);
}

TEST_CASE("a save from outside is answered by later frames, and a watch is told of what they change") {
  Engine engine;
  const Runs runs(engine);
  Client client = engine.client();
  const auto watch = client.follow({.entities = {engine.orc()}, .values = true}).value();
  REQUIRE(client.ask<session::Save>());
  REQUIRE(client.set_field(engine.orc(), "Health.value", "7"));
  for (bool changed = false; !changed;) {
    const auto frame = client.next(watch, 5s);
    REQUIRE(frame);
    REQUIRE(*frame);
    changed = (*frame)->is<session::Values>();
  }
}
