// The skirmish as a plugin of muster-server.
#include <muster/plugin.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "examples/skirmish/skirmish.h"
#include "schema/skirmish.h"

namespace {

/// A new world gets its armies at once. SKIRMISH_ENTITIES is their number of entities: 2000 by
/// default, none for 0.
void begin(muster::EntityRegistry& registry) {
  skirmish::define_squads(registry);
  skirmish::Deploy deploy;
  if (const char* entities = std::getenv("SKIRMISH_ENTITIES")) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(entities, &end, 10);
    if (end == entities || *end != '\0' || number > 4'000'000)
      throw std::invalid_argument(std::string("SKIRMISH_ENTITIES is \"") + entities +
                                  "\", which is not a number of entities up to 4000000");
    if (number == 0) return;
    deploy.entities = static_cast<std::uint32_t>(number);
  }
  registry.push(deploy);
}

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<skirmish::install, begin>("skirmish", SKIRMISH_BUILD);
  return &plugin;
}
