// Handlers of a pass as users write them, one row at a time, each beside the plain loop that does the same. run.py looks at
// the machine code of both: limit_NAME, and the registry's own loop around cases::NAME.
#include <span>

#include "registry/entity_registry.h"
#include "tests/vectorised/rows.h"

using namespace muster;

namespace cases {

void one_column(const Update& update, Health& health) { health.value *= update.dt; }
extern "C" void limit_one_column(Health* __restrict health, float dt, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) health[i].value *= dt;
}

void two_columns(const Update& update, Health& health, const Armor& armor) { health.value += armor.factor * update.dt; }
extern "C" void limit_two_columns(Health* __restrict health, const Armor* __restrict armor, float dt,
                                  std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) health[i].value += armor[i].factor * dt;
}

void unequal_rows(const Update& update, Place& place, const Speed& speed) {
  place.x += speed.x * update.dt;
  place.y += speed.y * update.dt;
}
extern "C" void limit_unequal_rows(Place* __restrict place, const Speed* __restrict speed, float dt,
                                   std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    place[i].x += speed[i].x * dt;
    place[i].y += speed[i].y * dt;
  }
}

void two_written(const Update& update, Health& health, Armor& armor) {
  health.value += armor.factor * update.dt;
  armor.factor *= update.dt;
}
extern "C" void limit_two_written(Health* __restrict health, Armor* __restrict armor, float dt, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    health[i].value += armor[i].factor * dt;
    armor[i].factor *= dt;
  }
}

void optional(const Update& update, Health& health, const Armor* armor) {
  if (armor) health.value += armor->factor * update.dt;
}
extern "C" void limit_optional(Health* __restrict health, const Armor* __restrict armor, float dt,
                               std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    if (armor) health[i].value += armor[i].factor * dt;
}

void entity(const Update&, Count& count, Entity self) { count.hits += self.index; }
extern "C" void limit_entity(Count* __restrict counts, const Entity* __restrict ids, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) counts[i].hits += ids[i].index;
}

void filtered(const Update& update, Health& health, const Armor& armor, With<Count>, Without<Frozen>) {
  health.value += armor.factor * update.dt;
}
void spans(const Update& update, std::span<Health> health, std::span<const Armor> armor) {
  for (std::size_t i = 0; i < health.size(); ++i) health[i].value += armor[i].factor * update.dt;
}

/// As a lambda is.
struct Callable {
  void operator()(const Update& update, Health& health, const Armor& armor) const {
    health.value += armor.factor * update.dt;
  }
};
/// A lambda with a copy of something.
struct Capturing {
  float scale = 1;
  void operator()(const Update& update, Health& health, const Armor& armor) const {
    health.value += armor.factor * update.dt * scale;
  }
};
extern "C" void limit_capturing(Health* __restrict health, const Armor* __restrict armor, const float* scale, float dt,
                                std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) health[i].value += armor[i].factor * dt * *scale;
}

// --- what the compiler cannot see into ---

void elsewhere(float& value);
void calls_elsewhere(const Update&, Health& health) { elsewhere(health.value); }
extern "C" void limit_calls_elsewhere(Health* __restrict health, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) elsewhere(health[i].value);
}
struct Facade {
  float scale = 1;
  void by_member_pointer(const Update& update, Health& health, const Armor& armor) {
    health.value += armor.factor * update.dt * scale;
  }
};
using ByPointer = void(const Update&, Health&, const Armor&, const Count&);

void subscribe_all(EntityRegistry& registry, Handlers& handlers, Facade& facade, ByPointer* by_pointer) {
  handlers.add(registry.subscribe<one_column>("1"));
  handlers.add(registry.subscribe<two_columns>("2"));
  handlers.add(registry.subscribe<unequal_rows>("3"));
  handlers.add(registry.subscribe<two_written>("4"));
  handlers.add(registry.subscribe<optional>("5"));
  handlers.add(registry.subscribe<entity>("6"));
  handlers.add(registry.subscribe<filtered>("7"));
  handlers.add(registry.subscribe<spans>("8"));
  handlers.add(registry.subscribe("9", Callable{}));
  handlers.add(registry.subscribe("10", Capturing{}));
  handlers.add(registry.subscribe<calls_elsewhere>("11"));
  handlers.add(registry.subscribe("12", facade, &Facade::by_member_pointer));
  handlers.add(registry.subscribe("13", by_pointer));
}

}  // namespace cases
