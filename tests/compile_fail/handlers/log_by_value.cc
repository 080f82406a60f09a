// expect: a handler takes its log by reference: write Log&
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription by_reference(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Log&) {});
}
#ifdef VIOLATION
muster::Subscription by_pointer(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Log*) {});
}
#endif
