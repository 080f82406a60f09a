#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/random_steps.h"
#include "tests/support/seeds.h"

using namespace muster;

namespace {

/// A reader of the past as snapshots are: at begin it notes which chunks there are; a column that is about to change
/// hands over its old bytes; whatever did not change is read from the living chunk, later.
class Past : public ColumnPreserver {
 public:
  explicit Past(EntityRegistry& registry) : registry_(registry) {
    registry.host().add_preserver(*this);
    const Storage& storage = registry.host().storage();
    for (const auto& archetype : storage.archetypes())
      if (archetype)
        for (const Group& group : archetype->groups)
          for (const Chunk* chunk : group.chunks) {
            Kept& kept = kept_[chunk];
            kept.uid = chunk->uid;
            kept.count = chunk->count;
            kept.columns.resize(archetype->slot_types.size());
            for (const StoredType* type : archetype->slot_types) kept.sizes.push_back(type ? type->size : 8);
            kept.types = archetype->types;
            kept.slot_types = archetype->slot_types;
            kept.depth = chunk->depth;
          }
    version_ = registry.host().begin_version();
  }
  ~Past() override { registry_.host().remove_preserver(*this); }
  Past(const Past&) = delete;
  Past& operator=(const Past&) = delete;

  void before_write(const Chunk& chunk, std::uint32_t slot) override {
    const auto at = kept_.find(&chunk);
    if (at == kept_.end() || at->second.uid != chunk.uid) return;  // came after begin
    Kept& kept = at->second;
    REQUIRE(chunk.slots()[slot].version <= version_);
    REQUIRE(kept.columns[slot].empty());
    REQUIRE(chunk.count == kept.count);
    const std::byte* data = chunk.slots()[slot].data;
    if (data) kept.columns[slot].assign(data, data + std::size_t{kept.sizes[slot]} * kept.count);
    ++copies;
  }
  void before_recycle(const Chunk& chunk) override {
    const auto at = kept_.find(&chunk);
    if (at == kept_.end() || at->second.uid != chunk.uid) return;
    at->second.gone = true;
    // Everything of it was handed over before.
    for (std::size_t slot = 0; slot < at->second.columns.size(); ++slot)
      if (slot != column_parents || at->second.depth > 0) REQUIRE_FALSE(at->second.columns[slot].empty());
  }

  /// The world as it was: entity -> its components' bytes by type, parent under type 0.
  using World = std::map<Entity, std::map<TypeId, std::vector<std::byte>>>;
  World world() const {
    World out;
    for (const auto& entry : kept_) {
      const Chunk* chunk = entry.first;
      const Kept& kept = entry.second;
      const auto column = [&](std::size_t slot) -> const std::byte* {
        if (!kept.columns[slot].empty()) return kept.columns[slot].data();
        REQUIRE_FALSE(kept.gone);
        return chunk->slots()[slot].data;
      };
      for (std::uint32_t row = 0; row < kept.count; ++row) {
        Entity e;
        std::memcpy(&e, column(column_ids) + row * sizeof e, sizeof e);
        auto& components = out[e];
        for (const TypeId type : kept.types) components[type];  // tags too
        for (std::size_t slot = column_first; slot < kept.slot_types.size(); ++slot) {
          const std::byte* value = column(slot) + std::size_t{row} * kept.sizes[slot];
          components[kept.slot_types[slot]->id].assign(value, value + kept.sizes[slot]);
        }
        if (kept.depth > 0) {
          const std::byte* parent = column(column_parents) + row * sizeof(Entity);
          components[0].assign(parent, parent + sizeof(Entity));
        }
      }
    }
    return out;
  }
  std::size_t copies = 0;

 private:
  struct Kept {
    std::uint64_t uid = 0;
    std::uint32_t count = 0, depth = 0;
    bool gone = false;
    std::vector<TypeId> types;
    std::vector<const StoredType*> slot_types;
    std::vector<std::uint32_t> sizes;
    std::vector<std::vector<std::byte>> columns;
  };
  EntityRegistry& registry_;
  std::uint64_t version_ = 0;
  std::map<const Chunk*, Kept> kept_;
};

/// The same of the world as it is now, by the registry's public face.
Past::World now(const EntityRegistry& registry) {
  Past::World out;
  registry.each<>([&](Entity e) {
    auto& components = out[e];
    for (const TypeId type : registry.host().components(e)) {
      const TypeDescriptor* known = registry.types().find(type);
      const std::byte* value = registry.find(e, type);
      auto& bytes = components[type];
      if (!known->tag) bytes.assign(value, value + known->size);
    }
    if (const Entity parent = registry.parent(e)) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&parent);
      components[0].assign(bytes, bytes + sizeof parent);
    }
  });
  return out;
}

std::uint64_t column_version(const EntityRegistry& registry, Entity e, TypeId type) {
  const Row row = registry.host().storage().find(e);
  return row.chunk->slots()[row.chunk->archetype->column(type)].version;
}

}  // namespace

TEST_CASE("usagi 26: a column's version tells whether it changed since") {
  EntityRegistry registry;
  const auto s =
      registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; });
  const auto r = registry.subscribe("look", [](const game::Heal&, const game::Health&, const game::Armor&) {});
  const Entity orc = registry.create("orc", game::Health{}, game::Armor{});
  const TypeId health = TypeTraits<game::Health>::id, armor = TypeTraits<game::Armor>::id;
  const std::uint64_t then = registry.host().begin_version();
  CHECK(column_version(registry, orc, health) <= then);
  registry.push(orc, game::Heal{});
  CHECK(column_version(registry, orc, health) <= then);  // reading changes nothing
  registry.push(orc, game::Damage{});
  CHECK(column_version(registry, orc, health) > then);
  CHECK(column_version(registry, orc, armor) <= then);
  registry.set(orc, game::Armor{.factor = 2});
  CHECK(column_version(registry, orc, armor) > then);
  const std::uint64_t later = registry.host().begin_version();
  CHECK(later > then);
  CHECK(registry.push(orc, SetField{.component = armor, .field = hash32("nothing"), .bytes = 4}).refused == 1);
  CHECK(column_version(registry, orc, armor) <= later);
}

TEST_CASE("an old column is handed over once, before its first change") {
  EntityRegistry registry;
  const auto s =
      registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; });
  const Entity orc = registry.create("orc", game::Health{.value = 50}, game::Armor{});
  const Past past(registry);
  CHECK(past.copies == 0);
  registry.push(orc, game::Damage{.amount = 10});
  CHECK(past.copies == 1);
  registry.push(orc, game::Damage{.amount = 10});
  CHECK(past.copies == 1);
  CHECK(registry.get<game::Health>(orc).value == 30);
  float was = 0;
  std::memcpy(&was, past.world().at(orc).at(TypeTraits<game::Health>::id).data(), sizeof was);
  CHECK(was == 50);
}

TEST_CASE(
    "SetField changes its component's column, Reparent to another parent of the same depth the column of parents") {
  EntityRegistry registry;
  const Entity one = registry.create("one"), other = registry.create("other");
  const Entity child = registry.create_under(one, "child", game::Health{}, game::Armor{});
  const TypeId health = TypeTraits<game::Health>::id, armor = TypeTraits<game::Armor>::id;
  const std::uint64_t then = registry.host().begin_version();
  SetField field{.component = health, .field = hash32("value"), .bytes = sizeof(float)};
  const float value = 7;
  std::memcpy(field.value.data(), &value, sizeof value);
  REQUIRE(registry.push(child, field).handled == 1);
  CHECK(registry.get<game::Health>(child).value == 7);
  CHECK(column_version(registry, child, health) > then);
  CHECK(column_version(registry, child, armor) <= then);
  const auto parents_version = [&] {
    return registry.host().storage().find(child).chunk->slots()[column_parents].version;
  };
  CHECK(parents_version() <= then);
  REQUIRE(registry.push(child, Reparent{.parent = other}).handled == 1);
  CHECK(registry.parent(child) == other);
  CHECK(parents_version() > then);
}

TEST_CASE("a reader sees the past whole while the registry runs on", "[random]") {
  for (const std::uint64_t seed : test::seeds("readers of the past", 1, 100)) {
    CAPTURE(seed);
    test::RandomSteps random(seed);
    EntityRegistry& registry = random.registry;
    for (int i = 0; i < 400; ++i) random.step();
    for (int round = 0; round < 20; ++round) {
      const Past::World then = now(registry);
      const Past past(registry);
      for (int i = 0; i < 60; ++i) {
        random.step();
        if (i % 20 == 19) REQUIRE(past.world() == then);
      }
      REQUIRE(past.world() == then);
      CHECK(past.copies > 0);
    }
  }
}
