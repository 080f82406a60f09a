// expect: unknown type name 'Heatlh'|'Heatlh' (has not been declared|does not name a type)
// The compiler's own error is enough.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription right(muster::EntityRegistry& registry) {
  return registry.subscribe("game.hit", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription wrong(muster::EntityRegistry& registry) {
  return registry.subscribe("game.hit", [](const game::Damage&, Heatlh&) {});
}
#endif
