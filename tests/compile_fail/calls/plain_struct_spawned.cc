// expect: a component is a struct marked \(component\) in a schema
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

struct Mana {
  int points = 0;
};
muster::Entity declared(muster::Spawner& spawner) { return spawner.create_under({}, "orc", game::Health{}); }
#ifdef VIOLATION
muster::Entity undeclared(muster::Spawner& spawner) { return spawner.create_under({}, "orc", Mana{5}); }
#endif
