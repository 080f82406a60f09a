// expect: a tag has no value to pass: leave it out and use has<T>\(e\)
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void asks(const muster::EntityRegistry& registry) {
  registry.each<const game::Health>(
      [&](muster::Entity e, const game::Health&) { (void)registry.has<game::Frozen>(e); });
}
#ifdef VIOLATION
void reads(const muster::EntityRegistry& registry) {
  registry.each<const game::Frozen>([](muster::Entity, const game::Frozen&) {});
}
#endif
