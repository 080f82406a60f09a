// expect: take values as const T&; to write, use registry.set\(e, T\{\.\.\.\}\)
// Outside handlers the world is read.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void reads(muster::EntityRegistry& registry) {
  registry.each<game::Health>([](const game::Health&) {});
}
#ifdef VIOLATION
void writes(muster::EntityRegistry& registry) {
  registry.each<game::Health>([](game::Health& health) { health.value = 1; });
}
#endif
