// expect: a tag has no value: use With<T> or Without<T>
// A tag has no bytes in a row.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription filter(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::With<game::Frozen>) {});
}
#ifdef VIOLATION
muster::Subscription value(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, const game::Frozen&) {});
}
#endif
