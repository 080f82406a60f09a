// expect: a handler takes its outbox by reference: write Outbox&
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription by_reference(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Outbox&) {});
}
#ifdef VIOLATION
muster::Subscription by_pointer(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Outbox*) {});
}
#endif
