// expect: only an entity's own components can be written
// A handler reads its ancestors' components and writes its own.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription reads(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Parent<const game::Health>) {});
}
#ifdef VIOLATION
muster::Subscription writes(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Parent<game::Health>) {});
}
#endif
