// expect: destroying the Subscription ends the handler
// A subscription that nobody keeps ends at once.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription kept(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&) {});
}
#ifdef VIOLATION
#pragma GCC diagnostic error "-Wunused-result"
void dropped(muster::EntityRegistry& registry) {
  registry.subscribe("", [](const game::Damage&) {});
}
#endif
