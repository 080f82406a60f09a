// expect: first parameter is its message, a struct or table marked \(message\) in a schema
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

struct Hit {
  int points = 0;
};
muster::Subscription declared(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const game::Damage&, game::Health&) {});
}
#ifdef VIOLATION
muster::Subscription undeclared(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const Hit&, game::Health&) {});
}
#endif
