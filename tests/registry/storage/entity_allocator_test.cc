#include "registry/storage/directory.h"

#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "tests/registry/death.h"
#include "tests/support/seeds.h"

namespace entity_allocator_test {

using namespace muster;

namespace {

/// Generations of two bits, no rest in the FIFO: wraps after a few steps.
template <OnWrap wrap>
struct TinyLayout {
  using Id = Entity;
  using Slot = DirectoryEntry;
  static constexpr std::uint64_t index_count = 6;
  static constexpr std::uint32_t generation_last = 3, first_generation = 1, first_index = 1, minimum_free = 0;
  static constexpr OnWrap on_wrap = wrap;
  static constexpr Id make(std::uint32_t index, std::uint32_t generation) noexcept { return {index, generation}; }
  static constexpr std::uint32_t index(Id id) noexcept { return id.index; }
  static constexpr std::uint32_t generation(Id id) noexcept { return id.generation; }
  static constexpr std::uint32_t generation(const Slot& slot) noexcept { return slot.generation; }
  static constexpr void set_generation(Slot& slot, std::uint32_t g) noexcept { slot.generation = g; }
};

/// The rule itself, written down with a deque and a vector.
struct ByTheRule {
  std::vector<std::uint32_t> generations{0};
  std::deque<std::uint32_t> free;
  Entity create() {
    if (free.size() > 1024) {
      const std::uint32_t index = free.front();
      free.pop_front();
      return {index, generations[index]};
    }
    generations.push_back(1);
    return {static_cast<std::uint32_t>(generations.size() - 1), 1};
  }
  bool release(Entity e) {
    if (e.index >= generations.size() || generations[e.index] != e.generation) return false;
    ++generations[e.index];
    free.push_back(e.index);
    return true;
  }
};

}  // namespace

TEST_CASE("the id allocator gives the same ids as the rule says, for random programs", "[random]") {
  for (const std::uint64_t seed : test::seeds("ids", 1, 200)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    EntityAllocator<DirectoryLayout> allocator;
    ByTheRule rule;
    std::vector<Entity> alive, dead;
    std::set<Entity> ever;
    for (int step = 0; step < 60'000; ++step) {
      // Phases of growth and of decline, so that the FIFO fills beyond its rest and drains again.
      const bool grow = (step / 5000) % 2 == 0 ? random() % 3 != 0 : random() % 3 == 0;
      if (grow || alive.empty()) {
        const Entity peeked = allocator.peek();
        const Entity e = allocator.create();
        REQUIRE(e == peeked);
        REQUIRE(e == rule.create());
        REQUIRE(e.generation >= 1);
        REQUIRE(ever.insert(e).second);
        alive.push_back(e);
      } else {
        std::swap(alive[random() % alive.size()], alive.back());
        const Entity e = alive.back();
        alive.pop_back();
        REQUIRE(allocator.current(e));
        REQUIRE(allocator.release(e));
        REQUIRE(rule.release(e));
        dead.push_back(e);
      }
      if (!dead.empty()) {
        const Entity stale = dead[random() % dead.size()];
        REQUIRE_FALSE(allocator.current(stale));
        REQUIRE_FALSE(allocator.release(stale));
      }
    }
    for (const Entity e : alive) REQUIRE(allocator.current(e));
    CHECK(allocator.free_queue().size() == rule.free.size());
    CHECK(allocator.indices() == rule.generations.size());
    CHECK_FALSE(allocator.current({0, 0}));
  }
}

TEST_CASE("an index is reused only while the FIFO holds more than 1024 free ones, the oldest first") {
  EntityAllocator<DirectoryLayout> allocator;
  std::vector<Entity> made;
  for (int i = 0; i < 2000; ++i) made.push_back(allocator.create());
  for (int i = 0; i < 1024; ++i) REQUIRE(allocator.release(made[static_cast<std::size_t>(i)]));
  CHECK(allocator.create() == Entity{2001, 1});
  REQUIRE(allocator.release(made[1024]));
  CHECK(allocator.create() == Entity{made[0].index, 2});
  CHECK(allocator.create() == Entity{2002, 1});
}

TEST_CASE("an index whose generation would wrap is retired, so that no id names two entities") {
  EntityAllocator<TinyLayout<OnWrap::retire>> allocator;
  std::set<Entity> ever;
  // Five usable indices with three generations each are fifteen ids, and no sixteenth.
  for (int i = 0; i < 15; ++i) {
    const Entity e = allocator.create();
    REQUIRE(ever.insert(e).second);
    REQUIRE(allocator.release(e));
    REQUIRE_FALSE(allocator.current(e));
  }
  CHECK(allocator.retired() == 5);
  CHECK(allocator.free_queue().empty());
  for (const Entity e : ever) CHECK_FALSE(allocator.release(e));
  CHECK_THAT(test::last_words([&] { (void)allocator.create(); }), Catch::Contains("all indices are in use"));
}

TEST_CASE("the last generation of the registry's own layout is retired") {
  EntityAllocator<DirectoryLayout> allocator;
  const Entity first = allocator.create();
  allocator.slot(first.index).generation = DirectoryLayout::generation_last;
  const Entity last{first.index, DirectoryLayout::generation_last};
  REQUIRE(allocator.current(last));
  REQUIRE(allocator.release(last));
  CHECK(allocator.retired() == 1);
  CHECK(allocator.free_queue().empty());
  CHECK_FALSE(allocator.current(last));
  CHECK_FALSE(allocator.current(first));
}

TEST_CASE("Bitsquid's layout: 22 bits of index, 8 of generation, and index 0 is used") {
  EntityAllocator<BitsquidLayout> allocator;
  CHECK(allocator.create() == 0u);
  CHECK(allocator.create() == 1u);
  CHECK(BitsquidLayout::make(5, 3) == (3u << 22 | 5u));
  CHECK(BitsquidLayout::index(3u << 22 | 5u) == 5);
  CHECK(BitsquidLayout::generation(3u << 22 | 5u) == 3);
  // The id fits 30 bits, so a light userdata of 32 bits has two to spare.
  CHECK(BitsquidLayout::make((1u << 22) - 1, 255) < 1u << 30);
  REQUIRE(allocator.release(0));
  CHECK_FALSE(allocator.current(0));
  CHECK_FALSE(allocator.release(0));
  // One free index rests until more than 1024 do.
  CHECK(allocator.create() == 2u);
}

TEST_CASE("Bitsquid's layout reuses an index after its generation wraps") {
  EntityAllocator<BitsquidLayout> allocator;
  std::vector<std::uint32_t> made;
  for (int i = 0; i < 1025; ++i) made.push_back(allocator.create());
  for (const std::uint32_t id : made) REQUIRE(allocator.release(id));
  // With exactly one index more than the rest, indices come round in order.
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < 1025 * 255; ++i) {
    last = allocator.create();
    REQUIRE(BitsquidLayout::index(last) == i % 1025);
    REQUIRE(BitsquidLayout::generation(last) == 1 + i / 1025);
    REQUIRE(allocator.release(last));
  }
  CHECK(BitsquidLayout::generation(last) == 255);
  CHECK(allocator.create() == 0u);
  CHECK(allocator.retired() == 0);
}

}  // namespace entity_allocator_test
