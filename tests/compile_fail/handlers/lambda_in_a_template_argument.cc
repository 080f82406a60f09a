// expect: a template argument of subscribe must be a function; pass anything else as an argument
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription argument(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription template_argument(muster::EntityRegistry& registry) {
  return registry.subscribe<[](const game::Damage&, game::Health&) {}>("");
}
#endif
