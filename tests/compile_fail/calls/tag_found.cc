// expect: a tag has no value: use has<T>\(e\)
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

bool asks(const muster::EntityRegistry& registry, muster::Entity e) { return registry.has<game::Frozen>(e); }
#ifdef VIOLATION
const void* reads(const muster::EntityRegistry& registry, muster::Entity e) { return registry.find<game::Frozen>(e); }
#endif
