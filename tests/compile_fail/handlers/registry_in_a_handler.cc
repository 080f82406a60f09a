// expect: a handler cannot use the registry: take an Outbox&
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription outbox(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Outbox&) {});
}
#ifdef VIOLATION
muster::Subscription itself(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::EntityRegistry&) {});
}
#endif
