#include "examples/skirmish/handlers.h"
#include "examples/skirmish/skirmish.h"

namespace skirmish {

muster::Handlers install(muster::EntityRegistry& registry) {
  muster::Handlers handlers;
  const auto field = std::make_shared<Field>();
  add_deploy(registry, handlers);
  add_squads(registry, handlers, field);
  add_fire(registry, handlers, field);
  add_losses(registry, handlers);
  return handlers;
}

}  // namespace skirmish
