// expect: a message is a struct or table marked \(message\) in a schema
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

struct Hit {
  int points = 0;
};
void declared(muster::EntityRegistry& registry, muster::Entity e) { registry.push(e, game::Damage{}); }
#ifdef VIOLATION
void undeclared(muster::EntityRegistry& registry, muster::Entity e) { registry.push(e, Hit{5}); }
#endif
