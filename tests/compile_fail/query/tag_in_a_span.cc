// expect: a tag has no value: use With<T> or Without<T>
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription filter(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::With<game::Frozen>) {});
}
#ifdef VIOLATION
muster::Subscription value(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, std::span<const game::Frozen>) {});
}
#endif
