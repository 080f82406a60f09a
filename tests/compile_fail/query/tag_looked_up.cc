// expect: a tag has no value: use has\(e\) of the Lookup<const T>
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription asks(muster::EntityRegistry& registry) {
  return registry.subscribe(
      "", [](const game::Damage& hit, muster::Lookup<const game::Frozen> frozen) { (void)frozen.has(hit.from); });
}
#ifdef VIOLATION
muster::Subscription reads(muster::EntityRegistry& registry) {
  return registry.subscribe(
      "", [](const game::Damage& hit, muster::Lookup<const game::Frozen> frozen) { (void)frozen.find(hit.from); });
}
#endif
