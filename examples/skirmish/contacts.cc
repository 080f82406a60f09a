// Finds contacts: squads and towers are bodies of the grid, and collisions report those within
// reach.
#include <algorithm>
#include <limits>

#include "examples/managers/collision.h"
#include "examples/skirmish/handlers.h"

namespace skirmish {

namespace {

constexpr float look_every = 0.25f;  // seconds
/// All bodies are in one plane, half-way up a cell of the grid.
constexpr float plane = 8;

/// One army looks for all.
void look_for_contacts(const muster::Update& update, Army& army, muster::Outbox& out) {
  if (army.team != Team::red) return;
  army.look_in -= update.dt;
  if (army.look_in > 0) return;
  army.look_in = look_every;
  out.post(collision::FindContacts{});
}

// Two squads touch if their distance is at most the mean of their reaches. A squad touches a tower
// if it is within the tower's range. So a squad's sphere has half its reach, and a tower's has its
// range without that of a usual squad.
void place_squad(const collision::FindContacts&, Squad& squad, const scene::Transform& transform,
                 collision::Place& place, collision::Body& body) {
  place.at = {.x = transform.position.x, .y = plane, .z = transform.position.z};
  body.radius = squad.reach / 2;
  squad.contact = {};
}

void place_tower(const collision::FindContacts&, Tower& tower, const scene::Transform& transform,
                 collision::Place& place, collision::Body& body) {
  place.at = {.x = transform.position.x, .y = plane, .z = transform.position.z};
  body.radius = std::max(tower.range - Squad{}.reach / 2, 0.0f);
  tower.aim = {};
}

/// Whom it shoots at already comes first, then the nearest; of two equally near the one with the
/// smaller id, which is told of first.
void meet(const collision::Collision& contact, Squad& squad) {
  const float depth = contact.other == squad.target ? std::numeric_limits<float>::max() : contact.depth;
  if (squad.contact && depth <= squad.contact_depth) return;
  squad.contact = contact.other;
  squad.contact_depth = depth;
}

void aim_at(const collision::Collision& contact, Tower& tower) {
  if (tower.aim && contact.depth <= tower.aim_depth) return;
  tower.aim = contact.other;
  tower.aim_depth = contact.depth;
}

}  // namespace

void add_contacts(muster::EntityRegistry& registry, muster::Handlers& handlers) {
  handlers.add(registry.subscribe<look_for_contacts>("skirmish.look_for_contacts"));
  handlers.add(registry.subscribe<place_squad>("skirmish.place_squad", {.before = {"grid.bodies"}}));
  handlers.add(registry.subscribe<place_tower>("skirmish.place_tower", {.before = {"grid.bodies"}}));
  handlers.add(registry.subscribe<meet>("skirmish.meet"));
  handlers.add(registry.subscribe<aim_at>("skirmish.aim_at"));
}

}  // namespace skirmish
