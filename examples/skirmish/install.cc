#include <stdexcept>

#include "examples/managers/grid.h"
#include "examples/managers/meshes.h"
#include "examples/skirmish/handlers.h"
#include "examples/skirmish/skirmish.h"
#include "examples/skirmish/squads_json.h"

namespace skirmish {

namespace {

constexpr float cell_m = 16;
constexpr std::uint32_t contacts_max = 64;  // of a squad or a tower: the nearest is what they ask for

}  // namespace

muster::Handlers install(muster::EntityRegistry& registry) {
  // guide: keeping
  muster::Handlers handlers;
  handlers.keep(std::make_shared<managers::Grid>(registry, cell_m, contacts_max));
  managers::Meshes& meshes = handlers.keep(std::make_shared<managers::Meshes>(registry));  // go after the last handler
  handlers.add(registry.subscribe("skirmish.collect_meshes", [&meshes](const muster::Update&) { meshes.collect(32); },
                                  {.external_writes = {"meshes"}}));
  // guide: end
  const auto field = std::make_shared<Field>();
  add_deploy(registry, handlers);
  add_squads(registry, handlers, field);
  add_contacts(registry, handlers);
  add_fire(registry, handlers);
  add_losses(registry, handlers);
  return handlers;
}

void define_squads(muster::EntityRegistry& registry) {
  const auto defined = muster::define_templates(registry, squads_json, "examples/skirmish/squads.json");
  if (!defined) throw std::runtime_error(defined.error().text());
}

}  // namespace skirmish
