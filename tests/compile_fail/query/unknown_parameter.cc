// expect: a handler takes its message first, then components
// A parameter that the query language does not know.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription known(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Entity) {});
}
#ifdef VIOLATION
muster::Subscription unknown(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, float) {});
}
#endif
