// expect: a handler's first parameter is its message
// The first parameter of a handler must be a message.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription message_first(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription component_first(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Health&, const game::Damage&) {});
}
#endif
