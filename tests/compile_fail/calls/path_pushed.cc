// expect: a path is not an entity: pass an entity, such as registry.find_path
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Receipt found(muster::EntityRegistry& registry) {
  return registry.push(registry.find_path("/orc"), game::Damage{});
}
#ifdef VIOLATION
muster::Receipt by_path(muster::EntityRegistry& registry) { return registry.push("/orc", game::Damage{}); }
#endif
