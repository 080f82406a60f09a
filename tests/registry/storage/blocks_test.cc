#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "messages/poison.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/storage/blocks.h"
#include "tests/registry/game.h"
#include "tests/registry/heights.h"

using heights::Keeper;
using namespace muster;

namespace {

std::uintptr_t number(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

TEST_CASE(
    "blocks of one purpose lie one behind the other, whatever is taken between them, and on pages where they are whole "
    "pages") {
  Blocks blocks;
  constexpr std::uint32_t bytes = 8u << 10;
  std::vector<void*> taken;
  for (int i = 0; i < 2000; ++i) {
    taken.push_back(blocks.take(1, bytes));
    std::memset(taken.back(), i, bytes);
    std::memset(blocks.take(2, bytes), i, bytes);
    if (i % 3 == 0) std::memset(blocks.take(1, 192), i, 192);
    REQUIRE(number(taken.back()) % 64 == 0);
  }
  if (poisons) return;  // then there are gaps
  int next = 0, on_page = 0;
  for (std::size_t i = 1000; i < taken.size(); ++i) {
    next += number(taken[i]) == number(taken[i - 1]) + bytes;
    on_page += number(taken[i]) % 4096 == 0;
  }
  CHECK(next > 950);
  CHECK(on_page == 1000);
}

TEST_CASE("of the blocks that were given back the lowest is the next, for its own purpose and size alone") {
  Blocks blocks;
  std::vector<void*> all;
  for (int i = 0; i < 100; ++i) all.push_back(blocks.take(1, 4096));
  std::ranges::sort(all);
  // A slab from which nothing is taken may go, and where slabs lie is the system's choice: so these have neighbours on both sides.
  std::vector<void*> inner;
  for (std::size_t i = 1; i + 1 < all.size(); ++i)
    if (number(all[i + 1]) - number(all[i - 1]) <= 2 * (4096 + 64)) inner.push_back(all[i]);
  REQUIRE(inner.size() > 10);
  void* const low = inner[1];
  void* const middle = inner[inner.size() / 2];
  void* const high = inner[inner.size() - 2];
  for (void* block : {high, low, middle}) blocks.give_back(block);
  CHECK(std::ranges::count(all, blocks.take(2, 4096)) == 0);
  CHECK(std::ranges::count(all, blocks.take(1, 2048)) == 0);
  // Of the slab that came last some were never taken; they come first where it lies lower.
  std::vector<void*> lowest = {high, middle, low};
  for (int i = 0; i < 100 && !lowest.empty(); ++i) {
    void* const next = blocks.take(1, 4096);
    if (next == lowest.back()) {
      lowest.pop_back();
    } else {
      CHECK(std::ranges::count(all, next) == 0);
      CHECK(number(next) < number(lowest.back()));
    }
  }
  CHECK(lowest.empty());
  CHECK(std::ranges::count(all, blocks.take(1, 4096)) == 0);
}

TEST_CASE("little lies idle while blocks come; where they went, memory goes back when others come") {
  Blocks blocks;
  constexpr std::uint32_t bytes = 8u << 10;
  std::vector<void*> taken;
  for (std::size_t i = 1; i <= 4000; ++i) {
    taken.push_back(blocks.take(1, bytes));
    const std::size_t used = i * (bytes + (poisons ? 64 : 0));
    REQUIRE(blocks.bytes() >= used);
    REQUIRE(blocks.bytes() <= used + used / 8 + bytes);
    if (i > 1024) REQUIRE(blocks.bytes() <= used + used / 15);
  }
  while (taken.size() > 1) {
    blocks.give_back(taken.back());
    taken.pop_back();
  }
  const std::size_t full = blocks.bytes();
  for (int i = 1; i < 4000; ++i) taken.push_back(blocks.take(1, bytes));  // one is still there
  CHECK(blocks.bytes() == full);                                          // what waited was enough
  while (taken.size() > 1) {
    blocks.give_back(taken.back());
    taken.pop_back();
  }
  blocks.take(2, bytes);
  CHECK(blocks.bytes() < 1u << 20);
}

TEST_CASE("blocks that are expected lie one behind the other for 4 MiB, and nothing lies idle when they came") {
  Blocks blocks;
  constexpr std::uint32_t bytes = 8u << 10;
  constexpr std::size_t count = 2000, room = bytes + (poisons ? 64 : 0);
  blocks.expect(1, bytes, count);
  blocks.expect(2, 192, count);
  const std::size_t expected = blocks.bytes();
  CHECK(expected == count * (room + 192 + (poisons ? 64 : 0)));
  std::size_t breaks = 0;
  std::uintptr_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t at = number(blocks.take(1, bytes));
    breaks += at != end;
    end = at + room;
    blocks.take(2, 192);
  }
  CHECK(breaks == 4);
  CHECK(blocks.bytes() == expected);
}

TEST_CASE("what is expected stays until it comes, whatever else is taken, and goes when it is forgotten") {
  Blocks blocks;
  constexpr std::uint32_t bytes = 8u << 10;
  for (std::uint32_t purpose = 1; purpose < 4; ++purpose) blocks.expect(purpose, bytes, 600);
  const std::size_t expected = blocks.bytes();
  REQUIRE(expected >= 3 * 600 * bytes);
  for (int i = 0; i < 20; ++i) blocks.take(4, 64);
  CHECK(blocks.bytes() > expected);
  blocks.expect(1, bytes, 600);  // they are there
  CHECK(blocks.bytes() < expected + bytes);
  blocks.take(1, bytes);
  blocks.forget_expected();
  blocks.take(5, 64);
  // No slab is left without a taken block.
  CHECK(blocks.bytes() < expected / 3);
}

TEST_CASE("where few are expected at a time slabs are as they are where nothing is") {
  Blocks blocks, others;
  constexpr std::uint32_t bytes = 8u << 10;
  std::size_t slabs = 0, slabs_of_others = 0;
  for (int part = 0; part < 400; ++part) {
    blocks.expect(1, bytes, 10);
    for (int i = 0; i < 10; ++i) {
      const std::size_t before = blocks.bytes(), before_of_others = others.bytes();
      blocks.take(1, bytes);
      others.take(1, bytes);
      slabs_of_others += others.bytes() != before_of_others;
      slabs += blocks.bytes() != before;
    }
  }
  CHECK(slabs <= slabs_of_others);
  CHECK(blocks.bytes() <= others.bytes() + others.bytes() / 8);
}

TEST_CASE("what comes and goes in turns for several purposes asks the system for nothing once it did so twice") {
  Blocks blocks;
  constexpr std::uint32_t bytes = 8u << 10;
  const auto turn = [&](std::uint32_t purpose) {
    std::vector<void*> taken;
    for (int i = 0; i < 300; ++i) taken.push_back(blocks.take(purpose, bytes));
    const std::size_t all = blocks.bytes();
    for (void* const block : taken) blocks.give_back(block);
    return all;
  };
  for (int round = 0; round < 4; ++round)
    for (std::uint32_t purpose = 1; purpose < 4; ++purpose) turn(purpose);
  const std::size_t all = blocks.bytes();
  for (int round = 0; round < 4; ++round)
    for (std::uint32_t purpose = 1; purpose < 4; ++purpose) REQUIRE(turn(purpose) == all);
}

TEST_CASE("blocks that come and go at random overlap no other and keep what is in them") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  const bool expects = GENERATE(true, false);
  CAPTURE(seed, expects);
  std::mt19937_64 random(seed);
  Blocks blocks;
  struct Taken {
    std::byte* at;
    std::uint32_t bytes;
    std::byte value;
  };
  std::vector<Taken> taken;
  const auto all_there = [](const Taken& t) {
    return std::ranges::all_of(std::span(t.at, t.bytes), [&](std::byte b) { return b == t.value; });
  };
  std::size_t in_use = 0;
  for (int step = 0; step < 6000; ++step) {
    if (expects && random() % 50 == 0)
      blocks.expect(static_cast<std::uint32_t>(random() % 3), static_cast<std::uint32_t>(64u << random() % 6),
                    random() % 200);
    if (expects && random() % 100 == 0) blocks.forget_expected();
    const bool grows = random() % 100 < (step / 1000 % 2 ? 30u : 70u);
    if (grows || taken.empty()) {
      const auto bytes = static_cast<std::uint32_t>(64u << random() % 6);
      auto* const at = static_cast<std::byte*>(blocks.take(static_cast<std::uint32_t>(random() % 3), bytes));
      taken.push_back({at, bytes, static_cast<std::byte>(random())});
      std::memset(at, static_cast<int>(taken.back().value), bytes);
      in_use += bytes;
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      REQUIRE(all_there(taken.back()));
      in_use -= taken.back().bytes;
      blocks.give_back(taken.back().at);
      taken.pop_back();
    }
    REQUIRE(blocks.bytes() >= in_use);
  }
  for (const Taken& t : taken) REQUIRE(all_there(t));
  for (const Taken& t : taken) blocks.give_back(t.at);
  blocks.forget_expected();
  blocks.take(3, 64);
  // Who expects again and again what does not come is as one whose blocks come and go: that is kept.
  if (!expects) CHECK(blocks.bytes() <= 2048);
}

TEST_CASE("a column of entities that are created together breaks off once in 4 MiB, and seldom where they are loaded") {
  const auto breaks = [](const EntityRegistry& registry) {
    std::size_t all = 0;
    for (const auto& archetype : registry.host().storage().archetypes()) {
      if (archetype->rows() < 1000) continue;
      for (const std::uint16_t slot : {std::uint16_t{column_ids}, archetype->column(TypeTraits<game::Health>::id)}) {
        const std::byte* end = nullptr;
        for (const Chunk* chunk : archetype->groups[0].chunks) {
          const std::byte* const column = chunk->slots()[slot].data;
          all += column != end;
          end = column + std::size_t{chunk->capacity} * archetype->slot_bytes[slot] + (poisons ? 64 : 0);
        }
      }
    }
    return all;
  };
  EntityRegistry registry;
  (void)registry.create_many(1, game::Health{});  // from now on the short way
  const auto all = registry.create_many(700'000, game::Health{});
  CHECK(breaks(registry) <= 3 + 3);  // the first chunk, and two slabs
  const std::size_t bytes = 700'000 * (sizeof(Entity) + sizeof(game::Health));
  CHECK(registry.host().storage().chunk_bytes() < bytes + bytes / 20);
  Keeper keeper;
  keeper.save(registry);
  EntityRegistry loaded;
  REQUIRE(loaded.load(keeper));
  CHECK(loaded.hash() == registry.hash());
  // Of each column: the small slabs of the first 8 chunks, then twice as many chunks are believed each time.
  CHECK(breaks(loaded) <= 2 * (9 + 7));
  CHECK(loaded.host().storage().chunk_bytes() < bytes + bytes / 20);
}

#ifdef MUSTER_ASAN
TEST_CASE("who touches a block that was given back, or runs over its end, is caught") {
  Blocks blocks;
  auto* const kept = static_cast<std::byte*>(blocks.take(1, 256));
  auto* const block = static_cast<std::byte*>(blocks.take(1, 256));
  CHECK_FALSE(__asan_address_is_poisoned(block));
  CHECK_FALSE(__asan_address_is_poisoned(block + 255));
  CHECK(__asan_address_is_poisoned(block + 256));
  blocks.give_back(block);
  CHECK(__asan_address_is_poisoned(block));
  CHECK(__asan_address_is_poisoned(block + 255));
  CHECK_FALSE(__asan_address_is_poisoned(kept));
}

TEST_CASE("who touches a column of a chunk that went, or runs over its end, is caught") {
  EntityRegistry registry;
  const auto all = registry.create_many(3000, game::Health{}, game::Armor{});
  const Chunk& chunk = *registry.host().storage().find(all.back()).chunk;
  std::vector<const std::byte*> columns;
  for (std::uint32_t slot = 0; slot < chunk.archetype->slot_types.size(); ++slot)
    if (const std::byte* const column = chunk.slots()[slot].data) {
      columns.push_back(column);
      CHECK(__asan_address_is_poisoned(column + std::size_t{chunk.capacity} * chunk.archetype->slot_bytes[slot]));
    }
  CHECK(columns.size() == 3);
  registry.push(std::span<const Entity>(all).subspan(100), Destroy{});
  for (const std::byte* const column : columns) CHECK(__asan_address_is_poisoned(column));
}
#endif

TEST_CASE("a pass goes through chunks of many archetypes and depths in row order, each row once") {
  // Enough for several chunks in some archetypes, one row in others: what is asked for ahead must not be what is called.
  EntityRegistry registry;
  std::vector<Entity> expected;
  const auto add = [&](std::uint32_t count, const auto&... values) {
    for (const Entity e : registry.create_many(count, values...)) expected.push_back(e);
  };
  add(3000, game::Health{});
  add(1, game::Health{}, game::Armor{});
  add(1500, game::Health{}, game::Armor{}, game::Count{});
  add(7, game::Health{}, game::Count{});
  for (int i = 0; i < 200; ++i)
    expected.push_back(registry.create_under(expected[static_cast<std::size_t>(i)], {}, game::Health{}));
  std::vector<Entity> seen;
  const auto s = registry.subscribe(
      "sees", [&](const Update&, game::Health&, const game::Armor*, Entity self) { seen.push_back(self); });
  registry.push(Update{});
  CHECK(seen == expected);
}
