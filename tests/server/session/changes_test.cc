#include "server/session/changes.h"

#include <algorithm>
#include <catch2/catch.hpp>

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
