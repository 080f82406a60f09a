// How armies and squads come to be.
#include <algorithm>
#include <cmath>
#include <string>

#include "examples/managers/collision.h"
#include "examples/skirmish/handlers.h"

namespace skirmish {

namespace {

constexpr std::uint32_t squad_units = 8;
constexpr std::uint32_t squad_entities = 1 + 2 * squad_units;
constexpr std::uint32_t towers_min = 2;  // per army
constexpr float spacing = 8;             // between squads, in metres

constexpr scene::Color color_of(Team team) {
  return team == Team::red ? scene::Color{.value = {.r = 0.6f, .g = 0.05f, .b = 0.04f}}
                           : scene::Color{.value = {.r = 0.04f, .g = 0.12f, .b = 0.6f}};
}

/// The direction from base to goal on the ground: of length 1.
scene::Vec3 direction(const scene::Vec3& base, const scene::Vec3& goal) {
  const float dx = goal.x - base.x, dz = goal.z - base.z;
  const float length = std::sqrt(dx * dx + dz * dz);
  return length > 0 ? scene::Vec3{.x = dx / length, .y = 0, .z = dz / length} : scene::Vec3{.x = 1, .y = 0, .z = 0};
}

/// Numbers fill the line from one end to the other, then the line behind it.
scene::Vec3 place_in_line(const Army& army, const scene::Vec3& middle, std::uint32_t number, bool behind) {
  const scene::Vec3 ahead = direction(army.base, army.goal);
  const std::uint32_t front = std::max(army.front, 1u), line = number / front;
  const float side = (static_cast<float>(number % front) - static_cast<float>(front - 1) / 2) * spacing;
  const float back = behind ? static_cast<float>(line) * spacing : 0;
  return {
      .x = middle.x - ahead.x * back - ahead.z * side, .y = middle.y, .z = middle.z - ahead.z * back + ahead.x * side};
}

void reinforce(const Reinforce& message, Army& army, muster::Entity self, muster::Spawner& spawner,
               muster::Outbox& out) {
  const scene::Transform at{.position = place_in_line(army, army.base, message.number, true)};
  const scene::Vec3 goal = place_in_line(army, army.goal, message.number, false);
  const std::string name = "squad-" + std::to_string(message.number);
  // The whole squad is one message; what is only its own follows as another.
  const muster::Entity made = spawner.spawn(army.team == Team::red ? "skirmish.red_squad" : "skirmish.blue_squad",
                                            {.parent = self, .name = name}, at, March{.goal = goal, .to = goal});
  if (!made) return;  // the squads are not defined
  out.post(made, Enlist{.army = self, .number = message.number});
  ++army.squads;
}

void muster_army(Team team, const Army& army, std::uint32_t squads, std::uint32_t towers, muster::Spawner& spawner,
                 muster::Outbox& out) {
  const muster::Entity made = spawner.create_under({}, team == Team::red ? "red" : "blue", army);
  const scene::Vec3 ahead = direction(army.base, army.goal);
  const float step = static_cast<float>(army.front) * spacing / static_cast<float>(towers);
  for (std::uint32_t i = 0; i < towers; ++i) {
    const float side = (static_cast<float>(i) - static_cast<float>(towers - 1) / 2) * step;
    const scene::Vec3 at{.x = army.base.x + ahead.x * spacing - ahead.z * side,
                         .y = army.base.y,
                         .z = army.base.z + ahead.z * spacing + ahead.x * side};
    spawner.create_under(
        made, "tower-" + std::to_string(i), Tower{.team = team}, Health{.value = 2000},
        scene::Transform{.position = at}, collision::Place{}, collision::Body{.group = 0, .mask = enemy_of(team)},
        scene::Shape{
            .center = {.x = 0, .y = 4, .z = 0}, .size = {.x = 3, .y = 8, .z = 3}, .kind = scene::ShapeKind::cylinder},
        color_of(team));
  }
  for (std::uint32_t number = 0; number < squads; ++number) out.post(made, Reinforce{.number = number});
}

void deploy(const Deploy& message, muster::Spawner& spawner, muster::Outbox& out) {
  // Half of the entities each: the army itself, whole squads, and towers of what is left.
  const std::uint32_t each = std::clamp(message.entities, 40u, 4'000'000u) / 2 - 1;
  const std::uint32_t squads = std::max((each - towers_min) / squad_entities, 1u);
  const std::uint32_t towers = each - squads * squad_entities;
  // About twice as wide as deep.
  std::uint32_t front = 1;
  while (front * front < 2 * squads) ++front;
  const float half = message.distance / 2;
  const float z = message.at.z + static_cast<float>(front - 1) * spacing / 2;
  const scene::Vec3 west{.x = message.at.x - half, .y = message.at.y, .z = z};
  const scene::Vec3 east{.x = message.at.x + half, .y = message.at.y, .z = z};
  muster_army(Team::red, {.base = west, .goal = east, .front = front, .team = Team::red}, squads, towers, spawner, out);
  muster_army(Team::blue, {.base = east, .goal = west, .front = front, .team = Team::blue}, squads, towers, spawner,
              out);
}

}  // namespace

void add_deploy(muster::EntityRegistry& registry, muster::Handlers& handlers) {
  handlers.add(registry.subscribe<deploy>("skirmish.deploy"));
  handlers.add(registry.subscribe<reinforce>("skirmish.reinforce"));
}

}  // namespace skirmish
