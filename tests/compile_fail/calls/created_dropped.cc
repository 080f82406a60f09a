// expect: the registry may have refused
// Ignoring the result of a creation loses a refusal.
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

void kept(muster::EntityRegistry& registry) {
  const muster::Entity orc = registry.create("orc", game::Health{});
  registry.push(registry.create("elf", game::Health{}), game::Damage{});
  if (!registry.create_under(orc, "sword")) return;
  registry.spawn("squad").or_stop();
  registry.create(game::Health{});
}
#ifdef VIOLATION
#pragma GCC diagnostic error "-Wunused-result"
void dropped(muster::EntityRegistry& registry) { registry.create("orc", game::Health{}); }
#endif
