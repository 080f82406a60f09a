// expect: to write, use registry.set\(e, T{...}\)|read-only object
// Outside handlers the world is read; it changes by messages.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

float reads(muster::EntityRegistry& registry, muster::Entity e) { return registry.get<game::Health>(e).value; }
#ifdef VIOLATION
void writes(muster::EntityRegistry& registry, muster::Entity e) { registry.get<game::Health>(e).value = 1; }
#endif
