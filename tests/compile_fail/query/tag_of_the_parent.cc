// expect: a tag has no value to read from elsewhere: use With<T>, WithoutParent<T>, or has\(e\) of a Lookup<const T>
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription filter(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::WithoutParent<game::Frozen>) {});
}
#ifdef VIOLATION
muster::Subscription value(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, muster::Parent<const game::Frozen>) {});
}
#endif
