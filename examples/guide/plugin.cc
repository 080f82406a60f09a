// guide: plugin
#include <muster/plugin.h>

#include "examples/guide/guide_types.h"  // written by schemac

namespace {

void take_damage(const guide::Damage& hit, guide::Health& health, muster::Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

/// For every registry that runs the game.
muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe<take_damage>("guide.take_damage")};
}

/// Fills a new world, once.
void begin(muster::EntityRegistry& registry) { registry.create("orc", guide::Health{.value = 30}).or_stop(); }

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<install, begin>("orcs", "orcs 1");
  return &plugin;
}
// guide: end
