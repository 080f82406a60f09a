// How weapons and towers shoot.
#include "examples/skirmish/handlers.h"

namespace skirmish {

namespace {

/// Half to one and a half, the same for the same shooter and shot everywhere: the demo draws no
/// random numbers.
float luck(muster::Entity shooter, std::uint32_t shot) {
  std::uint32_t mixed = shooter.index * 0x9e3779b1u ^ shooter.generation * 0x85ebca6bu ^ shot * 0xc2b2ae35u;
  mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
  return 0.5f + static_cast<float>(mixed >> 22) / 1023.0f;
}

/// The first of the squad's members that stands, from `start` on; nil if none.
muster::Entity member_from(const Squad& squad, std::uint32_t start) {
  const auto places = static_cast<std::uint32_t>(squad.members.size());
  for (std::uint32_t i = 0; i < places; ++i)
    if (const muster::Entity member = squad.members[(start + i) % places]) return member;
  return {};
}

void shoot(const muster::Update& update, Weapon& weapon, muster::Lookup<const Squad> squads, muster::Entity self,
           muster::Outbox& out) {
  if (weapon.ready_in > 0) {
    weapon.ready_in -= update.dt;
    return;
  }
  if (!weapon.foe) return;
  const Squad* foe = squads.find(weapon.foe);
  const muster::Entity target = foe ? member_from(*foe, self.index / 2 + weapon.shots) : muster::Entity{};
  if (!target) {
    weapon.foe = {};
    return;
  }
  ++weapon.shots;
  weapon.ready_in += weapon.reload;
  out.post(target, Damage{.amount = weapon.damage * luck(self, weapon.shots), .from = self});
}

void watch_from_tower(const muster::Update& update, Tower& tower, muster::Lookup<const Squad> squads,
                      muster::Entity self, muster::Outbox& out) {
  tower.ready_in -= update.dt;
  if (tower.ready_in > 0) return;
  const Squad* squad = squads.find(tower.aim);
  const muster::Entity target = squad ? member_from(*squad, tower.shots) : muster::Entity{};
  if (!target) {
    tower.ready_in = 0.25f;  // looks again soon
    return;
  }
  ++tower.shots;
  tower.ready_in += tower.reload;
  out.post(target, Damage{.amount = tower.damage * luck(self, tower.shots), .from = self});
}

void engage(const Engage& order, Weapon& weapon) { weapon.foe = order.foe; }

void move_tower(const MoveTower& order, const Tower&, scene::Transform& transform) { transform.position = order.to; }

}  // namespace

void add_fire(muster::EntityRegistry& registry, muster::Handlers& handlers) {
  handlers.add(registry.subscribe<shoot>("skirmish.shoot", {.after = {"skirmish.march"}}));
  handlers.add(registry.subscribe<watch_from_tower>("skirmish.watch_from_tower", {.after = {"skirmish.choose_foe"}}));
  handlers.add(registry.subscribe<engage>("skirmish.engage"));
  handlers.add(registry.subscribe<move_tower>("skirmish.move_tower"));
}

}  // namespace skirmish
