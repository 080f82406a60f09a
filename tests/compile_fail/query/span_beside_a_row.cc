// expect: a handler with a span is called once for many rows
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription spans(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, std::span<game::Health>, std::span<const muster::Entity>) {});
}
#ifdef VIOLATION
muster::Subscription both(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, std::span<game::Health>, muster::Entity) {});
}
#endif
