#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;
using Catch::Contains;

namespace {

constexpr TypeId health_type = TypeTraits<game::Health>::id, armor_type = TypeTraits<game::Armor>::id,
                 frozen_type = TypeTraits<game::Frozen>::id, damage_type = TypeTraits<game::Damage>::id;

template <class T>
T as(std::span<const std::byte> bytes) {
  REQUIRE(bytes.size() == sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

void add_types(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  registry.add_type<game::Armor>();
  registry.add_type<game::Frozen>();
  registry.add_type<game::Damage>();
}

}  // namespace

TEST_CASE("a handler by run-time ids reads and writes as a compiled one does") {
  EntityRegistry registry;
  add_types(registry);
  const auto s = registry.subscribe(
      "script", DynamicShape{.message = damage_type, .terms = {{.type = health_type, .access = Access::write}}},
      [](const DynamicCall& call) {
        const auto hit = as<game::Damage>(call.message);
        game::Health health;
        std::memcpy(&health, call.values[0], sizeof health);
        health.value -= hit.amount;
        std::memcpy(call.values[0], &health, sizeof health);
        if (health.value <= 0) call.outbox.destroy(call.self);
      });
  const Entity orc = registry.create(game::Health{.value = 30});
  const Entity rock = registry.create(game::Armor{});
  CHECK(registry.push(orc, game::Damage{.amount = 7}).handled == 1);
  CHECK(registry.get<game::Health>(orc).value == 23);
  CHECK(registry.push(rock, game::Damage{.amount = 7}).unhandled == 1);
  for (int i = 0; i < 4; ++i) registry.post(orc, game::Damage{.amount = 6});
  registry.flush();
  CHECK_FALSE(registry.alive(orc));
}

TEST_CASE("terms by id: optional, excluded, tags, ancestors") {
  EntityRegistry registry;
  add_types(registry);
  std::string seen;
  const auto s = registry.subscribe(
      "script",
      DynamicShape{.message = damage_type,
                   .terms = {{.type = health_type},
                             {.type = armor_type, .presence = Presence::optional},
                             {.type = armor_type, .presence = Presence::optional, .source = Source::parent},
                             {.type = frozen_type, .presence = Presence::excluded, .value = false}}},
      [&](const DynamicCall& call) {
        REQUIRE(call.values.size() == 4);
        CHECK(call.values[0] != nullptr);
        CHECK(call.values[3] == nullptr);
        seen += call.values[1] ? 'A' : '-';
        seen += call.values[2] ? 'P' : '-';
      });
  const Entity plain = registry.create(game::Health{});
  const Entity armored = registry.create(game::Health{}, game::Armor{});
  const Entity below = registry.create_under(armored, "", game::Health{});
  const Entity frozen = registry.create(game::Health{}, game::Frozen{});
  for (const Entity e : {plain, armored, below, frozen}) registry.push(e, game::Damage{});
  CHECK(seen == "--A--P");
}

TEST_CASE("a pass by id is called per entity, or once") {
  EntityRegistry registry;
  add_types(registry);
  std::vector<Entity> each;
  int once = 0;
  const TypeId update = TypeTraits<Update>::id;
  registry.add_type<Update>();
  const auto s1 = registry.subscribe("each", DynamicShape{.message = update, .terms = {{.type = health_type}}},
                                     [&](const DynamicCall& call) { each.push_back(call.self); });
  const auto s2 =
      registry.subscribe("once", DynamicShape{.message = update, .per_entity = false}, [&](const DynamicCall& call) {
        CHECK(call.self == Entity{});
        ++once;
      });
  const Entity a = registry.create(game::Health{}), b = registry.create(game::Health{});
  registry.push(Update{.dt = 1});
  CHECK(each == std::vector<Entity>{a, b});
  CHECK(once == 1);
}

TEST_CASE("what a run-time handler may not ask for is an error that names it") {
  EntityRegistry registry;
  add_types(registry);
  const auto nothing = [](const DynamicCall&) {};
  CHECK_THROWS_WITH(registry.subscribe("x", DynamicShape{.message = 77}, nothing), Contains("\"x\"") && Contains("77"));
  CHECK_THROWS_WITH(registry.subscribe("x", DynamicShape{.message = health_type}, nothing), Contains("no message"));
  CHECK_THROWS_WITH(registry.subscribe("x", DynamicShape{.message = damage_type, .terms = {{.type = 78}}}, nothing),
                    Contains("no component") && Contains("78"));
  CHECK_THROWS_WITH(
      registry.subscribe("x", DynamicShape{.message = damage_type, .terms = {{.type = damage_type}}}, nothing),
      Contains("no component"));
  CHECK_THROWS_WITH(
      registry.subscribe(
          "x",
          DynamicShape{.message = damage_type,
                       .terms = {{.type = health_type, .access = Access::write, .source = Source::parent}}},
          nothing),
      Contains("game.Health") && Contains("another entity"));
  // Of two entities in a message neither is the other.
  registry.add_type<Reparent>();
  CHECK_THROWS_WITH(registry.subscribe("x",
                                       DynamicShape{.message = TypeTraits<Reparent>::id,
                                                    .terms = {{.type = health_type, .source = Source::other}}},
                                       nothing),
                    Contains("muster.Reparent") && Contains("only one"));
  CHECK(registry.host().handlers().handlers().empty());
}

TEST_CASE("one type taken twice, once for writing, is refused at run time as it is when compiled") {
  EntityRegistry registry;
  add_types(registry);
  CHECK_THROWS_AS(
      registry.subscribe("x",
                         DynamicShape{.message = damage_type,
                                      .terms = {{.type = health_type, .access = Access::write}, {.type = health_type}}},
                         [](const DynamicCall&) {}),
      SetupError);
}

TEST_CASE("a tag is asked for by run-time ids wherever it may be, and its value is null") {
  EntityRegistry registry;
  add_types(registry);
  int calls = 0;
  std::vector<Subscription> all;
  for (const Source source :
       {Source::self, Source::parent, Source::self_or_parent, Source::up_to, Source::parent_with, Source::other}) {
    all.push_back(registry.subscribe(
        "script" + std::to_string(static_cast<int>(source)),
        DynamicShape{.message = damage_type, .terms = {{.type = frozen_type, .source = source, .anchor = health_type}}},
        [&](const DynamicCall& call) {
          ++calls;
          REQUIRE(call.values.size() == 1);
          CHECK(call.values[0] == nullptr);
        }));
  }
  const Entity parent = registry.create(game::Frozen{}, game::Health{});
  const Entity child = registry.create_under(parent, "", game::Frozen{});
  registry.push(child, game::Damage{.from = parent});
  CHECK(calls == 6);
  const Entity bare = registry.create();
  registry.push(bare, game::Damage{.from = bare});
  CHECK(calls == 6);
}

TEST_CASE("what a handler by run-time ids may write counts as changed, what it reads does not") {
  EntityRegistry registry;
  add_types(registry);
  const auto s =
      registry.subscribe("script",
                         DynamicShape{.message = damage_type,
                                      .terms = {{.type = health_type, .access = Access::write}, {.type = armor_type}}},
                         [](const DynamicCall&) {});
  const Entity orc = registry.create(game::Health{}, game::Armor{});
  const Row row = registry.host().storage().find(orc);
  const auto version = [&](TypeId type) { return row.chunk->slots()[row.chunk->archetype->column(type)].version; };
  const std::uint64_t then = registry.host().begin_version();
  registry.push(orc, game::Damage{});
  CHECK(version(health_type) > then);
  CHECK(version(armor_type) <= then);
  const std::uint64_t later = registry.host().begin_version();
  for (int i = 0; i < 3; ++i) registry.post(orc, game::Damage{});
  registry.flush();
  CHECK(version(health_type) > later);
}

TEST_CASE("of a run of messages to a handler by run-time ids each is counted: handled, unhandled or dead") {
  EntityRegistry registry;
  add_types(registry);
  int calls = 0;
  const auto s = registry.subscribe("script", DynamicShape{.message = damage_type, .terms = {{.type = health_type}}},
                                    [&](const DynamicCall&) { ++calls; });
  const Entity orc = registry.create(game::Health{}), rock = registry.create(game::Armor{}),
               gone = registry.create(game::Health{});
  registry.destroy(gone);
  for (const Entity e : {orc, gone, rock, gone, orc, orc, gone, rock, gone}) registry.post(e, game::Damage{});
  const Receipt receipt = registry.flush();
  CHECK(calls == 3);
  CHECK(receipt.handled == 3);
  CHECK(receipt.unhandled == 2);
  CHECK(receipt.dead == 4);
}
