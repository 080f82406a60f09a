// Linked with `muster` alone, from its installed headers: a registry, a handler, a push.
#include <muster/messages.h>
#include <muster/registry.h>

#include "game.h"

namespace {

void take_damage(const game::Damage& hit, game::Health& health, muster::Entity self, muster::Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}

}  // namespace

int main() {
  muster::EntityRegistry registry;
  const muster::Handlers handlers(registry.subscribe("game.take_damage", take_damage));
  const muster::Entity orc = registry.create("orc", game::Health{.value = 30});
  if (!orc || registry.path(orc) != "/orc") return 1;
  if (registry.push(orc, game::Damage{.amount = 7}).handled != 1) return 2;
  if (registry.get<game::Health>(orc).value != 23) return 3;
  registry.push(orc, game::Damage{.amount = 70});
  if (registry.alive(orc)) return 4;
  const muster::TypeDescriptor* damage = registry.types().find("game.Damage");
  return damage && damage->size == sizeof(game::Damage) ? 0 : 5;
}
