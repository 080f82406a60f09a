// expect: a path is not an entity: pass an entity, such as registry.find_path
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void found(muster::EntityRegistry& registry) { registry.set(registry.find_path("/orc"), game::Health{}); }
#ifdef VIOLATION
void by_path(muster::EntityRegistry& registry) { registry.set("/orc", game::Health{}); }
#endif
