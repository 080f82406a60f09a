// A tree of many nodes: a child is found by its name in steps that do not grow with its siblings; counted, not timed.
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "registry/entity_registry.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"

using namespace muster;

TEST_CASE("setting components by path compares about one name per node, however many siblings there are") {
  TemplateTree tree("wide");
  constexpr std::uint32_t count = 10'000;
  for (std::uint32_t i = 0; i < count; ++i) tree.set("n" + std::to_string(i), game::Health{.value = float(i)});
  for (std::uint32_t i = 0; i < count; ++i) tree.set("n" + std::to_string(i), game::Armor{});
  CHECK(tree.root().children().size() == count);
  CHECK(tree.root().compared() <= 2 * count + 16 * 16);
  REQUIRE(tree.find("n7777"));
  CHECK(tree.find("n7777")->name() == "n7777");
  CHECK(tree.find("n10000") == nullptr);

  TemplateTree copy("copy");
  copy.merge(copy.root(), tree);
  copy.merge(copy.root(), tree);
  CHECK(copy.root().children().size() == count);
  CHECK(copy.root().compared() <= 2 * count + 16 * 16);
}

TEST_CASE("children are found by name and key after others came and went, the first of two equal names first") {
  std::mt19937 random(41);
  TemplateTree tree("random");
  std::vector<std::pair<std::uint32_t, std::string>> expected;  // in order
  TemplateTree::Node& top = tree.root();
  for (int step = 0; step < 4000; ++step) {
    const std::string name = random() % 20 == 0 ? std::string() : "n" + std::to_string(random() % 300);
    switch (random() % 4) {
      case 0:
      case 1: expected.emplace_back(tree.add_child(top, name).key(), name); break;
      case 2:
        if (random() % 2 && !expected.empty()) {
          const auto at = expected.begin() + static_cast<std::ptrdiff_t>(random() % expected.size());
          tree.remove_child(top, at->first);
          CHECK(tree.find(at->first) == nullptr);
          expected.erase(at);
        }
        break;
      default: break;
    }
    const auto first = std::ranges::find(expected, name, &std::pair<std::uint32_t, std::string>::second);
    const TemplateTree::Node* found = top.child(name);
    if (name.empty() || first == expected.end()) {
      REQUIRE(found == nullptr);
    } else {
      REQUIRE(found);
      REQUIRE(found->key() == first->first);
      REQUIRE(tree.find(first->first) == found);
    }
  }
  REQUIRE(top.children().size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(top.children()[i].key() == expected[i].first);
    REQUIRE(top.children()[i].name() == expected[i].second);
  }
}

TEST_CASE("a template that was compiled is read back with its nodes, and compiles to the same bytes") {
  std::mt19937 random(42);
  TemplateTree tree("random");
  std::vector<std::uint32_t> keys{0};
  for (int i = 0; i < 300; ++i) {
    TemplateTree::Node& above = *tree.find(keys[random() % keys.size()]);
    TemplateTree::Node& made = tree.add_child(above, random() % 3 ? "n" + std::to_string(i) : "");
    keys.push_back(made.key());
    tree.set(made, TypeTraits<game::Health>::id, TypeTraits<game::Health>::fingerprint,
             std::vector<std::byte>(sizeof(game::Health)));
  }
  const std::vector<std::byte> encoded = encode(*tree.compile());
  TemplateTree again = TemplateTree::read(DefineTemplateView::from(encoded));
  CHECK(encode(*again.compile()) == encoded);
  TemplateTree merged("random");
  merged.merge(merged.root(), again);
  CHECK(encode(*merged.compile()) == encoded);
}
