// expect: to set a parent, use create_under\(parent, name
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Entity under(muster::EntityRegistry& registry, muster::Entity parent) {
  return registry.create_under(parent, "orc", game::Health{});
}
#ifdef VIOLATION
muster::Entity beside(muster::EntityRegistry& registry, muster::Entity parent) {
  return registry.create("orc", parent, game::Health{});
}
#endif
