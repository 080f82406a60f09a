#include <catch2/catch.hpp>

#include "registry/entity_registry.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"

namespace missing_component_test {

using namespace muster;
using game::Armor, game::Health;

TEST_CASE("get() of what is not there names the entity, its path and the component", "[get]") {
  EntityRegistry registry;
  const Entity squad = registry.create("squad");
  const Entity orc = registry.create_under(squad, "orc", Health{});
  const std::string id = "#" + std::to_string(orc.index) + ":" + std::to_string(orc.generation);
  CHECK(test::last_words([&] { (void)registry.get<Armor>(orc); }) ==
        "muster: EntityRegistry::get<game.Armor>: entity " + id +
            " (/squad/orc) has no game.Armor; check has<T>(e) first, or use find<T>(e), which returns null\n");
  registry.destroy(orc);
  CHECK(test::last_words([&] { (void)registry.get<Health>(orc); }) ==
        "muster: EntityRegistry::get<game.Health>: entity " + id +
            " is not alive; check has<T>(e) first, or use find<T>(e), which returns null\n");
  CHECK(test::last_words([&] {
          (void)registry.get<Health>({});
        }).starts_with("muster: EntityRegistry::get<game.Health>: entity #0:0 is nil; "));
}

}  // namespace missing_component_test
