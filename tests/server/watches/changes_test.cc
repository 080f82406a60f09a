#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>

#include "registry/host.h"
#include "server/mirror/recent_changes.h"
#include "tests/server/arena.h"
#include "tests/server/watches/seen_changes.h"

namespace changes_test {

using namespace muster;
using muster::testing::Changes;

namespace {

constexpr TypeId health = TypeTraits<arena::Health>::id;

std::vector<Entity> sorted(std::vector<Entity> entities) {
  std::ranges::sort(entities);
  return entities;
}

}  // namespace

TEST_CASE("of an index that was given to another entity since the last look both entities are told, none between") {
  EntityRegistry registry;
  Changes changes(registry);
  const Entity old = registry.create(arena::Health{.value = 5});
  changes.want(health);
  changes.want_structure();
  CHECK(changes.look().empty());
  registry.destroy(old);
  Entity heir = registry.create(arena::Health{.value = 5});
  while (heir.index != old.index) {
    registry.destroy(heir);
    heir = registry.create(arena::Health{.value = 5});
  }
  REQUIRE(heir != old);
  const Changes::Found& found = changes.look();
  REQUIRE(found.values.size() == 1);
  CHECK(found.values[0].component == health);
  CHECK(found.values[0].entities == sorted({old, heir}));
  CHECK(found.structure == sorted({old, heir}));
  CHECK(changes.look().empty());
}

TEST_CASE("a component that went and came back with the value it had is told both times") {
  EntityRegistry registry;
  Changes changes(registry);
  const Entity e = registry.create(arena::Health{.value = 5});
  registry.create(arena::Health{});  // who stays
  changes.want(health);
  changes.look();
  for (int i = 0; i < 3; ++i) {
    if (i % 2 == 0)
      registry.remove<arena::Health>(e);
    else
      registry.set(e, arena::Health{.value = 5});
    const Changes::Found& found = changes.look();
    REQUIRE(found.values.size() == 1);
    CHECK(found.values[0].entities == std::vector{e});
  }
}

TEST_CASE("who went after a look that there was no memory for is found to be gone by the next one") {
  EntityRegistry registry;
  Changes changes(registry);
  const std::vector<Entity> gone{registry.create(arena::Health{.value = 5}), registry.create(arena::Health{})};
  const Entity stays = registry.create(arena::Position{});
  changes.want(health);
  changes.want_structure();
  changes.look();
  registry.set(gone[0], arena::Health{.value = 6});
  const auto lost = changes.looks.take();
  REQUIRE(lost->chunks.size() == 1);
  REQUIRE(lost->values.size() == 1);
  // That column once more, where no copy of it may be kept.
  const Chunk& chunk = *registry.host().storage().find(gone[0]).chunk;
  std::destroy_at(&lost->columns);
  std::construct_at(&lost->columns, 0u);
  const std::uint16_t slot = chunk.archetype->column(health);
  lost->columns.add(chunk.uid, health, {chunk.slots()[slot].data, chunk.count * sizeof(arena::Health)});
  registry.set(gone[0], arena::Health{.value = 7});
  REQUIRE(lost->columns.given_up());
  for (const Entity e : gone) registry.destroy(e);
  changes.world.take_in(*lost);
  REQUIRE(changes.looks.is_free());
  const Changes::Found& found = changes.look();
  CHECK(std::ranges::includes(found.structure, sorted(gone)));
  for (const Entity e : gone) CHECK_FALSE(changes.world.alive(e));
  CHECK(changes.world.alive(stays));
  CHECK(changes.world.entity_count() == 1);
}

TEST_CASE("who looks seldom is told of large indices too, where nobody with a smaller one changed") {
  EntityRegistry registry;
  registry.create_many(1000);
  const Entity first = registry.create(), second = registry.create();
  Changes changes(registry);
  RecentChanges recent(changes.world);
  changes.want(health);
  recent.note(changes.look());
  const std::uint64_t before = recent.now();
  for (const Entity e : {first, second}) {
    registry.set(e, arena::Health{});
    recent.note(changes.look());
  }
  std::vector<Entity> told;
  recent.each(health, before, [&](Entity e) { told.push_back(e); });
  CHECK(told == std::vector{first, second});
}

TEST_CASE("who stands in another row than before, and has the value it had, has not changed") {
  EntityRegistry registry;
  std::vector<Entity> entities = registry.create_many(3000, arena::Health{.value = 5});
  Changes changes(registry);
  changes.want(health);
  registry.destroy(entities[10]);                           // the last one takes its row
  registry.set(entities[20], arena::Position{.x = 1});      // another archetype
  registry.set(entities[2998], arena::Health{.value = 6});  // moves, and has another value
  registry.destroy(entities[30]);
  const auto& found = changes.look();
  REQUIRE(found.values.size() == 1);
  CHECK(found.values[0].entities == sorted({entities[10], entities[30], entities[2998]}));
  CHECK(changes.look().empty());
}

TEST_CASE("a component that is wanted between two looks, while rows move, is found to change from then on") {
  EntityRegistry registry;
  const std::vector<Entity> entities = registry.create_many(100, arena::Health{.value = 5}, arena::Position{.x = 1});
  Changes changes(registry);
  changes.want(health);
  changes.look();
  registry.destroy(entities[3]);
  changes.want(TypeTraits<arena::Position>::id);
  registry.destroy(entities[4]);
  registry.set(entities[50], arena::Position{.x = 2});
  const auto of = [](const Changes::Found& found, TypeId component) {
    for (const Changes::Values& values : found.values)
      if (values.component == component) return values.entities;
    return std::vector<Entity>();
  };
  const Changes::Found& found = changes.look();
  CHECK(of(found, health) == std::vector{entities[3], entities[4]});
  const std::vector<Entity> moved = of(found, TypeTraits<arena::Position>::id);
  for (const Entity e : {entities[4], entities[50]}) CHECK(std::ranges::find(moved, e) != moved.end());
  CHECK(changes.look().empty());
  registry.set(entities[51], arena::Position{.x = 2});
  CHECK(of(changes.look(), TypeTraits<arena::Position>::id) == std::vector{entities[51]});
}

TEST_CASE("who was created before a component is wanted, and after the last look, is found by both") {
  EntityRegistry registry;
  registry.create(arena::Health{});
  Changes changes(registry);
  changes.want_structure();
  changes.look();
  const Entity e = registry.create(arena::Health{}, arena::Position{});  // in a chunk that no look has seen
  const Entity gone = registry.create(arena::Health{}, arena::Position{});
  changes.want(health);
  registry.destroy(gone);
  const Changes::Found& found = changes.look();
  CHECK(found.structure == std::vector{e, gone});
  REQUIRE(found.values.size() == 1);
  CHECK(found.values[0].entities == std::vector{gone});
  CHECK(changes.look().empty());
}

TEST_CASE("what a look finds is what differs between two copies of the world, whatever happened between") {
  constexpr TypeId position = TypeTraits<arena::Position>::id;
  std::mt19937 random(11);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  EntityRegistry registry;
  Changes changes(registry);
  std::vector<Entity> entities = registry.create_many(1500, arena::Health{});
  struct Copy {
    std::map<TypeId, std::map<Entity, double>> values;
    std::map<Entity, Entity> parents;
  };
  const auto copied = [&] {
    Copy copy;
    registry.each<>([&](Entity e) {
      copy.parents[e] = registry.parent(e);
      if (const auto* value = registry.find<arena::Health>(e)) copy.values[health][e] = value->value;
      if (const auto* value = registry.find<arena::Position>(e)) copy.values[position][e] = value->x;
    });
    return copy;
  };
  const auto different = [](const auto& a, const auto& b) {
    std::vector<Entity> made;
    for (const auto& [e, value] : a)
      if (const auto at = b.find(e); at == b.end() || at->second != value) made.push_back(e);
    for (const auto& [e, value] : b)
      if (!a.contains(e)) made.push_back(e);
    return sorted(std::move(made));
  };
  changes.want(health);
  changes.want(position);
  changes.want_structure();
  Copy before = copied();
  for (int round = 0; round < 300; ++round) {
    for (std::size_t step = below(40); step > 0; --step) {
      const std::size_t at = below(entities.size());
      const Entity e = entities[at];
      if (!registry.alive(e)) {
        entities[at] = registry.create(arena::Health{.value = static_cast<float>(below(3))});
        continue;
      }
      switch (below(7)) {
        case 0: registry.destroy(e); break;
        case 1: registry.set(e, arena::Position{.x = static_cast<double>(below(3))}); break;
        case 2: registry.remove<arena::Position>(e); break;
        case 3: registry.remove<arena::Health>(e); break;
        case 4: {
          const Entity under = entities[below(entities.size())];
          if (registry.alive(under)) (void)registry.reparent(e, under);
          break;
        }
        default: registry.set(e, arena::Health{.value = static_cast<float>(below(3))});
      }
    }
    const Copy now = copied();
    const Changes::Found& found = changes.look();
    for (const TypeId component : {health, position}) {
      std::vector<Entity> told;
      for (const Changes::Values& values : found.values)
        if (values.component == component) told = values.entities;
      REQUIRE(told == different(before.values[component], now.values.contains(component) ? now.values.at(component)
                                                                                         : std::map<Entity, double>()));
    }
    REQUIRE(found.structure == different(before.parents, now.parents));
    before = now;
  }
}

TEST_CASE("a long list is sorted as a short one is, and names nobody twice") {
  std::mt19937 random(3);
  for (const std::uint32_t indices : {100u, 5000u, 0xffffffffu}) {
    std::vector<Entity> some;
    for (int i = 0; i < 20'000; ++i)
      some.push_back({static_cast<std::uint32_t>(random()) % indices, 1 + static_cast<std::uint32_t>(random()) % 2});
    std::vector<Entity> expected = sorted(some);
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    sort_unique(some);
    CHECK(some == expected);
  }
}

}  // namespace changes_test
