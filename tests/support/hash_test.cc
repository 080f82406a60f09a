#include <catch2/catch.hpp>

#include "messages/batch.h"
#include "schema/hash.h"

TEST_CASE("the hashes are FNV-1a with its published values") {
  CHECK(muster::hash32("") == 0x811c9dc5u);
  CHECK(muster::hash32("foobar") == 0xbf9cf968u);
  CHECK(muster::hash64("foobar") == 0x85944171f73967e8ull);
}
