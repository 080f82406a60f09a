#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

#include "messages/poison.h"
#include "registry/entity_registry.h"
#include "registry/storage/blocks.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

std::uintptr_t number(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

TEST_CASE("blocks of one size lie one behind the other, and on pages where they are whole pages") {
  Blocks blocks;
  constexpr std::uint32_t bytes = 32u << 10;
  std::vector<void*> taken;
  for (int i = 0; i < 2000; ++i) {
    taken.push_back(blocks.take(bytes));
    std::memset(taken.back(), i, bytes);
    if (i % 3 == 0) std::memset(blocks.take(192), i, 192);  // others between them change nothing
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

TEST_CASE("a block that was given back is the next of its size, and of no other") {
  Blocks blocks;
  void* const large = blocks.take(4096);
  void* const small = blocks.take(128);
  blocks.give_back(large, 4096);
  blocks.give_back(small, 128);
  CHECK(blocks.take(128) == small);
  CHECK(blocks.take(4096) == large);
}

#ifdef MUSTER_ASAN
TEST_CASE("who touches a block that was given back, or runs over its end, is caught") {
  Blocks blocks;
  auto* const block = static_cast<std::byte*>(blocks.take(256));
  CHECK_FALSE(__asan_address_is_poisoned(block));
  CHECK_FALSE(__asan_address_is_poisoned(block + 255));
  CHECK(__asan_address_is_poisoned(block + 256));
  blocks.give_back(block, 256);
  CHECK(__asan_address_is_poisoned(block));
  CHECK(__asan_address_is_poisoned(block + 255));
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
