// How squads find each other and move.
#include <cmath>

#include "examples/skirmish/handlers.h"

namespace skirmish {

namespace {

constexpr float look_every = 0.25f;  // seconds

/// How many times as fast as they say all squads march; another build is a plugin to try a reload
/// with.
constexpr float haste = SKIRMISH_HASTE;

/// The rotation about the upright axis that turns -Z to the direction (dx, dz) of length 1. No
/// trigonometry: square roots are the same on every machine.
scene::Quat facing(float dx, float dz) {
  return {.x = 0, .y = std::copysign(std::sqrt((1 + dz) / 2), -dx), .z = 0, .w = std::sqrt((1 - dz) / 2)};
}

void choose_foe(const Field& field, const muster::Update& update, Squad& squad, March& march,
                const scene::Transform& transform, muster::Lookup<const scene::Transform> places, muster::Entity self,
                muster::Outbox& out) {
  // A squad in contact shoots; a marching squad looks for the nearest enemy now and then.
  const scene::Transform* foe = places.find(squad.contact);
  march.halt = foe != nullptr;
  if (foe) {
    squad.foe = squad.contact;
  } else {
    foe = places.find(squad.foe);
    squad.look_in -= update.dt;
    if (!(squad.look_in > 0) || (squad.foe && !foe)) {
      squad.look_in = look_every;
      squad.foe = field.nearest_enemy(squad.team, transform.position, squad.sight);
      foe = places.find(squad.foe);
    }
  }
  march.to = foe ? foe->position : march.goal;
  const muster::Entity target = march.halt ? squad.foe : muster::Entity{};
  if (target == squad.target) return;
  squad.target = target;
  out.post_subtree(self, muster::subtree_descendants, Engage{.foe = target});
}

void march(const muster::Update& update, const March& march, scene::Transform& transform) {
  const float dx = march.to.x - transform.position.x, dz = march.to.z - transform.position.z;
  const float distance = std::sqrt(dx * dx + dz * dz);
  if (!(distance > 0.01f)) return;
  transform.rotation = facing(dx / distance, dz / distance);
  if (march.halt) return;
  const float step = march.speed * haste * update.dt;
  const float part = step < distance ? step / distance : 1;
  transform.position.x += dx * part;
  transform.position.z += dz * part;
  transform.position.y += (march.to.y - transform.position.y) * part;
}

void march_army(const MarchTo& order, Army& army, muster::Entity self, muster::Outbox& out) {
  army.goal = order.to;
  out.post_subtree(self, muster::subtree_descendants, order);
}

void march_squad(const MarchTo& order, March& march) { march.goal = order.to; }

void enlist(const Enlist& order, Squad& squad) {
  squad.army = order.army;
  squad.number = order.number;
  // Not all look for enemies in the same tick.
  squad.look_in = static_cast<float>(order.number % 16) / 64;
}

}  // namespace

void add_squads(muster::EntityRegistry& registry, muster::Handlers& handlers, const std::shared_ptr<Field>& field) {
  handlers.add(
      registry.subscribe("skirmish.gather",
                         [field](const muster::Update&, const Squad& squad, const scene::Transform& transform,
                                 muster::Entity self) { field->add(squad.team, self, transform.position); },
                         {.on_begin = [field] { return field->clear(), true; }, .external_writes = {field_resource}}));
  handlers.add(registry.subscribe(
      "skirmish.choose_foe",
      [field](const muster::Update& update, Squad& squad, March& march, const scene::Transform& transform,
              muster::Lookup<const scene::Transform> places, muster::Entity self,
              muster::Outbox& out) { choose_foe(*field, update, squad, march, transform, places, self, out); },
      {.after = {"skirmish.gather"},
       .on_begin = [field] { return field->sort(), true; },
       .external_reads = {field_resource}}));
  handlers.add(registry.subscribe<march>("skirmish.march", {.after = {"skirmish.choose_foe"}}));
  handlers.add(registry.subscribe<march_army>("skirmish.march_army"));
  handlers.add(registry.subscribe<march_squad>("skirmish.march_squad"));
  handlers.add(registry.subscribe<enlist>("skirmish.enlist"));
}

}  // namespace skirmish
