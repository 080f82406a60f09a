// expect: this is a message, not a component: push it
// Only components are set.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void component(muster::EntityRegistry& registry, muster::Entity e) { registry.set(e, game::Health{}); }
#ifdef VIOLATION
void message(muster::EntityRegistry& registry, muster::Entity e) { registry.set(e, game::Damage{}); }
#endif
