// Once warm, a registry asks for no memory: not per message, entity, component or tree.
#include "tests/lineage/allocations.h"

#include <catch2/catch.hpp>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/counted_bytes.h"
#include "tests/registry/game.h"

using namespace muster;
using namespace game;

namespace {

/// A registry with a sink, and handlers of every shape that delivery knows.
struct Warm {
  CountedBytes sink;
  EntityRegistry registry;
  Handlers handlers;
  std::vector<Entity> entities;
  Warm() {
    registry.host().add_sink(sink);
    handlers.add(
        registry.subscribe("hit", [](const Damage& damage, Health& health) { health.value -= damage.amount; }));
    handlers.add(registry.subscribe("soften", [](Heal& heal, const Armor& armor) { heal.amount *= armor.factor; }));
    handlers.add(registry.subscribe("heal", [](const Heal& heal, Health& health) { health.value += heal.amount; },
                                    {.after = {"soften"}}));
    handlers.add(registry.subscribe("ping", [](const Ping& ping, Entity self, Outbox& out) {
      if (ping.hops > 0) out.post(self, Ping{.hops = ping.hops - 1});
    }));
    handlers.add(registry.subscribe("move", [](const Update& update, Position& position, const Velocity& velocity) {
      position.at.x += velocity.by.x * update.dt;
    }));
    handlers.add(registry.subscribe("spawn", [](const game::Spawn&, Spawner& spawner, Outbox& out) {
      out.destroy(spawner.create(Health{}, Armor{}));
    }));
    for (int i = 0; i < 3000; ++i) entities.push_back(registry.create(Health{}, Armor{}, Position{}, Velocity{}));
  }
  ~Warm() { registry.host().remove_sink(sink); }

  /// How often `work` asks for memory the last of many times.
  template <class Work>
  std::uint64_t asked(Work work) {
    for (int i = 0; i < 40; ++i) work();
    const std::uint64_t before = allocations();
    work();
    return allocations() - before;
  }
};

}  // namespace

TEST_CASE("a push asks for no memory, whatever its handlers are") {
  Warm warm;
  auto& [sink, r, handlers, entities] = warm;
  CHECK(warm.asked([&] {
    for (const Entity e : entities) r.push(e, Damage{.amount = 1});
  }) == 0);
  CHECK(warm.asked([&] {
    for (const Entity e : entities) r.push(e, Heal{.amount = 1});
  }) == 0);
  CHECK(warm.asked([&] {
    for (const Entity e : entities) r.push(e, Ping{.hops = 3});
  }) == 0);
  CHECK(warm.asked([&] { r.push(std::span<const Entity>(entities), Damage{.amount = 1}); }) == 0);
  CHECK(warm.asked([&] { r.push(std::span<const Entity>(entities), Heal{.amount = 1}); }) == 0);
  CHECK(warm.asked([&] { r.push(Update{.dt = 1}); }) == 0);
}

TEST_CASE("a post and its flush ask for no memory, in long runs and with types in turn") {
  Warm warm;
  auto& [sink, r, handlers, entities] = warm;
  CHECK(warm.asked([&] {
    for (const Entity e : entities) r.post(e, Damage{.amount = 1});
    r.flush();
  }) == 0);
  CHECK(warm.asked([&] {
    for (const Entity e : entities) {
      r.post(e, Damage{.amount = 1});
      r.post(e, Heal{.amount = 1});
      r.post(e, Ping{.hops = 1});
    }
    r.flush();
  }) == 0);
}

TEST_CASE("creating and destroying ask for no memory") {
  Warm warm;
  auto& [sink, r, handlers, entities] = warm;
  std::vector<Entity> made(2000);
  CHECK(warm.asked([&] {
    for (Entity& e : made) e = r.create(Health{}, Armor{});
    for (const Entity e : made) r.destroy(e);
  }) == 0);
  CHECK(warm.asked([&] {
    for (Entity& e : made) e = r.create_under(entities.front(), {}, Health{});
    for (const Entity e : made) r.destroy(e);
  }) == 0);
  CHECK(warm.asked([&] {
    const std::vector<Entity> crowd = r.create_many(2000, Health{}, Armor{});
    r.push(std::span<const Entity>(crowd), Destroy{});
  }) == 1);  // the vector of ids that create_many returns
}

TEST_CASE("components coming, changing and going ask for no memory, nor does another parent") {
  Warm warm;
  auto& [sink, r, handlers, entities] = warm;
  CHECK(warm.asked([&] {
    for (const Entity e : entities) r.set(e, Count{.hits = 1});
    for (const Entity e : entities) r.remove<Count>(e);
  }) == 0);
  const Entity top = entities.back();
  entities.pop_back();
  CHECK(warm.asked([&] {
    for (const Entity e : entities) r.reparent(e, top);
    for (const Entity e : entities) r.reparent(e, Entity{});
  }) == 0);
}

TEST_CASE("spawning asks for no memory, from outside and inside handlers") {
  Warm warm;
  auto& [sink, r, handlers, entities] = warm;
  TemplateTree orc("orc");
  orc.set("", Health{.value = 30}).set("body", Armor{}).set("body/arm", Position{});
  r.define_template(orc);
  CHECK(warm.asked([&] {
    for (int i = 0; i < 500; ++i) r.destroy(r.spawn("orc"));
  }) == 0);
  CHECK(warm.asked([&] {
    for (const Entity e : entities) r.push(e, game::Spawn{});
  }) == 0);
}
