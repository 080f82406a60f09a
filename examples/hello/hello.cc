// The smallest world: a component, a message, a handler, a file, and a server for clients.
#include <muster/server.h>

#include <cstdio>

#include "examples/hello/game.h"  // written by schemac

namespace {

void take_damage(const game::Damage& hit, game::Health& health, muster::Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

/// Is called for the world's registry, and for others that recompute a part of the past.
muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe("game.take_damage", take_damage)};
}

}  // namespace

int main(int argc, char** argv) {
  muster::World world("level1.muster", install, {.hz = 60});  // opens or recovers
  auto& registry = world.registry();
  if (world.is_new()) {  // until the first commit
    const auto orc = registry.create("orc", game::Health{.value = 30});
    registry.push(orc, game::Damage{.amount = 7});  // handled when push returns
    world.commit();                                 // durable
    std::puts("a new world");
  }
  const auto orc = registry.find_path("/orc");
  if (orc) std::printf("%s has %g health\n", registry.path(orc).c_str(), registry.get<game::Health>(orc).value);

  muster::Server server(world, {.listen = argc > 1 ? argv[1] : "127.0.0.1:7717"});
  std::puts(server.editor_url());  // with its token
  std::fflush(stdout);
  while (const auto frame = world.next_frame())  // applies edits; empty after stop()
    registry.push(muster::Update{.dt = frame.dt});
}
