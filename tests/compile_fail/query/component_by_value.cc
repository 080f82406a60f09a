// expect: a handler takes a component as T& \(to write\), const T& \(to read\)
// A copy of a component would look like a write that is lost.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription by_reference(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription by_value(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health) {});
}
#endif
