// Names of a template's nodes, which the index of names leaves out at first: whatever is asked or changed, the answers are
// those of the same tree made one entity at a time.
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"
#include "tests/support/id_or_nil.h"

namespace left_out_names_test {

using namespace muster;
using namespace game;

namespace {

constexpr int children = 5, grandchildren = 3, many = 40;  // more than may be left out

TemplateTree tree() {
  TemplateTree made("camp");
  made.set("", Health{1});
  for (int i = 0; i < children; ++i) {
    const std::string name = "n" + std::to_string(i);
    made.set(name, Health{2});
    for (int j = 0; j < (i == 0 ? many : grandchildren); ++j) made.set(name + "/m" + std::to_string(j), Health{3});
  }
  return made;
}

std::vector<Entity> by_hand(EntityRegistry& r) {
  std::vector<Entity> made{r.create(Health{1})};
  for (int i = 0; i < children; ++i) {
    const Entity child = made.emplace_back(r.create_under(made[0], "n" + std::to_string(i), Health{2}));
    for (int j = 0; j < (i == 0 ? many : grandchildren); ++j)
      made.push_back(r.create_under(child, "m" + std::to_string(j), Health{3}));
  }
  return made;
}

/// What a program of names, moves and ends is answered, in a registry with trees made in one of two ways.
std::vector<std::uint64_t> answers(bool by_template, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  EntityRegistry r;
  r.define_template(tree());
  std::vector<Entity> all;
  // The first are made node by node: their blocks have no open chunk yet.
  for (int i = 0; i < 6; ++i) {
    std::vector<Entity> made;
    if (by_template)
      r.spawn("camp", {.ids = &made}).or_stop();
    else
      made = by_hand(r);
    // Too many to look through, though they have no names: some get them.
    if (i % 2)
      for (int j = 0; j < many; ++j) made.push_back(r.create_under(made[0], {}, Health{5}));
    all.insert(all.end(), made.begin(), made.end());
  }
  const auto any = [&] { return all[below(all.size())]; };
  const auto name = [&] { return (below(2) ? "n" : "m") + std::to_string(below(6)); };
  std::vector<std::uint64_t> heard;
  const auto told = [&](const Receipt& receipt) {
    heard.insert(heard.end(),
                 {receipt.handled, receipt.dead, receipt.refused, static_cast<std::uint64_t>(receipt.refusal.code)});
  };
  for (int step = 0; step < 400; ++step) {
    switch (below(8)) {
      case 0: told(r.rename(any(), name())); break;
      case 1: told(r.reparent(any(), any())); break;
      case 2: told(r.destroy(any())); break;
      case 3: all.push_back(test::id_or_nil(r.create_under(any(), name(), Health{4}))); break;
      case 4: told(r.push(any(), Rename{.name = r.intern(name()), .clash = NameClash::suffix})); break;
      case 5: told(r.rename(any(), "")); break;
      case 6: told(r.reparent(any(), {})); break;
      default: break;
    }
    const Entity parent = any();
    heard.push_back(r.find_child(parent, name()).bits());
    for (Entity child = r.first_child(parent); child; child = r.next_sibling(child)) {
      heard.push_back(child.bits());
      const std::string_view its = r.name(child);
      heard.push_back(text_of(its).hash);
      if (!its.empty()) CHECK(r.find_child(parent, its) == child);
    }
  }
  return heard;
}

}  // namespace

TEST_CASE("names of a spawned tree are found, taken and freed as if it had been made one by one") {
  for (std::uint32_t seed = 1; seed < 20; ++seed) CHECK((answers(true, seed) == answers(false, seed)));
}

TEST_CASE("an only child of a spawned tree is found by its name after it was put before or behind nobody") {
  EntityRegistry r;
  TemplateTree made("pair");
  made.set("", Health{1}).set("only", Health{2});
  r.define_template(made);
  std::vector<Entity> ids;
  r.spawn("pair", {.count = 10, .ids = &ids}).or_stop();  // the first are made node by node
  for (std::size_t i = 0; i < ids.size(); i += 2) {
    REQUIRE(r.reparent(ids[i + 1], ids[i]).handled == 1);
    CHECK(r.find_child(ids[i], "only") == ids[i + 1]);
    CHECK_FALSE(r.create_under(ids[i], "only", Health{3}));  // the name is taken
    CHECK(r.child_count(ids[i]) == 1);
  }
}

}  // namespace left_out_names_test
