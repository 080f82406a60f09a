// expect: a handler's first parameter is its message: const M&, or M& to change it
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription by_reference(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&) {});
}
#ifdef VIOLATION
muster::Subscription by_value(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](game::Damage) {});
}
#endif
