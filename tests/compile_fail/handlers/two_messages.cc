// expect: a handler takes one message, as its first parameter
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription one(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription two(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, const game::Heal&, game::Health&) {});
}
#endif
