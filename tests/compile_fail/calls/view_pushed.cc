// expect: a view is read-only
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void table(muster::EntityRegistry& registry, muster::Entity e) { registry.push(e, game::Say{}); }
#ifdef VIOLATION
void view(muster::EntityRegistry& registry, muster::Entity e, game::SayView say) { registry.push(e, say); }
#endif
