// expect: a component is set, not pushed: use registry.set\(e, T{...}\)
// Only messages are pushed.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void message(muster::EntityRegistry& registry, muster::Entity e) { registry.push(e, game::Damage{}); }
#ifdef VIOLATION
void component(muster::EntityRegistry& registry, muster::Entity e) { registry.push(e, game::Health{}); }
#endif
