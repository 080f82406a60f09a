// Linked with `muster-world`, from its installed headers: a world is made, saved, and opened again.
#include <muster/world.h>

#include <cstdio>

#include "game.h"

namespace {

void take_damage(const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }

muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe("game.take_damage", take_damage)};
}

}  // namespace

int main() {
  const char* const path = "layers.muster";
  std::remove(path);
  muster::Entity orc;
  {
    muster::World world(path, install);
    if (!world.is_new()) return 1;
    orc = world.registry().create("orc", game::Health{.value = 30});
    world.registry().push(orc, game::Damage{.amount = 7});
    world.save();
  }
  muster::World world(path, install);
  if (world.is_new() || world.registry().find_path("/orc") != orc) return 2;
  if (world.registry().push(orc, game::Damage{.amount = 3}).handled != 1) return 3;
  return world.registry().get<game::Health>(orc).value == 20 ? 0 : 4;
}
