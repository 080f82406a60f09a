// A world whose passes use everything that several workers could get wrong: handlers that overlap and that conflict, that
// push, spawn, name, set timers, read from ancestors what they write, look up, have state, are followed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

namespace busy {

using game::Armor;
using game::Count;
using game::Damage;
using game::Frozen;
using game::Heal;
using game::Health;
using game::Member;
using game::Ping;
using game::Position;
using game::Slots;
using game::Velocity;
using muster::Changed;
using muster::Entity;
using muster::EntityRegistry;
using muster::Handlers;
using muster::Lookup;
using muster::Outbox;
using muster::Parent;
using muster::Receipt;
using muster::RegistryOptions;
using muster::SelfOrParent;
using muster::Spawner;
using muster::ThreadPool;
using muster::TimerId;
using muster::Update;
using muster::With;
using muster::Without;

inline void move(const Update& update, Position& position, const Velocity& velocity) {
  position.at.x += velocity.by.x * update.dt;
  position.at.y += velocity.by.y * update.dt;
}
inline void follow(const Update&, Position& position, Parent<const Position> up, Without<Velocity>) {
  position.at.x = position.at.x * 0.5f + up->at.x;
  position.at.z += up->at.y;
}
inline void regenerate(const Update&, Health& health, Entity self, Outbox& out) {
  health.value += 1;
  if (self.index % 7 == 0) out.post(self, Heal{.amount = health.value});
  if (self.index % 11 == 0) out.post(self, Damage{.amount = 3, .from = self});
  if (self.index % 97 == 0) out.post(Ping{.hops = self.index});
}
inline void tally(const Update&, Count& count, SelfOrParent<const Health*> health) {
  count.hits = count.hits * 31 + (health ? static_cast<std::uint32_t>(health->value) : 7);
}
inline void set_timers(const Update&, const Count& count, Entity self, Outbox& out) {
  if (count.hits % 53 != 0) return;
  const TimerId timer = out.post_after(1000 + count.hits % 5, self, Ping{.hops = 1});
  if (timer % 5 == 0) out.cancel(timer);
}
inline void name_some(const Update&, const Armor& armor, Entity self, Outbox& out) {
  if (static_cast<std::uint32_t>(armor.factor) % 13 == 0) out.rename(self, "armored-" + std::to_string(armor.factor));
}
inline void wear(const Update&, Armor& armor, Lookup<const Health> healths, const Member& member) {
  const Health* squad = healths.find(member.squad);
  armor.factor += squad && squad->value > 50 ? 1 : 2;
}
inline void multiply(const Update& update, const Member& member, Entity self, Spawner& spawner, Outbox& out) {
  if (self.index % 41 != static_cast<std::uint32_t>(update.dt * 1000) % 41) return;
  const Entity made = spawner.create_under(member.squad, "recruit", Health{.value = 5}, Count{}, Position{});
  out.post(made, Damage{.amount = 1, .from = self});
}
inline void shift(const Update&, std::span<Slots> slots, std::span<const Entity> ids, Outbox& out) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].counts[0] = static_cast<std::uint16_t>(slots[i].counts[0] + ids[i].index);
    if (ids[i].index % 29 == 0) out.set(ids[i], Count{.hits = slots[i].counts[0]});
  }
}
inline void thaw(const Update&, With<Frozen>, const Count& count, Entity self, Outbox& out) {
  if (count.hits % 17 == 0) out.remove<Frozen>(self);
}

inline void hurt(const Damage& hit, Health& health, Entity self, Outbox& out) {
  health.value -= hit.amount;
  if (health.value <= 0) out.destroy(self);
}
inline void heal(const Heal& message, Health& health) { health.value = message.amount * 0.5f; }
inline void ping(const Ping& message, Count& count, Entity self, Outbox& out) {
  count.hits += message.hops;
  if (count.hits % 5 == 0) out.reparent(self, {});
}
inline void note_change(const Changed<Count>&, const Count& count, Slots* slots) {
  if (slots) slots->counts[1] = static_cast<std::uint16_t>(slots->counts[1] * 3 + count.hits);
}

struct World {
  std::unique_ptr<ThreadPool> pool;
  EntityRegistry registry;
  Handlers handlers;
  std::uint64_t seen = 0;  // of a handler with state: in row order, or it is another number

  explicit World(std::uint32_t workers, RegistryOptions options = {})
      : pool(std::make_unique<ThreadPool>(workers)), registry(with(options, *pool)) {
    for (int i = 0; i < 2500; ++i)
      registry.create(Position{}, Velocity{.by = {.x = static_cast<float>(i), .y = 1, .z = 0}});
    for (int i = 0; i < 40; ++i) {
      const Entity squad = registry.create("squad-" + std::to_string(i), Health{.value = 30.f + static_cast<float>(i)},
                                           Position{.at = {.x = 1, .y = 2, .z = 3}});
      for (int j = 0; j < 12; ++j) {
        const Member member{.team = game::Team::red, .squad = squad};
        Entity up = j % 3 ? registry.create_under(squad, {}, Health{}, Count{}, member, Armor{})
                          : registry.create_under(squad, {}, Health{}, Position{}, member, Armor{}, Frozen{}, Count{});
        for (int k = 0; k < j % 6; ++k)
          up = k % 2 ? registry.create_under(up, {}, Position{}, Count{}, Slots{})
                     : registry.create_under(up, {}, Count{}, Slots{}, Health{.value = 20});
      }
    }
    subscribe();
  }
  static RegistryOptions with(RegistryOptions options, ThreadPool& pool) {
    if (pool.workers() > 1) options.executor = &pool;
    return options;
  }

  void subscribe() {
    handlers.add(registry.subscribe<move>("move"));
    handlers.add(registry.subscribe<follow>("follow"));
    handlers.add(registry.subscribe<regenerate>("regenerate"));
    handlers.add(registry.subscribe<tally>("tally", {.after = {"regenerate"}}));
    handlers.add(registry.subscribe<set_timers>("set_timers"));
    handlers.add(registry.subscribe<name_some>("name_some"));
    handlers.add(registry.subscribe<wear>("wear", {.priority = -1}));
    handlers.add(registry.subscribe<multiply>("multiply"));
    handlers.add(registry.subscribe<shift>("shift"));
    handlers.add(registry.subscribe<thaw>("thaw", {.priority = 3}));
    handlers.add(registry.subscribe("watch",
                                    [this](const Update&, const Health& health, Entity self) {
                                      seen = seen * 31 + self.index + static_cast<std::uint64_t>(health.value);
                                    },
                                    {.priority = 1}));
    handlers.add(
        registry.subscribe("every third", [this](const Update&, const Count& count) { seen = seen * 5 + count.hits; },
                           {.priority = 2, .on_begin = [this, n = 0]() mutable { return ++n % 3 == 0 && seen != 0; }}));
    handlers.add(registry.subscribe<hurt>("hurt"));
    handlers.add(registry.subscribe<heal>("heal"));
    handlers.add(registry.subscribe<ping>("ping"));
    handlers.add(registry.subscribe<note_change>("note_change"));
  }
  Receipt tick(int i) {
    registry.advance(1000);
    return registry.push(Update{.dt = 0.001f * static_cast<float>(i)});
  }
};

}  // namespace busy
