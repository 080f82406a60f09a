// A registry alone: no file, no socket. Somebody else's loop, or none, drives it: no push, no call.
#include <muster/registry.h>

#include <cstdio>

#include "examples/hello_registry/game.h"  // written by schemac

namespace {

void take_damage(const game::Damage& hit, game::Health& health, muster::Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe("game.take_damage", take_damage)};
}

}  // namespace

int main() {
  muster::EntityRegistry registry;
  const muster::Handlers handlers = install(registry);
  const muster::Entity orc = registry.create("orc", game::Health{.value = 30});
  registry.push(orc, game::Damage{.amount = 7});  // handled when push returns
  std::printf("%s has %g health\n", registry.path(orc).c_str(), registry.get<game::Health>(orc).value);
  registry.push(orc, game::Damage{.amount = 23});
  std::printf("the orc is %s\n", registry.alive(orc) ? "alive" : "dead");
}
