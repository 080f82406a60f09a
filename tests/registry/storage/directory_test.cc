#include "registry/storage/directory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace muster;

TEST_CASE("a locator gives back the chunk and the row it was made of, and where they end") {
  for (const std::uint32_t chunk : {0u, 1u, 77u, Locator::chunks_max - 1})
    for (const std::uint32_t row : {0u, 1u, 512u, Locator::rows_max - 1}) {
      const Locator at(chunk, row);
      CAPTURE(chunk, row);
      CHECK(at.has_row());
      CHECK_FALSE(at.can_be_made());
      CHECK(at.chunk() == chunk);
      CHECK(at.row() == row);
      CHECK(at.bits() < Locator::no_row);
      CHECK(Locator::from_bits(at.bits()) == at);
    }
  CHECK(Locator(3, 4) + 5 == Locator(3, 9));
  CHECK(Locator(3, Locator::rows_max - 1) + 1 == Locator(4, 0));
}

TEST_CASE("a locator without a row gives back its state, and only reserved and granted ids can be made") {
  for (const IdState state : {IdState::free, IdState::reserved, IdState::granted, IdState::parked}) {
    const Locator none(state);
    CHECK_FALSE(none.has_row());
    CHECK(none.state() == state);
    CHECK(none.can_be_made() == (state == IdState::reserved || state == IdState::granted));
    CHECK(none.bits() >= Locator::no_row);
  }
  CHECK(DirectoryEntry{}.locator == Locator(IdState::free));
}

TEST_CASE("one compare tells whether an id is current and has a row, for random ids and entries") {
  std::mt19937_64 random(10);
  const auto generation = [&] { return static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % 3); };
  for (int i = 0; i < 20'000; ++i) {
    const Locator locator = random() % 2 ? Locator(static_cast<std::uint32_t>(random() % Locator::chunks_max),
                                                   static_cast<std::uint32_t>(random() % Locator::rows_max))
                                         : Locator(static_cast<IdState>(random() % 4));
    const DirectoryEntry entry{locator, generation()};
    const Entity e{static_cast<std::uint32_t>(random()), generation()};
    const std::uint64_t found = locator_of(entry, e);
    const bool current = entry.generation == e.generation;
    REQUIRE((found < Locator::no_row) == (current && locator.has_row()));
    if (current) REQUIRE(found == locator.bits());
  }
}

TEST_CASE("an id's entry is put at its index, with its generation") {
  DirectoryEntry entries[4];
  put_entry(entries, Entity{2, 9}.bits(), Locator(5, 6));
  CHECK(entries[2].locator == Locator(5, 6));
  CHECK(entries[2].generation == 9);
  CHECK(entries[1].generation == 0);
  CHECK(entries[3].generation == 0);
}
