#include "messages/batch.h"
#include "registry.h"
#include "registry/entity_registry.h"
#include "schema/muster.h"
#include "schema/table.h"
#include "world.h"

#include "rules.h"

namespace game {
namespace {

void take_hit(const Hit& hit, Creep& creep, muster::Entity self, muster::Outbox& out) {
  // A product and a sum: with contracted arithmetic the hash is another.
  creep.health.value -= hit.amount * 1.1f;
  creep.at.x += creep.at.y * 0.1f;
  if (creep.health.value <= 0) out.destroy(self);
}

}  // namespace

muster::Handlers install(muster::EntityRegistry& registry) { return {registry.subscribe("game.take_hit", take_hit)}; }

}  // namespace game
