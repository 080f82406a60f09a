// Runs of messages that a handler changes: they go through one handler after another on a copy, and nobody can tell.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

/// Plays rounds of posts at random targets of several archetypes. Where causes are recorded each message goes to its handlers alone.
struct Played {
  EntityRegistry registry;
  std::uint64_t hits = 0, heard = 0, handled = 0, dead = 0;
  Handlers handlers;
  explicit Played(bool alone) {
    registry.profile().record_causes(alone);
    handlers.add(registry.subscribe(
        "wear", [](game::Damage& hit, const game::Armor& armor) { hit.amount *= armor.factor; }, {.before = {"hurt"}}));
    handlers.add(
        registry.subscribe("hurt", [](const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
          health.value -= hit.amount;
          if (health.value < 0) out.destroy(self);
          if (static_cast<int>(health.value) % 7 == 0) out.post(hit.from, game::Heal{.amount = hit.amount});
        }));
    handlers.add(registry.subscribe("count", [this](const game::Damage&, With<game::Health>) { ++hits; },
                                    {.external_writes = {"hits"}}));
    handlers.add(registry.subscribe("learn", [](const game::Damage& hit, game::Count& count, Entity self) {
      count.hits = count.hits * 31 + static_cast<std::uint32_t>(hit.amount * 8) + self.index;
    }));
    handlers.add(registry.subscribe("heal", [this](const game::Heal& heal, game::Position& at) {
      at.at.x = at.at.x * 3 + heal.amount;
      ++heard;
    }));
    handlers.add(registry.subscribe("rest", [](const game::Heal& heal, game::Armor& armor, Entity self) {
      armor.factor = armor.factor * 0.75f + static_cast<float>(self.index % 16) + heal.amount;
    }));
  }
  void play(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Entity> all;
    const auto make = [&] {
      const game::Health health{.value = static_cast<float>(200 + random() % 100)};
      const game::Armor armor{.factor = 0.5f};
      switch (random() % 4) {
        case 0: all.push_back(registry.create(health, game::Position{}, game::Count{})); break;
        case 1: all.push_back(registry.create(health, armor, game::Position{})); break;
        case 2: all.push_back(registry.create(health, armor, game::Count{})); break;
        default: all.push_back(registry.create(game::Position{}, armor));
      }
    };
    for (int i = 0; i < 4000; ++i) make();
    for (int round = 0; round < 30; ++round) {
      registry.host().begin_version();
      // Below and above what is copied or looked for at once, and what a loop of its own is for.
      const std::uint32_t count = round == 3 ? 40'000 : round % 3 == 0 ? 4000 : round % 3 == 1 ? 100 : 7;
      const auto first = random() % all.size();
      for (std::uint32_t i = 0; i < count; ++i) {
        const Entity target = round % 4 == 0 ? all[(first + i) % all.size()] : all[random() % all.size()];
        registry.post(target,
                      game::Damage{.amount = static_cast<float>(random() % 40), .from = all[random() % all.size()]});
      }
      for (std::uint32_t i = 0; i < count; ++i)
        registry.post(all[random() % all.size()], game::Heal{.amount = static_cast<float>(random() % 4)});
      const Receipt receipt = registry.flush();
      handled += receipt.handled;
      dead += receipt.dead;
      for (int i = 0; i < 20; ++i) make();
    }
  }
};

}  // namespace

TEST_CASE("a run whose messages a handler changes has the effects of its messages one by one") {
  Played together(false), alone(true);
  together.play(5);
  alone.play(5);
  const MessageRoute* route = together.registry.host().handlers().route(TypeTraits<game::Damage>::id);
  CHECK(route->whole_runs);
  CHECK(route->writes_message);
  CHECK(together.registry.hash() == alone.registry.hash());
  CHECK(together.hits == alone.hits);
  CHECK(together.heard == alone.heard);
  CHECK(together.dead == alone.dead);
  CHECK(together.heard > 1000);
  CHECK(together.dead > 100);
  CHECK(together.handled == alone.handled);
  CHECK(together.registry.host().counters().unhandled == alone.registry.host().counters().unhandled);
}

TEST_CASE("a run of more messages than are looked for at once brings each of them to each handler once") {
  EntityRegistry registry;
  const auto all = registry.create_many(40'000, game::Health{.value = 0}, game::Armor{.factor = 0});
  Handlers handlers;
  handlers.add(registry.subscribe("first", [](const game::Heal& heal, game::Health& to) { to.value += heal.amount; }));
  handlers.add(registry.subscribe("then", [](const game::Heal& heal, game::Armor& to) { to.factor += heal.amount; }));
  BatchBuilder batch(64u << 20);
  // Far from each other, so that their rows are looked for.
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t at = i * 7919 % all.size();
    batch.append(all[at], game::Heal{.amount = static_cast<float>(at)});
  }
  REQUIRE(batch.batches() == 1);
  const Receipt receipt = registry.host().push_batch(batch.bytes());
  CHECK(receipt.handled == all.size());
  std::size_t right = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    right += registry.get<game::Health>(all[i]).value == static_cast<float>(i) &&
             registry.get<game::Armor>(all[i]).factor == static_cast<float>(i);
  CHECK(right == all.size());
}
