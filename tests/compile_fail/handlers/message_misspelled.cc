// expect: unknown type name 'Damgae'|'Damgae' (has not been declared|does not name a type)
// The compiler's own error is enough.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void hit(const game::Damage&, game::Health&) {}
muster::Subscription right(muster::EntityRegistry& registry) { return registry.subscribe("game.hit", hit); }
#ifdef VIOLATION
void wrong_hit(const Damgae&, game::Health&) {}
muster::Subscription wrong(muster::EntityRegistry& registry) { return registry.subscribe("game.hit", wrong_hit); }
#endif
