// What a watch begins with is the world at one sequence, and in the end it knows the world as it is.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <thread>

#include "registry/state/state.h"
#include "tests/server/made_session.h"
#include "tests/server/watches/changer.h"
#include "tests/server/watches/follower.h"

namespace states_test {

using namespace muster;
using namespace muster::testing;

namespace {

/// Checks that a state which was asked for now is told as the world is now, once it is whole.
void expect_state(Follower& follower, int& states) {
  follower.whole = false;
  follower.on_whole = [&follower, &states, asked = follower.expected()] {
    ++states;
    REQUIRE(follower.known == asked);
  };
}

/// The same of a change that was asked for now.
void expect_change(Follower& follower, int& states) {
  follower.on_followed = [&follower, &states, asked = follower.expected()] {
    ++states;
    REQUIRE(follower.known == asked);
  };
}

}  // namespace

TEST_CASE("what a watch begins with, or becomes, is the world as it was then, whatever changes before it is told",
          "[follow][random]") {
  int states = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    INFO("seed " << seed);
    Watched world;
    Changer changer(world.registry, seed);
    Random& random = changer.random();
    for (std::uint64_t i = random.below(120); i > 0; --i) changer.step();
    // Another one whose watches bring other looks.
    Follower other(world.registry, world.watches);
    other.open(something(changer));
    Follower follower(world.registry, world.watches, {.data_bytes_max = 200 + random.below(2000)});
    follower.asked = something(changer);
    expect_state(follower, states);
    follower.open(follower.asked);
    const auto go_on = [&] {
      for (std::uint64_t step = 0; step < 6; ++step) {
        for (std::uint64_t i = random.below(8); i > 0; --i) changer.step();
        if (random.percent(70)) world.watches.after_flush(0);
        if (random.percent(60)) follower.read();
        if (random.percent(60)) other.read();
      }
    };
    go_on();
    follower.read_all();
    REQUIRE_FALSE(follower.on_whole);
    go_on();
    if (follower.watch != 0) {
      session::Follow next = something(changer);
      follower.read_all();
      follower.change(next);
      expect_change(follower, states);
      go_on();
    }
    follower.read_all();
    REQUIRE_FALSE(follower.on_followed);
    follower.check();
    other.read_all();
    other.check();
  }
  CHECK(states == 2000);
}

TEST_CASE("who lost a component and then died before a watch had its turn is told of as dead", "[follow]") {
  Watched world;
  const Entity e = world.registry.create(arena::Hidden{}, arena::Health{});
  world.registry.create(arena::Hidden{}, arena::Health{});
  session::Follow hidden;
  hidden.world = hidden.values = true;
  hidden.components = {hidden_id};
  Follower seldom(world.registry, world.watches), often(world.registry, world.watches);
  often.open(hidden);
  hidden.rate_max = 1;
  seldom.open(hidden);
  world.registry.create(arena::Hidden{});
  world.watches.after_flush(1);  // from now on it waits for a second
  seldom.read();
  REQUIRE(seldom.known.values.contains(e));
  world.registry.remove<arena::Hidden>(e);
  world.watches.after_flush(2);
  world.registry.destroy(e);
  world.watches.after_flush(3);
  seldom.read_all(2'000'000'000);
  CHECK_FALSE(seldom.known.values.contains(e));
  seldom.check();
}

TEST_CASE("beside the world thread watches begin with the world as it was, and end with the world as it is",
          "[follow][random]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    EntityRegistry registry;
    registry.add_type<arena::Health>();
    registry.add_type<Set>();
    Changer changer(registry, seed);
    Random& random = changer.random();
    for (int i = 0; i < 200; ++i) changer.step();
    Watches watches(registry, Watches::Threaded{[] {}});
    std::vector<std::unique_ptr<Follower>> followers;
    int states = 0;
    const auto time_ns = [&] {
      return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    };
    for (int step = 0; step < 300; ++step) {
      for (std::uint64_t i = random.below(20); i > 0; --i) changer.step();
      if (step % 50 == 0) {
        followers.push_back(std::make_unique<Follower>(registry, watches, OutgoingLimits{.data_bytes_max = 3000}));
        Follower& one = *followers.back();
        one.session->outgoing()->on_room([&] { watches.room_came(); });
        one.asked = something(changer);
        one.asked.rate_max = random.percent(50) ? 0 : 1000;
        expect_state(one, states);
        one.open(one.asked);
      }
      watches.after_flush(time_ns());
      for (auto& follower : followers)
        if (random.percent(50)) follower->read();
      if (step % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    const auto begun = std::chrono::steady_clock::now();
    const auto knows = [](Follower& follower) {
      while (follower.read()) {
      }
      return follower.whole && !follower.on_whole && follower.known == follower.expected();
    };
    while (std::ranges::count_if(followers, [&](auto& follower) { return knows(*follower); }) < 6) {
      REQUIRE(std::chrono::steady_clock::now() - begun < std::chrono::seconds(30));
      watches.after_flush(time_ns());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    CHECK(states == 6);
    for (auto& follower : followers) follower->check();
  }
}

TEST_CASE("watches come and go, change, and end with their sessions and with the world, while their thread tells them",
          "[follow][random]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    EntityRegistry registry;
    registry.add_type<arena::Health>();
    registry.add_type<Set>();
    Changer changer(registry, seed);
    Random& random = changer.random();
    for (int i = 0; i < 100; ++i) changer.step();
    std::vector<std::shared_ptr<Session>> sessions;
    std::atomic<std::uint64_t> woken = 0;
    OutgoingPiece taken;
    std::uint64_t request = 0, opened = 0;
    // It ends first, wherever its thread is.
    Watches watches(registry, Watches::Threaded{[&] { ++woken; }});
    for (int step = 0; step < 200; ++step) {
      for (std::uint64_t i = random.below(10); i > 0; --i) changer.step();
      if (sessions.size() < 3) {
        sessions.push_back(testing::made_session({.data_bytes_max = 1000}));
        sessions.back()->outgoing()->on_room([&] { watches.room_came(); });
      }
      const std::shared_ptr<Session>& session = random.one_of(sessions);
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2: opened += !watches.follow(session, ++request, something(changer), 64); break;
        case 3: (void)watches.close(*session, 1 + random.below(request + 1), request + 1'000'000); break;
        case 4: {
          session::Follow next = something(changer);
          next.watch = 1 + random.below(request + 1);
          (void)watches.follow(session, ++request, next, 64);
          break;
        }
        case 5: {
          const std::uint64_t watch = 1 + random.below(request + 1);
          (void)watches.follow_more(*session, ++request, {.watch = watch, .open = {Entity{}}});
          break;
        }
        case 6:
          if (random.percent(20)) {
            watches.close_all(*session);
            std::erase(sessions, std::shared_ptr<Session>(session));
            break;
          }
          [[fallthrough]];
        default:
          for (const auto& each : sessions)
            if (each->outgoing()->take(taken)) each->outgoing()->sent();
      }
      watches.after_flush(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
      if (random.percent(5)) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    CHECK(opened > 20);
    for (const auto& session : sessions) watches.close_all(*session);
    CHECK(watches.count() == 0);
    CHECK(watches.entities() == 0);
  }
}

namespace {

/// The rows of a registry, to which it can return.
struct KeptRows final : StateSink, StateSource {
  bool has(const StateKey&, std::uint64_t) override { return false; }
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    kept[key].assign(bytes.begin(), bytes.end());
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (const auto& [key, bytes] : kept)
      if (key.section == section) take(key, bytes);
  }
  std::map<StateKey, std::vector<std::byte>> kept;
};

}  // namespace

TEST_CASE("watches are told the difference when a registry returns to an earlier state", "[follow][random]") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    Watched world;
    Changer changer(world.registry, seed);
    Random& random = changer.random();
    for (std::uint64_t i = random.below(120); i > 0; --i) changer.step();
    Follower one(world.registry, world.watches), other(world.registry, world.watches, {.data_bytes_max = 3000});
    one.open({.world = true, .structure = true, .values = true, .open = {Entity{}}});
    other.open(something(changer));
    one.read_all();
    KeptRows rows;
    world.registry.save(rows);
    for (int round = 0; round < 4; ++round) {
      for (std::uint64_t i = random.below(60); i > 0; --i) {
        changer.step();
        if (random.percent(20)) world.watches.after_flush(0);
        if (random.percent(20)) one.read();
      }
      const std::uint64_t sequence = world.registry.sequence();
      REQUIRE(world.registry.host().restore(rows));
      CHECK(world.registry.sequence() == sequence);
      if (random.percent(50)) changer.step();
      one.read_all();
      one.check();
      other.read_all();
      other.check();
    }
  }
}

}  // namespace states_test
