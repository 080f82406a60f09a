// Compiled as a plugin: the registry that it speaks to is the server's.
#include <muster/plugin.h>

#include "game.h"

namespace {

void take_damage(const game::Damage& hit, game::Health& health, muster::Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe<take_damage>("game.take_damage")};
}
void begin(muster::EntityRegistry& registry) { registry.create("orc", game::Health{.value = 30}).or_stop(); }

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<install, begin>("orcs", "orcs 1");
  return &plugin;
}
