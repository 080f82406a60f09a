// A watch whose connection was lost goes on with what has changed since, and nothing is missing.
#include <catch2/catch.hpp>

#include "tests/server/watches/changer.h"
#include "tests/server/watches/follower.h"

namespace resuming_test {

using namespace muster;
using namespace muster::testing;

TEST_CASE("a resumed watch of 100,000 entities sends at most twice the bytes of the 1,000 rows that changed",
          "[resume]") {
  Watched world;
  const std::vector<Entity> all = world.registry.create_many(100'000, arena::Health{.value = 1});
  Follower follower(world.registry, world.watches, {.data_bytes_max = 64u << 20}, true);
  follower.open({.world = true, .values = true});
  follower.read_all();
  REQUIRE(follower.known.values.size() == all.size());
  follower.lose();
  for (std::size_t i = 0; i < 1000; ++i) {
    world.registry.set(all[i * 97], arena::Health{.value = static_cast<float>(i)});
    if (i % 100 == 0) world.watches.after_flush(0);
  }
  world.watches.after_flush(0);
  const std::uint64_t before = follower.bytes;
  CHECK(follower.resume());
  follower.read_all();
  follower.check();
  CHECK(follower.bytes - before <= 2 * 1000 * (sizeof(Entity) + sizeof(arena::Health)));
}

TEST_CASE("a watch that is resumed at once sends only Resuming", "[resume]") {
  Watched world;
  (void)world.registry.create_many(100, arena::Health{.value = 1});
  Follower follower(world.registry, world.watches, {}, true);
  follower.open({.world = true, .structure = true, .values = true});
  follower.read_all();
  for (int i = 0; i < 3; ++i) {
    follower.lose();
    const std::uint64_t before = follower.frames;
    CHECK(follower.resume());
    follower.read_all();
    CHECK(follower.frames == before + 1);
  }
  follower.check();
}

TEST_CASE("a watch that sent nothing whole, or to a client of which that is not known, is told anew", "[resume]") {
  Watched world;
  (void)world.registry.create_many(1000, arena::Health{.value = 1});
  Follower lost(world.registry, world.watches, {.data_bytes_max = 1}, true), plain(world.registry, world.watches);
  for (Follower* const each : {&lost, &plain}) each->open({.world = true, .values = true});
  lost.lose();
  CHECK_FALSE(lost.resume());
  plain.read_all();
  plain.lose();
  CHECK_FALSE(plain.resume());
  for (Follower* const each : {&lost, &plain}) {
    each->read_all();
    each->check();
  }
}

TEST_CASE("a client that did not hear that it is told anew is told anew again, though its sequence is the same",
          "[resume]") {
  Watched world;
  (void)world.registry.create_many(10, arena::Health{.value = 1});
  Follower follower(world.registry, world.watches, {}, true);
  follower.open({.world = true, .values = true});
  follower.read_all();
  const std::uint64_t sequence = follower.whole_sequence;
  // Nothing of the new state arrives.
  follower.lose();
  world.watches.close_all(*follower.session);
  follower.session->connect(std::make_shared<Connection>());
  const session::ResumeWatches asked{.watches = {follower.watch}, .sequences = {sequence}, .follows = {follower.asked}};
  (void)world.watches.resume(follower.session, asked, 64, [] { return std::nullopt; });
  follower.lose();
  CHECK_FALSE(follower.resume());
  follower.read_all();
  follower.check();
}

TEST_CASE("watches that a resumed session does not name are closed, and unknown ones are opened", "[resume]") {
  Watched world;
  (void)world.registry.create_many(10, arena::Health{.value = 1});
  Follower follower(world.registry, world.watches, {}, true);
  follower.open({.world = true, .values = true});
  follower.read_all();
  follower.lose();
  follower.session->connect(std::make_shared<Connection>());
  const session::Follow what{.world = true, .values = true};
  const auto none = [] { return std::nullopt; };
  session::Follow bad;
  bad.rate_max = 2'000'000;
  auto resumed = world.watches.resume(
      follower.session, {.watches = {40, 41}, .sequences = {0, 0}, .follows = {what, bad}, .more = true}, 64, none);
  CHECK(resumed.refused == std::vector<std::uint64_t>{41});
  CHECK(world.watches.count() == 2);
  resumed = world.watches.resume(follower.session, {.watches = {40}, .sequences = {0}, .follows = {what}}, 64, none);
  CHECK(resumed.refused.empty());
  CHECK(world.watches.count() == 1);
}

TEST_CASE("after random changes and lost connections every resumed follower knows what a new one would",
          "[resume][random]") {
  std::size_t continued = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    Watched world;
    Changer changer(world.registry, seed);
    for (int i = 0; i < 60; ++i) changer.step();
    Random& random = changer.random();
    Follower quick(world.registry, world.watches, {}, true),
        slow(world.registry, world.watches, {.data_bytes_max = 600}, true);
    quick.open(something(changer));
    slow.open(something(changer));
    for (int round = 0; round < 60; ++round) {
      for (std::uint64_t i = random.below(8); i > 0; --i) changer.step();
      world.watches.after_flush(0);
      for (Follower* each : {&quick, &slow}) {
        if (random.percent(10)) each->change(something(changer));
        if (!random.percent(20)) continue;
        each->lose();
        for (std::uint64_t i = random.below(12); i > 0; --i) {
          changer.step();
          if (random.percent(50)) world.watches.after_flush(0);
        }
        if (each->resume()) ++continued;
      }
      if (random.percent(50)) {
        quick.read_all();
        quick.check();
      }
      if (random.percent(20)) slow.read();
      if (random.percent(5)) {
        slow.read_all();
        slow.check();
      }
    }
    for (Follower* each : {&quick, &slow}) {
      each->read_all();
      each->check();
    }
  }
  CHECK(continued > 100);
}

}  // namespace resuming_test
