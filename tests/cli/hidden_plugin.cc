// A game with a handler whose result depends on how often it was called, and one that writes to the
// game's log.
#include <muster/plugin.h>

#include <string>

#include "tests/cli/game.h"

namespace {

muster::Handlers install(muster::EntityRegistry& registry) {
  return {registry.subscribe("game.tire",
                             [](const muster::Update&, game::Health& health) {
                               static float calls = 0;
                               health.value = 100 - ++calls / 1024;
                             }),
          registry.subscribe("game.hurt",
                             [](const game::Damage& hit, game::Health&, muster::Entity self, muster::Log& log) {
                               const std::string text = "a hit of " + std::to_string(static_cast<int>(hit.amount));
                               log.write(hit.amount > 10 ? muster::LogLevel::error : muster::LogLevel::info, text,
                                         self);
                             }),
          registry.subscribe("game.hurry", [](const muster::Update& now, game::Unit& unit) { unit.speed += now.dt; })};
}
void begin(muster::EntityRegistry& registry) {
  registry.create("orc", game::Health{.value = 30}, game::Unit{}).or_stop();
}

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<install, begin>("hidden", "hidden 1");
  return &plugin;
}
