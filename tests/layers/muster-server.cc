// Linked with `muster-server`, from its installed headers: a world is served and the door closed again.
#include <muster/server.h>

#include <cstdio>

#include "game.h"

int main() {
  std::remove("served.muster");
  muster::World world("served.muster",
                      [](muster::EntityRegistry& registry) {
                        return muster::Handlers(registry.subscribe(
                            "hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }));
                      },
                      {.durability = muster::Durability::checkpoint});  // no file is made
  world.registry().create("orc", game::Health{.value = 30}).or_stop();
  muster::Server server(world, {.listen = "127.0.0.1:0"});
  if (server.address().empty() || server.token().empty()) return 1;
  world.stop();
  if (world.next_frame()) return 2;
  server.stop();
  return 0;
}
