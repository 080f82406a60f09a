// expect: a handler takes a component as T& \(to write\)
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void play(const game::Damage&, const game::Health&);
void copy(const game::Damage&, game::Health);
muster::Subscription by_reference(muster::EntityRegistry& registry) { return registry.subscribe<play>("play"); }
#ifdef VIOLATION
muster::Subscription by_value(muster::EntityRegistry& registry) { return registry.subscribe<copy>("copy"); }
#endif
