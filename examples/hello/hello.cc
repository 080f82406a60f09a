#include <muster/server.h>

#include <cstdio>

#include "game.h"  // written by schemac from game.fbs

void take_damage(const game::Damage& hit, game::Health& health, muster::Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}
muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe("game.take_damage", take_damage)};
}
int main() {
  muster::World world("level1.muster", install, {.hz = 60, .stop_on_signals = true});  // recovers
  auto& registry = world.registry();
  if (world.is_new()) {
    const auto orc = registry.create("orc", game::Health{.value = 30});
    registry.push(orc, game::Damage{.amount = 7});  // handled when push returns
    world.save();                                   // durable
  }
  muster::Server server(world, {.listen = "127.0.0.1:7717"});  // remote tools come in here
  std::fprintf(stderr, "%s\n", server.editor_url());           // with its token
  while (const auto frame = world.next_frame())                // empty after Ctrl-C or SIGTERM
    registry.push(muster::Update{.dt = frame.dt});
}
