// What routes remember of chunks for pushes: it must be forgotten in time.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/handlers/known_chunks.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

/// Versions of all columns, chunk by chunk.
std::vector<std::uint64_t> versions(const EntityRegistry& registry) {
  std::vector<std::uint64_t> all;
  for (const auto& archetype : registry.host().storage().archetypes())
    for (const Group& group : archetype->groups)
      for (const Chunk* chunk : group.chunks)
        for (std::size_t slot = 0; slot < archetype->slot_types.size(); ++slot)
          all.push_back(chunk->slots()[slot].version);
  return all;
}

/// Pushes, between things after which what is known of chunks may be true no longer.
struct Played {
  EntityRegistry registry;
  std::vector<std::string> told;
  std::vector<Entity> made;
  Subscription second;
  Handlers handlers;
  explicit Played(bool shortcuts) : registry({.shortcuts = shortcuts}) {
    handlers.add(
        registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }));
    handlers.add(registry.subscribe("heal", [](const game::Heal& heal, Entity e, const game::Armor& armor,
                                               game::Health* health, game::Position& at) {
      at.at.x += heal.amount * armor.factor + static_cast<float>(e.index);
      if (health) health->value += 1;
    }));
    handlers.add(registry.subscribe("ping", [](const game::Ping&, game::Count& count, Outbox& out, Entity e) {
      if (++count.hits % 5 == 0) out.destroy(e);
    }));
  }
  void play(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto one = [&] { return made[random() % made.size()]; };
    for (int i = 0; i < 6000; ++i) {
      const auto amount = static_cast<float>(random() % 8);
      switch (random() % 24) {
        case 0: registry.host().begin_version(); break;
        case 1:
          if (random() % 8 != 0) break;
          second.end();
          second = registry.subscribe("more", [](const game::Damage&, game::Count& c) { ++c.hits; });
          break;
        case 2:
          if (random() % 8 == 0) second.end();
          break;
        case 3:
          if (random() % 8 == 0) registry.set_handler_enabled("hit", random() % 3 != 0);
          break;
        case 4:
        case 5: made.push_back(registry.create(game::Health{}, game::Armor{}, game::Position{})); break;
        case 6: made.push_back(registry.create(game::Health{}, game::Count{})); break;
        case 7:
          if (!made.empty()) registry.destroy(one());
          break;
        case 8:
          if (!made.empty()) registry.set(one(), game::Count{}, game::Frozen{});
          break;
        case 9:
          if (!made.empty()) registry.remove<game::Health>(one());
          break;
        case 10:
          if (random() % 64 == 0)
            for (Entity e : made) registry.destroy(e);
          break;
        default:
          if (made.empty()) break;
          if (const auto kind = random() % 3; kind == 0)
            note(registry.push(one(), game::Damage{.amount = amount}));
          else if (kind == 1)
            note(registry.push(one(), game::Heal{.amount = amount}));
          else
            note(registry.push(one(), game::Ping{}));
      }
    }
  }
  void note(const Receipt& r) {
    told.push_back(std::to_string(r.sequence) + " " + std::to_string(r.handled) + std::to_string(r.unhandled) +
                   std::to_string(r.dead));
  }
};

}  // namespace

TEST_CASE("pushes find the rows and write the versions that the general way does, whatever came between them") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    Played straight(true), general(false);
    straight.play(seed);
    general.play(seed);
    CHECK(straight.told == general.told);
    CHECK(straight.registry.hash() == general.registry.hash());
    CHECK(versions(straight.registry) == versions(general.registry));
    CHECK(straight.registry.host().counters().messages == general.registry.host().counters().messages);
    CHECK(straight.registry.host().counters().dead == general.registry.host().counters().dead);
    CHECK(straight.registry.host().counters().unhandled == general.registry.host().counters().unhandled);
  }
}

TEST_CASE("a chunk is known until the stamp changes, and those of great numbers are learnt each time") {
  Storage storage;
  Chunk chunk;
  const Handler handler;
  const CallSite site{.handler = &handler, .run_known = &run_uncached};
  KnownChunks known;
  for (const std::uint32_t number : {0u, 100u, 1u << 20}) {
    chunk.number = number;
    const std::uint64_t place = chunk.locator(7).bits();
    CHECK(!known.find(place, storage.stamp()));
    CHECK(known.learn(storage, site, chunk)->chunk == &chunk);
    CHECK((known.find(place, storage.stamp()) != nullptr) == (number < 1u << 20));
  }
  CHECK(known.find(Locator(0, 3).bits(), storage.stamp()));
  storage.begin_version();
  CHECK(!known.find(Locator(0, 3).bits(), storage.stamp()));
  (void)known.learn(storage, site, chunk);
  known.forget();
  CHECK(!known.find(chunk.locator(0).bits(), storage.stamp()));
  CHECK(!known.find(Locator::no_row, storage.stamp()));
  CHECK(!known.find(~std::uint64_t{0}, storage.stamp()));
}
