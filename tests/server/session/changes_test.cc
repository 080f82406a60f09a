#include "server/session/changes.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "server/session/recent_changes.h"
#include "tests/server/arena.h"

using namespace muster;

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

TEST_CASE("who looks seldom is told of large indices too, where nobody with a smaller one changed") {
  EntityRegistry registry;
  registry.create_many(1000);
  const Entity first = registry.create(), second = registry.create();
  Changes changes(registry);
  RecentChanges recent(registry);
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
