// A plugin that writes a line to the game's log for each entity that is moved.
#include <muster/plugin.h>

#include <string>

#include "schema/scene.h"

namespace {

void moved(const muster::Changed<scene::Transform>&, const scene::Transform& at, muster::Entity self,
           muster::Log& log) {
  const std::string x = std::to_string(static_cast<int>(at.position.x));
  if (at.position.x < 0) return log.error("fell off at " + x, self);
  if (at.position.x > 10) return log.warning("left the yard at " + x, self);
  log.info("moved to " + x, self);
}
muster::Handlers install(muster::EntityRegistry& registry) { return {registry.subscribe("yard.moved", moved)}; }

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<install>("yard", "1");
  return &plugin;
}
