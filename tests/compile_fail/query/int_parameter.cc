// expect: an int is not a component: a handler takes its message first
// in code: a compiler takes a type that it does not know for int, and has reported it then.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription known(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Entity) {});
}
#ifdef VIOLATION
muster::Subscription unknown(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, int) {});
}
#endif
