// expect: a path is not an entity: pass an entity, such as registry.find_path
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void known(muster::Outbox& out, muster::Entity orc) { out.post(orc, game::Damage{}); }
#ifdef VIOLATION
void by_path(muster::Outbox& out, std::string_view path) { out.post(path, game::Damage{}); }
#endif
