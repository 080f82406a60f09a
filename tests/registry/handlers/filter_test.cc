// A filter that throws: whoever subscribes is told, and nobody else loses anything by it.
#include <catch2/catch.hpp>
#include <optional>
#include <stdexcept>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/model/state_rows.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"

namespace filter_test {

using namespace muster;
using Catch::Contains;
using test::last_words;

namespace {

/// Throws for archetypes that have Armor.
bool no_armor(const Archetype& archetype) {
  if (archetype.has(TypeTraits<game::Armor>::id)) throw std::runtime_error("what is Armor?");
  return true;
}
void nothing(const game::Damage&, const game::Health&) {}

const auto names_the_handler =
    Contains("handler \"game.picky\" of game.Damage: its filter threw while testing an archetype: what is Armor?");

}  // namespace

TEST_CASE("a filter that throws while its handler is subscribed is the caller's to catch, and nothing is subscribed") {
  EntityRegistry registry;
  int before = 0, after = 0;
  const auto first = registry.subscribe("first", [&](const game::Damage&, const game::Health&) { ++before; });
  const Entity plain = registry.create(game::Health{}), armed = registry.create(game::Health{}, game::Armor{});
  CHECK_THROWS_WITH((void)registry.subscribe("game.picky", nothing, {.filter = no_armor}), "what is Armor?");
  CHECK(registry.host().handlers().handlers().size() == 1);
  const auto second = registry.subscribe("second", [&](const game::Damage&, const game::Health&) { ++after; });
  const auto same_name = registry.subscribe("game.picky", nothing);  // the name is free
  for (const Entity e : {plain, armed}) CHECK(registry.push(e, game::Damage{}).handled == 1);
  const Entity later = registry.create(game::Health{}, game::Armor{}, game::Position{});
  CHECK(registry.push(later, game::Damage{}).handled == 1);
  CHECK(before == 3);
  CHECK(after == 3);
}

TEST_CASE("a filter that throws when an archetype comes stops the program, naming its handler") {
  const auto picky = [](EntityRegistry& registry) {
    return registry.subscribe("game.picky", nothing, {.filter = no_armor});
  };
  CHECK_THAT(last_words([&] {
               EntityRegistry registry;
               const auto s = picky(registry);
               registry.create(game::Health{}, game::Armor{});
             }),
             names_the_handler);
  CHECK_THAT(last_words([&] {
               EntityRegistry registry;
               const auto s = picky(registry);
               const auto giver = registry.subscribe(
                   "giver", [](const game::Heal&, Entity self, Outbox& out) { out.set(self, game::Armor{}); });
               registry.push(registry.create(game::Health{}), game::Heal{});
             }),
             names_the_handler);
}

TEST_CASE("a filter that throws when its handler, subscribed inside another, begins, stops the program and is named") {
  for (const bool as_setup_error : {false, true}) {
    CHECK_THAT(last_words([&] {
                 EntityRegistry registry;
                 registry.create(game::Health{}, game::Armor{});
                 std::optional<Subscription> kept;
                 const auto s = registry.subscribe("host", [&](const game::Ping&, Outbox& out) {
                   kept = out.subscribe("game.picky", nothing, {.filter = [=](const Archetype& archetype) -> bool {
                                          if (as_setup_error) throw SetupError("what is Armor?");
                                          return no_armor(archetype);
                                        }});
                 });
                 registry.push(game::Ping{});
               }),
               Contains("handler \"game.picky\" of game.Damage: its filter threw"));
  }
}

TEST_CASE("a filter that throws while state is loaded stops the program, naming its handler") {
  EntityRegistry world;
  world.create(game::Health{}, game::Armor{});
  const naive::StateRows rows = naive::saved_rows(world);
  CHECK_THAT(last_words([&] {
               EntityRegistry loaded;
               const auto s = loaded.subscribe("game.picky", nothing, {.filter = no_armor});
               naive::RowsSource source(rows);
               (void)loaded.load(source).has_value();
             }),
             names_the_handler);
}

}  // namespace filter_test
