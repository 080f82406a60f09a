// expect: understood<const game::Health ?&>|T = const game::Health&
// Two references to one value, one of them for writing, would let a handler's parameters change under its hands.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription different(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&, const game::Armor&) {});
}
#ifdef VIOLATION
muster::Subscription same(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&, const game::Health&) {});
}
#endif
