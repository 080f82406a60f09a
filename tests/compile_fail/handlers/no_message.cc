// expect: the first is its message|a handler's first parameter is its message
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription message(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&) {});
}
#ifdef VIOLATION
muster::Subscription nothing(muster::EntityRegistry& registry) {
  return registry.subscribe("", [] {});
}
#endif
