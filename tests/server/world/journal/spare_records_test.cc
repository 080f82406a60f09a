// Memory of groups that were written, used again.
#include "server/world/journal/spare_records.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "tests/server/world/journal/recorded_game.h"

using namespace muster;
using namespace muster::test;

namespace {

std::vector<std::byte> buffer(std::size_t bytes) {
  std::vector<std::byte> one;
  one.reserve(bytes);
  return one;
}

}  // namespace

TEST_CASE("the two largest buffers of groups are spare, and none that is small or very large") {
  SpareRecords spare;
  spare.give(buffer(SpareRecords::least - 1));
  spare.give(buffer(SpareRecords::most + 1));
  CHECK(spare.bytes() == 0);
  spare.give(buffer(1u << 20));
  spare.give(buffer(3u << 20));
  spare.give(buffer(2u << 20));
  spare.give(buffer(1u << 19));
  CHECK(spare.bytes() == 5u << 20);
  CHECK(spare.take(1000).capacity() == 0);
  CHECK(spare.take(4u << 20).capacity() == 0);
  CHECK(spare.bytes() == 5u << 20);
  CHECK(spare.take((2u << 20) + 1).capacity() == 3u << 20);
  std::vector<std::byte> used(1u << 20, std::byte{1});
  spare.give(std::move(used));
  CHECK(spare.take(1u << 20).empty());
}

TEST_CASE("a buffer that nobody takes while 256 groups come goes back to the system") {
  SpareRecords spare;
  spare.give(buffer(1u << 20));
  for (int group = 0; group < 255; ++group) spare.give(buffer(100));
  CHECK(spare.bytes() == 1u << 20);
  std::vector<std::byte> taken = spare.take(1u << 20);
  CHECK(taken.capacity() == 1u << 20);
  spare.give(std::move(taken));
  for (int group = 0; group < 255; ++group) spare.give(buffer(100));
  CHECK(spare.bytes() == 1u << 20);
  spare.give(buffer(100));
  CHECK(spare.bytes() == 0);
}

TEST_CASE("a group with a large input takes the memory of one before it, and says the same as one that does not") {
  SpareRecords spare;
  RecordedGame with, without;
  with.record(1u << 20, 0, &spare);
  without.record();
  const std::byte* at = nullptr;
  for (int tick = 0; tick < 4; ++tick) {
    for (RecordedGame* const game : {&with, &without}) {
      if (tick == 0) game->registry.create_many(100'000, game::Health{.value = 100});
      game->registry.push(game::Ping{.hops = 0});
      std::vector<Entity> all;
      game->registry.each<game::Health>([&](Entity e, const game::Health&) { all.push_back(e); });
      game->registry.push(all, game::Damage{.amount = 1});
    }
    std::vector<JournalGroup> ones = with.recorder->take(), others = without.recorder->take();
    REQUIRE(ones.size() == others.size());
    for (std::size_t i = 0; i < ones.size(); ++i) {
      CHECK(ones[i].records == others[i].records);
      CHECK(ones[i].last == others[i].last);
    }
    REQUIRE(ones.back().records.size() > 800'000);
    if (tick > 1)
      CHECK(ones.back().records.data() == at);  // the second has room for what a group of that size usually needs
    at = ones.back().records.data();
    const std::size_t room = ones.back().records.capacity();
    spare.give(std::move(ones.back().records));
    CHECK(spare.bytes() >= room);
  }
}
