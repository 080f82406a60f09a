// Where values of other rows lie is remembered from pass to pass: it must be forgotten in time.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

using namespace muster;
using namespace game;

namespace {

/// Squads of several archetypes, whose chunks go and come again as those of others.
struct Squads {
  EntityRegistry registry;
  std::vector<Entity> parents;
  std::mt19937 random{3};
  Handlers handlers;
  Squads() {
    registry.add_type<Armor>();
    handlers.add(
        registry.subscribe("learn", [](const Update&, Count& own, Parent<const Count> of) { own.hits = of->hits; }));
    handlers.add(registry.subscribe(
        "wear", [](const Update&, Health& own, Parent<const Armor*> of) { own.value = of ? of->factor : -1; }));
  }
  void make(std::uint32_t count, unsigned kind) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const Count number{.hits = static_cast<std::uint32_t>(random())};
      const Armor armor{.factor = static_cast<float>(random() % 1000)};
      const Entity up = kind == 0   ? registry.create(number)
                        : kind == 1 ? registry.create(number, armor)
                        : kind == 2 ? registry.create(number, armor, Position{})
                                    : registry.create(armor, Velocity{});
      parents.push_back(up);
      registry.create_under(up, {}, Count{}, Health{}).or_stop();
      registry.create_under(registry.create_under(up, {}, Position{}), {}, Count{}, Health{}).or_stop();
    }
  }
  void check() {
    registry.push(Update{});
    std::size_t wrong = 0, looked_at = 0;
    registry.each<>([&](Entity e) {
      if (!registry.has<Health>(e)) return;
      ++looked_at;
      Entity with_count = registry.parent(e), with_armor = with_count;
      while (with_count && !registry.has<Count>(with_count)) with_count = registry.parent(with_count);
      while (with_armor && !registry.has<Armor>(with_armor)) with_armor = registry.parent(with_armor);
      wrong += with_count && registry.get<Count>(e).hits != registry.get<Count>(with_count).hits;
      wrong += registry.get<Health>(e).value != (with_armor ? registry.get<Armor>(with_armor).factor : -1);
    });
    CHECK(wrong == 0);
    CHECK(looked_at == parents.size() * 2);
  }
};

}  // namespace

TEST_CASE("a value of the parent is found after chunks went and came again for others") {
  Squads squads;
  for (unsigned round = 0; round < 12; ++round) {
    squads.make(2500, round % 4);
    squads.check();
    // Whole chunks go, and their numbers are used again; without a version that begins between.
    std::vector<Entity> going(squads.parents.begin(), squads.parents.begin() + 2000);
    squads.parents.erase(squads.parents.begin(), squads.parents.begin() + 2000);
    squads.registry.push(std::span<const Entity>(going), Destroy{});
    squads.make(1200, (round + 1) % 4);
    squads.check();
  }
}

TEST_CASE("a value of the parent is found after parents went to other archetypes and lost it") {
  Squads squads;
  squads.make(300, 1);
  squads.check();
  for (std::size_t i = 0; i < squads.parents.size(); i += 2) squads.registry.set(squads.parents[i], Position{});
  squads.check();
  for (std::size_t i = 0; i < squads.parents.size(); i += 2) squads.registry.remove<Armor>(squads.parents[i]);
  squads.check();
}
