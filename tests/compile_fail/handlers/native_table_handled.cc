// expect: a handler reads a message table in place: take its view, const TView&
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription view(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::SayView&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription table(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Say&, game::Health&) {});
}
#endif
