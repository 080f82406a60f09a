// expect: a handler that creates entities takes a Spawner& besides its Outbox&
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Entity spawned(muster::Spawner& spawner) { return spawner.create(game::Health{}); }
#ifdef VIOLATION
muster::Entity sent(muster::Outbox& out) { return out.create_under({}, "orc", game::Health{}); }
#endif
