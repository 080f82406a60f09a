// expect: a handler takes a component as T& \(to write\)
// What handlers subscribe is judged as what is subscribed from outside.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription by_reference(muster::Outbox& out) {
  return out.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription by_value(muster::Outbox& out) {
  return out.subscribe("", [](const game::Damage&, game::Health) {});
}
#endif
