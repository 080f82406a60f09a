// What is kept of rows that were encoded: for whom it is found, how much it is, and until when.
#include "server/watches/equal_rows.h"

#include <catch2/catch.hpp>
#include <vector>

namespace equal_rows_test {

using namespace muster;

TEST_CASE("what equal watches are told is kept up to a bound, then all of it is forgotten but by who sends it",
          "[watch]") {
  EqualRows rows;
  const std::vector<Entity> entities = {{1, 1}, {2, 1}};
  const std::vector<std::byte> batches(EqualRows::bytes_max / 4);
  const auto key = [](std::uint64_t look) { return EqualRows::Key{.look = look, .component = 7}; };
  // What takes another's place counts once.
  for (int i = 0; i < 20; ++i) rows.keep(key(1), entities, batches);
  const EqualRows::Batches sent = rows.find(key(1), entities);
  REQUIRE(sent);
  for (std::uint64_t look = 2; look <= 4; ++look) rows.keep(key(look), entities, batches);
  for (std::uint64_t look = 1; look <= 4; ++look) CHECK(rows.find(key(look), entities));
  rows.keep(key(5), entities, batches);
  for (std::uint64_t look = 1; look <= 4; ++look) CHECK_FALSE(rows.find(key(look), entities));
  CHECK(rows.find(key(5), entities));
  CHECK(*sent == batches);
  CHECK(sent.use_count() == 1);
  // Others are not told it.
  CHECK_FALSE(rows.find(key(5), std::span(entities).first(1)));
  EqualRows::Key other = key(5);
  other.component = 8;
  CHECK_FALSE(rows.find(other, entities));
}

}  // namespace equal_rows_test
