#include "server/watches/entity_set.h"

#include <catch2/catch.hpp>
#include <vector>

namespace entity_set_test {

using namespace muster;

TEST_CASE("a set of entities has of an index one generation, and gives memory back", "[follow]") {
  EntitySet set;
  REQUIRE_FALSE(set.contains({}));
  REQUIRE_FALSE(set.erase({5, 1}));
  REQUIRE(set.insert({5, 1}));
  REQUIRE_FALSE(set.insert({5, 1}));
  REQUIRE(set.insert({5, 2}));
  REQUIRE(set.insert({1023, 1}));
  REQUIRE(set.insert({1024, 7}));
  REQUIRE(set.size() == 3);
  REQUIRE_FALSE(set.contains({5, 1}));
  REQUIRE_FALSE(set.erase({5, 1}));
  std::vector<Entity> all;
  set.each([&](Entity e) { all.push_back(e); });
  REQUIRE(all == std::vector<Entity>{{5, 2}, {1023, 1}, {1024, 7}});
  EntitySet other;
  for (const Entity e : {Entity{1024, 7}, Entity{5, 2}}) other.insert(e);
  REQUIRE_FALSE(set == other);
  other.insert({1023, 2});
  REQUIRE_FALSE(set == other);
  other.insert({1023, 1});
  other.insert({5000, 1});
  other.erase({5000, 1});
  REQUIRE(set == other);
  for (const Entity e : all) REQUIRE(set.erase(e));
  REQUIRE(set.empty());
  REQUIRE_FALSE(set.contains({1024, 7}));
  set.insert({1u << 20, 1});
  set.clear();
  REQUIRE(set.size() == 0);
  REQUIRE_FALSE(set.contains({1u << 20, 1}));
}

}  // namespace entity_set_test
