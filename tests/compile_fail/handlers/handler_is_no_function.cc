// expect: a handler is a function, a lambda, or an object and one of its member functions
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

muster::Subscription function(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&) {});
}
#ifdef VIOLATION
muster::Subscription generic(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const auto&) {});
}
#endif
