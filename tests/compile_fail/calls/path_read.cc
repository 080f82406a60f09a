// expect: a path is not an entity: pass an entity, such as registry.find_path
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

float found(muster::EntityRegistry& registry) { return registry.get<game::Health>(registry.find_path("/orc")).value; }
#ifdef VIOLATION
bool by_path(muster::EntityRegistry& registry, const std::string& path) { return registry.has<game::Health>(path); }
#endif
