// A game for tests of Synctest and TwinTest.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/moments/synctest.h"
#include "tests/registry/game.h"

namespace synced_game {

/// A game whose tick has several handlers, into which a test puts one that hides something.
struct Game {
  explicit Game(muster::RegistryOptions options = {}) : r(std::move(options)) {
    own.add(r.subscribe("game.move", [](const muster::Update& now, game::Position& at, const game::Velocity& v) {
      at.at.x += v.by.x * now.dt;
    }));
    own.add(r.subscribe("game.count", [](const muster::Update&, game::Count& count) { ++count.hits; }));
    own.add(r.subscribe("game.bleed",
                        [](const muster::Update&, const game::Health& h, muster::Entity self, muster::Outbox& out) {
                          if (h.value > 50) out.post(self, game::Damage{.amount = 1});
                        }));
    own.add(
        r.subscribe("game.hurt", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }));
    for (int i = 0; i < 10; ++i)
      all.push_back(r.create("orc" + std::to_string(i), game::Health{.value = 60.f + static_cast<float>(i)},
                             game::Position{}, game::Velocity{.by = {1, 0, 0}}, game::Count{}, game::Member{},
                             game::Slots{}));
  }
  void tick() {
    r.advance(16'000'000);
    r.push(muster::Update{.dt = 1.f / 60});
    r.push(all[5], game::Damage{.amount = 2});
    r.post(all[6], game::Damage{.amount = 2});
    r.flush();
  }
  /// Does ticks until one differs, and returns the difference.
  muster::SyncDifference first_difference(int ticks = 5) {
    muster::Synctest synctest(r);
    for (int i = 0; i < ticks; ++i) {
      REQUIRE(synctest.begin());
      tick();
      const std::uint64_t live = r.hash();
      auto found = synctest.end();
      REQUIRE(found);
      if (*found) {
        INFO((*found)->text());
        if ((*found)->goes_on_with_first) CHECK(r.hash() == live);
        return **found;
      }
      CHECK(r.hash() == live);
    }
    FAIL("no difference was found");
    return {};
  }
  muster::EntityRegistry r;
  muster::Handlers own;
  std::vector<muster::Entity> all;
};

}  // namespace synced_game
