// expect: the handler's name comes first: subscribe
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription named(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&) {});
}
#ifdef VIOLATION
muster::Subscription unnamed(muster::EntityRegistry& registry) {
  return registry.subscribe([](const game::Damage&) {});
}
#endif
