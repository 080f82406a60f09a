// Rollback gives every player the state that it would have if all inputs had been known at once.
#include "registry/moments/rollback.h"

#include <catch2/catch.hpp>
#include <random>
#include <stdexcept>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

namespace rollback_test {

using namespace muster;
using Catch::Contains;

namespace {

/// A game in which an input hits one of the orcs, which splits or dies.
struct Battle {
  explicit Battle(std::uint32_t orcs = 20) {
    own.add(r.subscribe("game.move", [](const Update& now, game::Position& at, const game::Velocity& v) {
      at.at.x += v.by.x * now.dt;
    }));
    own.add(r.subscribe("game.hurt",
                        [](const game::Damage& hit, game::Health& health, Entity self, Outbox& out, Spawner& spawner) {
                          health.value -= hit.amount;
                          if (static_cast<int>(health.value) % 3 == 0) spawner.create(game::Armor{});
                          if (health.value <= 0) out.destroy(self);
                        }));
    all = r.create_many(orcs, game::Health{.value = 9}, game::Position{}, game::Velocity{.by = {1, 0, 0}});
  }
  void tick(std::uint8_t input) {
    r.advance(16'000'000);
    r.push(all[input % all.size()], game::Damage{.amount = static_cast<float>(input % 4)});
    r.push(Update{.dt = 1.f / 60});
  }
  EntityRegistry r;
  Handlers own;
  std::vector<Entity> all;
};

}  // namespace

TEST_CASE("inputs that come late in any order lead to the states of a game that knew them") {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    constexpr std::uint64_t ticks = 60;
    std::vector<std::uint8_t> inputs;
    for (std::uint64_t i = 0; i < ticks; ++i) inputs.push_back(static_cast<std::uint8_t>(random()));
    std::vector<std::uint64_t> hashes;
    Battle known;
    for (const std::uint8_t input : inputs) {
      known.tick(input);
      hashes.push_back(known.r.hash());
    }

    Battle game;
    std::vector<std::uint8_t> assumed(ticks, 0);
    Rollback rollback(game.r, [&](std::uint64_t tick) { game.tick(assumed[tick - 1]); });
    std::uint64_t through = 0;
    while (through < ticks) {
      const std::uint64_t known_now = std::min<std::uint64_t>(random() % 4, rollback.tick() - through);
      for (std::uint64_t i = 0; i < known_now; ++i, ++through) {
        if (assumed[through] == inputs[through]) continue;
        assumed[through] = inputs[through];
        rollback.changed(through + 1);
      }
      rollback.confirm(through);
      for (std::uint64_t more = random() % 3; more > 0 && rollback.tick() < ticks && !rollback.must_wait(); --more)
        REQUIRE(rollback.advance());
      REQUIRE(rollback.redo());
      for (std::uint64_t tick = 1; tick <= std::min(through, rollback.tick()); ++tick)
        REQUIRE(rollback.checksum(tick) == hashes[tick - 1]);
      CHECK_FALSE(rollback.checksum(through + 1));
    }
    while (rollback.tick() < ticks) REQUIRE(rollback.advance());
    CHECK(game.r.hash() == hashes.back());
    CHECK(rollback.redone() > 0);
  }
}

TEST_CASE("what sounds is heard once, and sinks see each tick once") {
  Battle game;
  struct Heard final : InputSink {
    void on_input(const Envelope&, std::span<const std::byte>) override { ++inputs; }
    std::uint64_t inputs = 0;
  } heard;
  game.r.host().add_sink(heard);
  int sounds = 0;
  const auto sound = game.r.subscribe("sound", [&](const Update&) { ++sounds; }, {.skip_when_repeated = true});
  Rollback rollback(game.r, [&](std::uint64_t) { game.tick(1); });
  for (int i = 0; i < 10; ++i) {
    if (rollback.tick() > 4) rollback.changed(rollback.tick() - 3);
    REQUIRE(rollback.advance());
  }
  CHECK(sounds == 10);
  CHECK(heard.inputs == 30);
  CHECK(rollback.redone() == 20);
  game.r.host().remove_sink(heard);
}

TEST_CASE("a player does not run further ahead than it may") {
  Battle game;
  Rollback rollback(game.r, [&](std::uint64_t) { game.tick(1); }, {.unconfirmed_max = 3});
  for (int i = 0; i < 3; ++i) REQUIRE(rollback.advance());
  const std::uint64_t before = game.r.hash();
  CHECK(rollback.must_wait());
  CHECK_THAT(rollback.advance().error(), Contains("has to wait") && Contains("3 ticks"));
  CHECK(game.r.hash() == before);
  rollback.confirm(7);  // also ticks that were not made
  CHECK_FALSE(rollback.must_wait());
  for (int i = 0; i < 7; ++i) REQUIRE(rollback.advance());
  CHECK(rollback.must_wait());
  CHECK(rollback.checksum(7).has_value());
  CHECK_FALSE(rollback.checksum(8));
}

TEST_CASE("a tick whose moment needed too much memory is not made again, and nothing changes") {
  Battle game(2000);
  Rollback rollback(game.r, [&](std::uint64_t) { game.tick(1); }, {.bytes_max = 100'000});
  for (int i = 0; i < 10; ++i) REQUIRE(rollback.advance());
  const std::uint64_t before = game.r.hash();
  rollback.changed(1);
  CHECK_THAT(rollback.advance().error(), Contains("tick 1 cannot be made again"));
  CHECK(game.r.hash() == before);
  CHECK(rollback.tick() == 10);
  CHECK_FALSE(rollback.checksum(1));
}

TEST_CASE("a tick that throws leaves the state before it, and can be made later") {
  Battle game, other;
  bool throws = false;
  Rollback rollback(game.r, [&](std::uint64_t tick) {
    game.tick(static_cast<std::uint8_t>(tick));
    if (throws) throw std::runtime_error("no");
  });
  for (std::uint8_t i = 1; i <= 3; ++i) {
    REQUIRE(rollback.advance());
    other.tick(i);
  }
  throws = true;
  CHECK_THROWS(rollback.advance());
  CHECK(game.r.hash() == other.r.hash());
  rollback.changed(2);
  CHECK_THROWS(rollback.redo());
  CHECK(rollback.tick() == 3);
  throws = false;
  REQUIRE(rollback.redo());
  CHECK(game.r.hash() == other.r.hash());
  REQUIRE(rollback.advance());
  other.tick(4);
  CHECK(game.r.hash() == other.r.hash());
}

}  // namespace rollback_test
