// expect: a component is a struct marked \(component\) in a schema
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

struct Mana {
  int points = 0;
};
muster::Subscription declared(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription undeclared(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, Mana&) {});
}
#endif
