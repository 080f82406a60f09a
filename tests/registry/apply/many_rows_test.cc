// Rows that come by the thousand, rows that move in a registry so large that memory is asked for ahead, and rows of many shapes that move and go are those of the general way.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <span>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/counted_bytes.h"
#include "tests/registry/game.h"

namespace many_rows_test {

using namespace muster;
using namespace game;

namespace {

/// Creates and destroys many, again and again; gives all ids that it was given.
std::vector<Entity> come_and_go(EntityRegistry& r, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Entity> all, there;
  for (int round = 0; round < 30; ++round) {
    const std::uint32_t count = static_cast<std::uint32_t>(random()) % (round % 7 == 0 ? 40'000 : 1500);
    std::vector<Entity> made;
    switch (random() % 4) {
      case 0: made = r.create_many(count); break;
      case 1: made = r.create_many(count, Velocity{.by = {1, 2, static_cast<float>(round)}}); break;
      case 2: made = r.create_many(count, Health{static_cast<float>(round)}, Count{7}); break;
      default: made = r.create_many(count, Position{}, Velocity{.by = {3, 4, 5}}, Armor{}); break;
    }
    REQUIRE(made.size() == count);
    all.insert(all.end(), made.begin(), made.end());
    there.insert(there.end(), made.begin(), made.end());
    if (round % 3 == 0)  // so that many indices wait one behind the other
      std::ranges::sort(there, {}, &Entity::index);
    else
      std::ranges::shuffle(there, random);
    const std::size_t gone = there.size() * (random() % 10) / 10;
    r.push(std::span<const Entity>(there).first(gone), Destroy{});
    there.erase(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(gone));
    there.push_back(r.create(Health{1}));
  }
  return all;
}

}  // namespace

TEST_CASE(
    "many that are created at once have the ids, rows and values that the general way gives, whether a sink looks or "
    "nobody") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    EntityRegistry alone, told, slow({.shortcuts = false});
    CountedBytes sink;
    told.host().add_sink(sink);
    const std::vector<Entity> ids = come_and_go(alone, seed);
    CHECK(come_and_go(told, seed) == ids);
    CHECK(come_and_go(slow, seed) == ids);
    CHECK(sink.bytes > 0);
    CHECK(told.hash() == alone.hash());
    CHECK(slow.hash() == alone.hash());
    CHECK(slow.host().counters().messages == alone.host().counters().messages);
    CHECK(slow.sequence() == alone.sequence());
  }
}

TEST_CASE("rows move in a large registry as they do the general way, in order and at random") {
  const auto moved = [](bool shortcuts) {
    EntityRegistry r({.shortcuts = shortcuts});
    std::vector<Entity> all = r.create_many(310'000, Velocity{.by = {1, 2, 3}}, Health{5});
    for (std::size_t i = 0; i < all.size(); i += 100) r.set(all[i], Health{static_cast<float>(i)});
    std::vector<std::uint64_t> hashes;
    const auto give_and_take = [&] {
      const auto some = std::span(all).first(12'000);
      for (const Entity e : some) r.set(e, Count{3});
      hashes.push_back(r.hash());
      for (const Entity e : some) r.remove<Count>(e);
      hashes.push_back(r.hash());
    };
    give_and_take();
    std::ranges::reverse(all);
    give_and_take();
    std::ranges::shuffle(all, std::mt19937(3));
    give_and_take();
    return hashes;
  };
  CHECK(moved(true) == moved(false));
}

namespace {

/// Gives and takes components of many sizes one at a time, and destroys, in many archetypes in turns.
void give_take_destroy(EntityRegistry& r, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&] { return static_cast<std::uint32_t>(random() % 100); };
  std::vector<Entity> there;
  for (int step = 0; step < 20'000; ++step) {
    if (there.size() < 300 || random() % 8 == 0) {
      there.push_back(r.create(Velocity{.by = {1, 2, static_cast<float>(number())}}));
      continue;
    }
    const std::size_t at = random() % there.size();
    const Entity e = there[at];
    switch (random() % 18) {
      case 0: r.set(e, Health{static_cast<float>(number())}); break;
      case 1: r.set(e, Armor{static_cast<float>(number())}); break;
      case 2: r.set(e, Position{.at = {4, 5, static_cast<float>(number())}}); break;
      case 3: r.set(e, Member{.squad = there[number()]}); break;
      case 4: r.set(e, Count{number()}); break;
      case 5: r.set(e, Slots{}); break;
      case 6: r.set(e, Oath{.sworn = number()}); break;
      case 7: r.set(e, Count{number()}, Health{3}); break;
      case 8: r.remove<Health>(e); break;
      case 9: r.remove<Armor>(e); break;
      case 10: r.remove<Position>(e); break;
      case 11: r.remove<Member>(e); break;
      case 12: r.remove<Count>(e); break;
      case 13: r.remove<Slots>(e); break;
      case 14: r.remove<Oath>(e); break;
      case 15: r.remove<Velocity>(e); break;
      case 16:
        if (random() % 50 == 0) r.host().begin_version();
        break;
      default:
        r.destroy(e);
        there[at] = there.back();
        there.pop_back();
        break;
    }
  }
}

}  // namespace

TEST_CASE("rows with any number of columns of any size move and go as they do the general way") {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    EntityRegistry fast, slow({.shortcuts = false});
    give_take_destroy(fast, seed);
    give_take_destroy(slow, seed);
    CHECK(fast.hash() == slow.hash());
    CHECK(fast.host().counters().messages == slow.host().counters().messages);
    CHECK(fast.host().counters().refused == slow.host().counters().refused);
  }
}

}  // namespace many_rows_test
