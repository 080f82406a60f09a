// expect: a component is a struct marked \(component\) in a schema
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

struct Mana {
  int points = 0;
};
muster::Entity declared(muster::EntityRegistry& registry) { return registry.create(game::Health{}); }
#ifdef VIOLATION
muster::Entity undeclared(muster::EntityRegistry& registry) { return registry.create(game::Health{}, Mana{5}); }
#endif
