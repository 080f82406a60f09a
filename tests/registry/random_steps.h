// A small world in which anything may happen to rows and columns: they come, go, move, change and get parents and names.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

namespace muster::test {

class RandomSteps {
 public:
  explicit RandomSteps(std::uint64_t seed) : random_(seed) {
    handlers_.add(
        registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }));
    handlers_.add(registry.subscribe(
        "move", [](const Update& u, game::Position& at, const game::Velocity& v) { at.at.x += v.by.x * u.dt; }));
  }
  void step() {
    std::erase_if(alive_, [&](Entity e) { return !registry.alive(e); });
    const auto choice = random_() % 10;
    if (alive_.size() < 50 || choice < 3) {
      const Entity parent = alive_.empty() || random_() % 2 ? Entity{} : one();
      const float value = static_cast<float>(random_() % 1000);
      alive_.push_back(random_() % 2 ? registry.create_under(parent, "", game::Health{.value = value})
                                     : registry.create_under(parent, "", game::Health{.value = value}, game::Position{},
                                                             game::Velocity{.by = {.x = value}}));
    } else if (choice == 3) {
      registry.destroy(one());
    } else if (choice == 4) {
      registry.set(one(), game::Armor{.factor = static_cast<float>(random_() % 9)}, game::Frozen{});
    } else if (choice == 5) {
      registry.remove<game::Health>(one());
    } else if (choice == 6) {
      registry.reparent(one(), random_() % 3 ? one() : Entity{});
    } else if (choice == 7) {
      registry.push(Update{.dt = 1});
    } else if (choice == 8) {
      registry.rename(one(), "n" + std::to_string(random_() % 100));
    } else {
      for (int i = 0; i < 20; ++i) registry.post(one(), game::Damage{.amount = 1});
      registry.flush();
    }
  }
  std::uint64_t draw() { return random_(); }

  EntityRegistry registry;

 private:
  Entity one() { return alive_[random_() % alive_.size()]; }

  std::mt19937_64 random_;
  std::vector<Entity> alive_;
  Handlers handlers_;
};

}  // namespace muster::test
