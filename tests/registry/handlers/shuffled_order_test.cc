// RegistryOptions::shuffle_unordered: tests that a program does not depend on an order that it
// never asked for.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

namespace shuffled_order_test {

using namespace muster;

namespace {

using Names = std::vector<std::string>;

/// Returns the names of handlers in the order in which they run.
Names order_with(std::uint64_t seed) {
  EntityRegistry registry({.shuffle_unordered = seed});
  Names called;
  Handlers all;
  const auto add = [&](const std::string& name, HandlerOptions options = {}) {
    all.add(registry.subscribe(name, [&called, name](const game::Ping&) { called.push_back(name); }, options));
  };
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) add(name);
  add("first", {.priority = -1});
  add("last", {.priority = 1});
  add("g", {.before = {"a"}});
  add("h", {.after = {"f"}});
  registry.push(game::Ping{});
  return called;
}
auto place(const Names& names, const std::string& name) { return std::ranges::find(names, name) - names.begin(); }

}  // namespace

TEST_CASE("without a seed, handlers run in the order of their names") {
  CHECK(order_with(0) == Names{"first", "b", "c", "d", "e", "f", "g", "a", "h", "last"});
}

TEST_CASE("a seed draws an order, always the same one, and other seeds draw others") {
  std::set<Names> orders;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Names drawn = order_with(seed);
    CHECK(order_with(seed) == drawn);
    orders.insert(drawn);
  }
  CHECK(orders.size() > 40);
}

TEST_CASE("whatever the seed, before, after and priority are obeyed") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Names drawn = order_with(seed);
    REQUIRE(drawn.size() == 10);
    CHECK(place(drawn, "g") < place(drawn, "a"));
    CHECK(place(drawn, "f") < place(drawn, "h"));
    CHECK(drawn.front() == "first");
    CHECK(drawn.back() == "last");
  }
}

TEST_CASE("the drawn order does not depend on the order of subscription") {
  const auto order_of = [](const Names& names) {
    EntityRegistry registry({.shuffle_unordered = 7});
    Names called;
    Handlers all;
    for (const std::string& name : names)
      all.add(registry.subscribe(name, [&called, name](const game::Ping&) { called.push_back(name); }));
    registry.push(game::Ping{});
    return called;
  };
  CHECK(order_of({"a", "b", "c", "d", "e"}) == order_of({"e", "c", "a", "d", "b"}));
}

}  // namespace shuffled_order_test
