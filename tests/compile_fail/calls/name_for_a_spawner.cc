// expect: to set a name, use create_under\(parent, name
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Entity under(muster::Spawner& spawner) { return spawner.create_under({}, "orc", game::Health{}); }
#ifdef VIOLATION
muster::Entity beside(muster::Spawner& spawner) { return spawner.create("orc", game::Health{}); }
#endif
