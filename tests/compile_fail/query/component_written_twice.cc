// expect: a handler takes this component twice, once for writing
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription once(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription twice(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&, game::Health*) {});
}
#endif
