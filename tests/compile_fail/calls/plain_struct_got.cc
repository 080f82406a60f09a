// expect: a component is a struct marked \(component\) in a schema
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

struct Mana {
  int points = 0;
};
float declared(muster::EntityRegistry& registry, muster::Entity e) { return registry.get<game::Health>(e).value; }
#ifdef VIOLATION
int undeclared(muster::EntityRegistry& registry, muster::Entity e) { return registry.get<Mana>(e).points; }
#endif
