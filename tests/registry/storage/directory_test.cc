#include "registry/storage/directory.h"
#include "registry/storage/drawn_ids.h"

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

TEST_CASE(
    "ids that are drawn have their generations, rows and marked pages, however their indices follow one another") {
  constexpr std::uint32_t page = 1u << id_page_bits, first = page - 40, count = 200;
  for (const std::uint32_t gap :
       {count, 0u, 31u, 32u, 33u, 63u, 100u, 199u}) {  // that many in line, then one is left out
    CAPTURE(gap);
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < count + DrawnIds::asked_ahead; ++i) indices.push_back(first + i + (i >= gap ? 1 : 0));
    if (gap == 63u) std::swap(indices[70], indices[71]);
    std::vector<DirectoryEntry> entries(3 * page);
    for (std::uint32_t i = 0; i < entries.size(); ++i) entries[i] = {Locator(IdState::free), i * 7 + 1};
    for (const bool asks : {false, true}) {
      std::vector<DirectoryEntry> drawn = entries;
      std::vector<std::uint64_t> versions(3, 1);
      std::vector<Entity> ids(count + 1, Entity{5, 5});
      const DrawnIds draws{drawn.data(), versions.data(), 9};
      if (asks)
        draws.draw<true>(indices.data(), count, ids.data(), Locator(3, 17));
      else
        draws.draw<false>(indices.data(), count, ids.data(), Locator(3, 17));
      CHECK(ids[count] == Entity{5, 5});
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t index = indices[i];
        REQUIRE(ids[i] == Entity{index, index * 7 + 1});
        REQUIRE(drawn[index].locator == Locator(3, 17 + i));
        REQUIRE(drawn[index].generation == index * 7 + 1);
        drawn[index] = entries[index];
      }
      const auto same = [](const DirectoryEntry& a, const DirectoryEntry& b) {
        return a.locator == b.locator && a.generation == b.generation;
      };
      CHECK(std::ranges::equal(drawn, entries, same));
      CHECK(versions == std::vector<std::uint64_t>{9, 9, 1});
    }
  }
}
