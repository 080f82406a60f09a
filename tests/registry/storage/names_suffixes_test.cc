// Which suffixes a name that siblings share may still get.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "registry/storage/names.h"

namespace names_suffixes_test {

using namespace muster;

namespace {

/// Names of roots, without the roots.
struct Roots {
  Storage storage;
  Hierarchy hierarchy{storage};
  Names names{hierarchy};
  TextTable texts;
  std::uint32_t next = 1;

  /// A child of `parent` comes, and gets `name` or the next one.
  Text add(std::string_view name, Entity parent = {}) {
    const Text given = names.free_name(parent, texts.intern(name), texts);
    names.add(parent, given, {next++, 1});
    return given;
  }
  void remove(Text name, Entity parent = {}) { names.remove(parent, name, texts.find(name)); }
};

}  // namespace

TEST_CASE("a sibling that comes where others went gets the smallest suffix, and few are tried however many there are") {
  for (const std::size_t siblings : {300u, 3000u}) {
    Roots roots;
    std::vector<Text> names;
    std::set<std::uint32_t> taken;
    const auto come = [&] {
      std::uint32_t smallest = 1;
      while (taken.contains(smallest)) ++smallest;
      taken.insert(smallest);
      names.push_back(roots.add("orc"));
      REQUIRE(roots.texts.find(names.back()) == (smallest == 1 ? "orc" : "orc~" + std::to_string(smallest)));
    };
    const auto go = [&](std::size_t at) {
      const std::string name(roots.texts.find(names[at]));
      taken.erase(name == "orc" ? 1 : static_cast<std::uint32_t>(std::stoul(name.substr(4))));
      roots.remove(names[at]);
      names[at] = names.back();
      names.pop_back();
    };
    while (names.size() < siblings) come();
    std::mt19937 random(7);
    const std::uint64_t before = roots.names.tried();
    constexpr int times = 200;
    for (int i = 0; i < times; ++i) {
      go(random() % names.size());
      if (i % 8 == 0) go(random() % names.size());
      come();
      if (i % 8 == 0) come();
    }
    CHECK(roots.names.tried() - before <= 4 * times);
  }
}

TEST_CASE("a suffix that somebody took by hand after it came free is stepped over, and comes free again") {
  Roots roots;
  for (int i = 0; i < 5; ++i) roots.add("orc");
  roots.remove(text_of("orc~3"));
  roots.remove(text_of("orc~4"));
  CHECK(roots.add("orc~3") == text_of("orc~3"));
  CHECK(roots.add("orc") == text_of("orc~4"));
  CHECK(roots.add("orc") == text_of("orc~6"));
  roots.remove(text_of("orc~3"));
  CHECK(roots.add("orc") == text_of("orc~3"));
}

TEST_CASE("nothing is remembered of a name whose siblings have all gone") {
  Roots roots;
  for (std::uint32_t parent = 1000; parent < 1100; ++parent) {
    const Entity here{parent, 1};
    std::vector<Text> names;
    for (int i = 0; i < 4; ++i) names.push_back(roots.add("orc", here));
    std::ranges::rotate(names, names.begin() + parent % 4);
    for (const Text name : names) roots.remove(name, here);
  }
  CHECK(roots.names.suffixed() == 0);
}

}  // namespace names_suffixes_test
