// expect: an id is not a component: take Entity, and call registry.parent\(self\)
// The parent's id comes from the registry, which a handler's captures may refer to.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription asks(muster::EntityRegistry& registry) {
  return registry.subscribe("", [&](const game::Damage& hit, muster::Entity self, muster::Outbox& out) {
    out.post(registry.parent(self), hit);
  });
}
#ifdef VIOLATION
muster::Subscription takes(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Parent<muster::Entity>) {});
}
#endif
