// expect: each\(\) needs the component types: each<const A, const B>
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void named(muster::EntityRegistry& registry) {
  registry.each<game::Health>([](muster::Entity, const game::Health&) {});
}
#ifdef VIOLATION
void unnamed(muster::EntityRegistry& registry) {
  registry.each([](muster::Entity, const game::Health&) {});
}
#endif
