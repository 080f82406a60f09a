// expect: a handler must return void or muster::Verdict
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription verdict(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&) { return muster::Verdict::proceed; });
}
#ifdef VIOLATION
muster::Subscription number(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&) { return 1; });
}
#endif
