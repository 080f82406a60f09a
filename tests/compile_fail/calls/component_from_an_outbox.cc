// expect: a component is set, not pushed
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void set(muster::Outbox& out, muster::Entity e) { out.set(e, game::Health{}); }
#ifdef VIOLATION
void push(muster::Outbox& out, muster::Entity e) { out.post(e, game::Health{}); }
#endif
