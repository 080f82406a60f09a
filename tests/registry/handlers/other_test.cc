#include <catch2/catch.hpp>

#include <vector>

#include <muster/registry.h>

#include "registry/handlers/dynamic_handler.h"
#include "tests/examples/managers/things.h"

using namespace muster;
using namespace things;

TEST_CASE("usagi 13: inputs of the other come from the other entity or its parents, never its children") {
  EntityRegistry registry;
  const auto s = registry.subscribe("bump", [](const Bump& bump, Hits& hits, Other<const Armor> armor) {
    ++hits.count;
    hits.sum += bump.force * armor->factor;
  });
  const Entity me = registry.create(Hits{});
  const Entity top = registry.create(Armor{.factor = 5});
  const Entity middle = registry.create_under(top, "middle", Shield{});
  const Entity own = registry.create_under(middle, "own", Armor{.factor = 7});
  registry.push(me, Bump{.other = own});
  CHECK(registry.get<Hits>(me).sum == 7);
  registry.push(me, Bump{.other = middle});
  CHECK(registry.get<Hits>(me).sum == 12);
  registry.remove<Armor>(top);
  registry.push(me, Bump{.other = middle});  // only its child has armor
  CHECK(registry.get<Hits>(me).count == 2);
  registry.push(me, Bump{});
  registry.destroy(top);
  registry.push(me, Bump{.other = own});
  CHECK(registry.get<Hits>(me).count == 2);
}

TEST_CASE("the only entity field of a message is the other; an optional one may be missing") {
  EntityRegistry registry;
  const auto s = registry.subscribe("gift", [](const Gift&, Hits& hits, Other<const Shield*> shield) {
    ++hits.count;
    hits.sum += shield ? shield->left : 100;
  });
  const Entity me = registry.create(Hits{});
  const Entity giver = registry.create(Shield{});
  for (const Entity from : {giver, Entity{}}) registry.post(me, Gift{.from = from});
  registry.flush();
  CHECK(registry.get<Hits>(me).count == 2);
  CHECK(registry.get<Hits>(me).sum == 110);
}

TEST_CASE("a handler that writes what it reads of the other sees each message's effect") {
  EntityRegistry registry;
  const auto s = registry.subscribe(
      "take", [](const Gift&, Shield& mine, Other<const Shield> theirs) { mine.left += theirs->left; });
  const Entity a = registry.create(Shield{.left = 1});
  const Entity b = registry.create(Shield{.left = 2});
  registry.post(a, Gift{.from = b});
  registry.post(b, Gift{.from = a});
  registry.post(a, Gift{.from = b});
  registry.flush();
  CHECK(registry.get<Shield>(a).left == 8);
  CHECK(registry.get<Shield>(b).left == 5);
}

TEST_CASE("by run-time ids a handler reads of the other what a compiled one reads") {
  EntityRegistry registry;
  registry.add_type<Bump>();
  registry.add_type<Deal>();
  registry.add_type<Armor>();
  registry.add_type<Hits>();
  float sum = 0;
  const Term hits{.type = TypeTraits<Hits>::id};
  const Term armor{.type = TypeTraits<Armor>::id, .source = Source::other};
  const auto s = registry.subscribe(
      "bump", DynamicShape{.message = TypeTraits<Bump>::id, .terms = {hits, armor}},
      [&](const DynamicCall& call) { sum += reinterpret_cast<const Armor*>(call.values[1])->factor; });
  const Entity me = registry.create(Hits{});
  const Entity top = registry.create(Armor{.factor = 5});
  const Entity below = registry.create_under(top, "below");
  registry.push(me, Bump{.other = below});
  registry.push(me, Bump{.other = me});
  CHECK(sum == 5);
  CHECK_THROWS_AS(registry.subscribe("deal", DynamicShape{.message = TypeTraits<Deal>::id, .terms = {armor}},
                                     [](const DynamicCall&) {}),
                  SetupError);
}

TEST_CASE("usagi 9: exclusion looks at the entity itself or at its ancestors") {
  EntityRegistry registry;
  std::vector<Entity> below, anywhere, own;
  const auto a =
      registry.subscribe("a", [&](const Go&, const Hits&, WithoutParent<Ghost>, Entity e) { below.push_back(e); });
  const auto b = registry.subscribe(
      "b", [&](const Go&, const Hits&, WithoutSelfOrParent<Ghost>, Entity e) { anywhere.push_back(e); });
  const auto c = registry.subscribe("c", [&](const Go&, const Hits&, Without<Ghost>, Entity e) { own.push_back(e); });
  registry.add_type<Hits>();
  std::vector<Entity> by_id;
  const Term hits{.type = TypeTraits<Hits>::id};
  const Term no_ghost{
      .type = TypeTraits<Ghost>::id, .presence = Presence::excluded, .source = Source::parent, .value = false};
  const auto d = registry.subscribe("d", DynamicShape{.message = TypeTraits<Go>::id, .terms = {no_ghost, hits}},
                                    [&](const DynamicCall& call) { by_id.push_back(call.self); });
  const Entity free = registry.create(Hits{});
  const Entity ghost = registry.create(Hits{}, Ghost{});
  const Entity child = registry.create_under(ghost, "", Hits{});
  const Entity grandchild = registry.create_under(child, "", Hits{});
  registry.push(Go{});
  CHECK(below == std::vector{free, ghost});
  CHECK(by_id == below);
  CHECK(anywhere == std::vector{free});
  CHECK(own == std::vector{free, child, grandchild});
  below.clear();
  registry.remove<Ghost>(ghost);
  registry.push(grandchild, Go{});
  CHECK(below == std::vector{grandchild});
}
