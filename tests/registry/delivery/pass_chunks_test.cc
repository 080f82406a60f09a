// Passes over many kinds of entities in deep hierarchies: each row once, in the order of rows.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/many.h"

using namespace muster;

namespace {

template <ComponentType... Cs>
void give_some(EntityRegistry& registry, Entity e, std::mt19937_64& random) {
  (..., (random() % 2 ? void(registry.set(e, Cs{1})) : void()));
}

}  // namespace

TEST_CASE("a pass takes the rows of many archetypes at many depths in the order in which they are read") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  EntityRegistry registry;
  std::vector<Entity> taken;
  const auto handler =
      registry.subscribe("take", [&](const many::Tick&, const many::B&, Entity self) { taken.push_back(self); });
  // Up to 128 archetypes; chains of 60 and what hangs on them, some of which goes again.
  std::vector<Entity> all;
  for (int chain = 0; chain < 6; ++chain) {
    Entity parent;
    for (int depth = 0; depth < 60; ++depth) {
      const Entity e = registry.create(many::B{1});
      if (parent) registry.reparent(e, parent);
      parent = e;
      give_some<many::C, many::E, many::F, many::H, many::I, many::K, many::L>(registry, parent, random);
      all.push_back(parent);
    }
  }
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 10; ++i) {
      const Entity e = all[random() % all.size()];
      if (!registry.alive(e)) continue;
      if (random() % 4 == 0)
        registry.destroy(e);
      else
        give_some<many::C, many::E, many::F, many::H, many::I, many::K, many::L>(registry, e, random);
    }
    std::vector<Entity> read;
    registry.each<many::B>([&](Entity e, const many::B&) { read.push_back(e); });
    taken.clear();
    registry.push(many::Tick{});
    CHECK(taken == read);
  }
  CHECK(registry.host().storage().archetypes().size() > 32);
}
