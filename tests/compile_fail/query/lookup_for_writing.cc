// expect: Lookup is read-only: take Lookup<const T>
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription reads(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Lookup<const game::Health>) {});
}
#ifdef VIOLATION
muster::Subscription writes(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Lookup<game::Health>) {});
}
#endif
