// expect: a handler takes this by value
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription by_value(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Lookup<const game::Health>) {});
}
#ifdef VIOLATION
muster::Subscription by_reference(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, const muster::Lookup<const game::Health>&) {});
}
#endif
