// Where the columns of neighbouring chunks lie, and passes that go through several chunks as through one.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "messages/poison.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;
using namespace game;

namespace {

const Archetype& archetype_of(const EntityRegistry& registry, Entity e) {
  return *registry.host().storage().find(e).chunk->archetype;
}

/// How many of the columns of a group's chunks go on in the next chunk, and how many there are.
struct Continued {
  std::size_t columns = 0, of = 0;
};
Continued continued(const Group& group) {
  Continued found;
  for (std::size_t i = 1; i + 1 < group.chunks.size(); ++i) {
    const Chunk& here = *group.chunks[i];
    const Chunk& next = *group.chunks[i + 1];
    for (std::uint32_t slot = 0; slot < here.archetype->slot_types.size(); ++slot) {
      const std::byte* const data = here.slots()[slot].data;
      if (!data) continue;
      ++found.of;
      const std::size_t bytes = std::size_t{here.capacity} * here.archetype->slot_bytes[slot];
      found.columns += data + bytes == next.slots()[slot].data;
    }
  }
  return found;
}

struct Preserved final : ColumnPreserver {
  struct Kept {
    std::uint64_t uid;
    std::uint32_t slot;
    std::vector<float> values;
  };
  std::vector<Kept> kept;
  void before_write(const Chunk& chunk, std::uint32_t slot) override {
    const auto* const values = reinterpret_cast<const float*>(chunk.slots()[slot].data);
    kept.push_back({chunk.uid, slot, {values, values + chunk.count}});
  }
  void before_recycle(const Chunk&) override {}
};

}  // namespace

TEST_CASE("columns of a large group go on from chunk to chunk, and so they do after it shrank and grew") {
  EntityRegistry registry;
  std::vector<Entity> all = registry.create_many(300'000, Health{}, Armor{});
  const Group& group = archetype_of(registry, all[0]).groups[0];
  for (int round = 0; round < 3; ++round) {
    const Continued found = continued(group);
    CHECK(found.of == 3 * (group.chunks.size() - 2));
    CHECK(found.columns >= (poisons ? 0 : found.of * 8 / 10));
    std::vector<Entity> gone(all.begin() + 100'000, all.end());
    all.resize(100'000);
    registry.push(std::span<const Entity>(gone), Destroy{});
    for (const Entity e : registry.create_many(200'000, Health{}, Armor{})) all.push_back(e);
  }
}

TEST_CASE("columns of archetypes that came one after another go on from one to the next") {
  if (poisons) return;  // then there are gaps
  EntityRegistry registry;
  // One by one: slabs of rows that come together end where these do.
  std::vector<Entity> first, second;
  for (int i = 0; i < 100'000; ++i) first.push_back(registry.create(Health{}, Armor{}));
  for (int i = 0; i < 100'000; ++i) second.push_back(registry.create(Health{}, Armor{}, Count{}));
  std::size_t found = 0;
  const Chunk& last = *archetype_of(registry, first[0]).groups[0].last;
  const Chunk& next = *archetype_of(registry, second[0]).groups[0].chunks[1];
  for (const TypeId type : {TypeTraits<Health>::id, TypeTraits<Armor>::id}) {
    const std::uint16_t from = last.archetype->column(type), to = next.archetype->column(type);
    found += last.slots()[from].data + std::size_t{last.capacity} * last.archetype->slot_bytes[from] ==
             next.slots()[to].data;
  }
  CHECK(found >= 1);  // the other may be at the end of a slab
}

TEST_CASE("memory of chunks whose rows went waits for rows of their kind, and goes back when others come") {
  EntityRegistry registry;
  const std::size_t before = registry.host().storage().chunk_bytes();
  std::vector<Entity> all;
  const auto some = [&](const auto&... values) {
    for (const Entity e : registry.create_many(120'000, values...)) all.push_back(e);
  };
  some(Health{}, Armor{});
  some(Health{}, Count{});
  some(Health{}, Armor{}, Count{});
  for (std::size_t i = 0; i < all.size(); i += 3) registry.set(all[i], Position{});
  const std::size_t full = registry.host().storage().chunk_bytes();
  CHECK(full > before + (4u << 20));
  SECTION("at once") { registry.push(std::span<const Entity>(all), Destroy{}); }
  SECTION("one by one, anywhere") {
    std::shuffle(all.begin(), all.end(), std::mt19937(5));
    for (const Entity e : all) registry.destroy(e);
  }
  CHECK(registry.host().storage().rows() == 0);
  CHECK(registry.host().storage().chunk_bytes() == full);
  registry.create_many(5000, Velocity{});
  CHECK(registry.host().storage().chunk_bytes() < full / 4);
}

TEST_CASE("a pass over a large group handles each row once, and each chunk's column is kept before its first write") {
  EntityRegistry registry;
  std::vector<Entity> all = registry.create_many(200'000, Health{}, Armor{});
  const Group& group = archetype_of(registry, all[0]).groups[0];
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const Row row = registry.host().storage().find(all[i]);
    *reinterpret_cast<float*>(row.at(row.chunk->archetype->column(TypeTraits<Health>::id), sizeof(Health))) =
        static_cast<float>(i);
  }
  const auto s = registry.subscribe("add", [](const Update& update, Health& health) { health.value += update.dt; });
  Preserved preserved;
  auto& storage = const_cast<Storage&>(registry.host().storage());
  storage.add_preserver(preserved);
  const std::uint64_t version = storage.begin_version();
  registry.push(Update{.dt = 1});
  registry.push(Update{.dt = 1});
  storage.remove_preserver(preserved);
  const std::uint16_t health = archetype_of(registry, all[0]).column(TypeTraits<Health>::id);
  REQUIRE(preserved.kept.size() == group.chunks.size());
  float expected = 0;
  for (std::size_t i = 0; i < group.chunks.size(); ++i) {
    CHECK(preserved.kept[i].uid == group.chunks[i]->uid);
    CHECK(preserved.kept[i].slot == health);
    for (const float value : preserved.kept[i].values) {
      if (value != expected) FAIL("row " << expected << " was " << value);
      expected += 1;
    }
    for (std::uint32_t slot = 0; slot < group.chunks[i]->archetype->slot_types.size(); ++slot)
      CHECK((group.chunks[i]->slots()[slot].version > version) == (slot == health));
  }
  CHECK(expected == static_cast<float>(all.size()));
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (registry.get<Health>(all[i]).value != static_cast<float>(i) + 2) FAIL("row " << i);
}

TEST_CASE("a pass over groups that grow and shrink at random takes each row once, in order, with its own values") {
  const std::uint64_t seed = GENERATE(range(1, 5));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  EntityRegistry registry;
  std::vector<Entity> all;
  std::vector<Entity> seen;
  bool same = true;
  const auto s = registry.subscribe("sees", [&](const Update&, Health& health, const Armor& armor, Entity self) {
    seen.push_back(self);
    same = same && health.value == static_cast<float>(self.index) && armor.factor == health.value;
  });
  const Entity parent = registry.create(Count{});
  for (int round = 0; round < 24; ++round) {
    const auto count = static_cast<std::uint32_t>(random() % 40'000);
    const std::size_t before = all.size();
    if (random() % 2)
      for (const Entity e : registry.create_many(count, Health{}, Armor{})) all.push_back(e);
    else if (random() % 2)
      for (const Entity e : registry.create_many(count, Health{}, Armor{}, Count{})) all.push_back(e);
    else
      for (std::uint32_t i = 0; i < count / 8; ++i) all.push_back(registry.create_under(parent, {}, Health{}, Armor{}));
    for (std::size_t i = before; i < all.size(); ++i) {
      registry.set(all[i], Health{.value = static_cast<float>(all[i].index)});
      registry.set(all[i], Armor{.factor = static_cast<float>(all[i].index)});
    }
    std::shuffle(all.begin(), all.end(), random);
    const std::size_t gone = all.empty() ? 0 : random() % all.size() * (random() % 2);
    if (random() % 2) {
      registry.push(std::span<const Entity>(all).last(gone), Destroy{});
    } else {
      for (std::size_t i = 0; i < gone; ++i) registry.destroy(all[all.size() - 1 - i]);
    }
    all.resize(all.size() - gone);
    for (std::size_t i = 0; i < all.size() && i < 500; ++i) {
      if (registry.has<Count>(all[i]))
        registry.remove<Count>(all[i]);
      else
        registry.set(all[i], Count{});
    }
    seen.clear();
    registry.push(Update{});
    std::vector<Entity> expected;
    registry.each<const Health, const Armor>([&](Entity e, const Health&, const Armor&) { expected.push_back(e); });
    REQUIRE(seen.size() == all.size());
    REQUIRE(seen == expected);
    REQUIRE(same);
  }
}
