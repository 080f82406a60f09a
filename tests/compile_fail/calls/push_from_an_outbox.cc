// expect: a handler cannot run inside another: call out.post
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void posted(muster::Outbox& out, muster::Entity orc) { out.post(orc, game::Damage{}); }
#ifdef VIOLATION
void pushed(muster::Outbox& out, muster::Entity orc) { out.push(orc, game::Damage{}); }
#endif
