// expect: give anything else as an argument|handler_without_captures
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription argument(muster::EntityRegistry& registry, float by) {
  return registry.subscribe("", [by](const game::Damage&, game::Health& health) { health.value -= by; });
}
#ifdef VIOLATION
muster::Subscription template_argument(muster::EntityRegistry& registry, float by) {
  return registry.subscribe<[by](const game::Damage&, game::Health& health) { health.value -= by; }>("");
}
#endif
