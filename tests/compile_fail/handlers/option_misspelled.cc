// expect: options: \{\.priority = 1, \.before = \{"name"\}, \.after = \{"name"\}
// at most 60 lines: GCC lists every overload, and none can take options that do not exist.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void hit(const game::Damage&, game::Health&) {}
muster::Subscription right(muster::EntityRegistry& registry) {
  return registry.subscribe("game.hit", hit, {.after = {"game.armor"}});
}
#ifdef VIOLATION
muster::Subscription wrong(muster::EntityRegistry& registry) {
  return registry.subscribe("game.hit", hit, {.afer = {"game.armor"}});
}
#endif
