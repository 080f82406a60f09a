// What a hierarchy costs per entity must not grow with its depth; counted, not timed.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"

using namespace muster;

TEST_CASE("a group at every depth moves the others only when their list grows to twice its length") {
  constexpr std::uint32_t depths = 20'000;
  Archetype archetype;
  std::vector<Chunk> chunks(depths);
  Group elsewhere;
  std::uint32_t moves = 0;
  for (std::uint32_t depth = 0; depth < depths; ++depth) {
    // A chunk that belongs to nobody is looked at only where all groups are gone through.
    if (depth > 0) chunks[0].group = &elsewhere;
    Group& group = archetype.need_group(depth);
    REQUIRE(&group == &archetype.groups[depth]);
    REQUIRE(archetype.groups.size() == depth + 1);
    group.chunks.push_back(&chunks[depth]);
    chunks[depth].group = &group;
    if (depth > 0 && chunks[0].group != &elsewhere) {
      ++moves;
      for (std::uint32_t i = 0; i <= depth; ++i) REQUIRE(chunks[i].group == &archetype.groups[i]);
    }
    chunks[0].group = archetype.groups.data();
    REQUIRE(&archetype.need_group(depth / 2) == &archetype.groups[depth / 2]);
  }
  CHECK(moves <= 15);  // 2^15 > depths
}

TEST_CASE("what is far below all others has its path, its row and its place after all of them moved") {
  EntityRegistry registry;
  constexpr int depths = 3000;
  std::vector<Entity> line;
  std::string path;
  for (int i = 0; i < depths; ++i) {
    const std::string name = i % 3 == 0 ? std::string() : "n/" + std::to_string(i);
    line.push_back(registry.create_under(line.empty() ? Entity{} : line.back(), name, game::Health{.value = float(i)}));
    path += name.empty() ? "/#" + std::to_string(line.back().index) + ":" + std::to_string(line.back().generation)
                         : "/n\\/" + std::to_string(i);
    if (i == 0 || i == 1 || i == 700 || i == depths - 1) CHECK(registry.path(line.back()) == path);
  }
  for (int i = 0; i < depths; ++i) {
    REQUIRE(registry.get<game::Health>(line[static_cast<std::size_t>(i)]).value == float(i));
    REQUIRE(registry.parent(line[static_cast<std::size_t>(i)]) ==
            (i ? line[static_cast<std::size_t>(i) - 1] : Entity{}));
  }
  registry.destroy(line[10]);
  CHECK(registry.entity_count() == 10);
}

TEST_CASE("the groups that a deep row needed are given back once it has gone, whether or not other rows remain") {
  EntityRegistry registry;
  std::vector<Entity> line;
  for (int i = 0; i < 1000; ++i) line.push_back(registry.create_under(line.empty() ? Entity{} : line.back(), ""));
  const Entity shallow = registry.create(game::Health{.value = 1});
  const Entity middle = registry.create_under(line[100], "", game::Health{.value = 2});
  const auto groups = [&](Entity e) -> const std::vector<Group>& {
    return registry.host().storage().find(e).chunk->archetype->groups;
  };
  const auto finds_its_rows = [&] {
    for (const auto& archetype : registry.host().storage().archetypes())
      for (const Group& group : archetype->groups)
        for (const Chunk* chunk : group.chunks)
          if (chunk->group != &group) return false;
    return registry.get<game::Health>(shallow).value == 1;
  };
  for (const bool moves : {false, true}) {
    const Entity deep = registry.create_under(line[900], "", game::Health{.value = 3});
    REQUIRE(groups(shallow).size() == 902);
    if (moves)
      registry.reparent(deep, {});
    else
      registry.destroy(deep);
    CHECK(groups(shallow).size() == 102);
    CHECK(groups(shallow).capacity() <= 4 * 102);
    CHECK(finds_its_rows());
  }
  registry.destroy(middle);
  CHECK(groups(shallow).size() == 64);
  CHECK(finds_its_rows());
  // The whole line, too: its archetype has no rows then.
  const Archetype* const lines = registry.host().storage().find(line.front()).chunk->archetype;
  CHECK(lines->groups.size() == 1000);
  registry.destroy(line.front());
  CHECK(lines->groups.capacity() <= 256);
  CHECK(finds_its_rows());
  CHECK(registry.create_under(registry.create(), "").or_stop());
}

TEST_CASE("who goes through all depths goes no deeper than somebody is") {
  EntityRegistry registry;
  const auto depths = [&] { return registry.host().storage().depths(); };
  CHECK(depths() == 0);
  const Entity other = registry.create(game::Health{}), below = registry.create_under(other, "", game::Count{});
  std::vector<Entity> line;
  for (int i = 0; i < 500; ++i)
    line.push_back(registry.create_under(line.empty() ? Entity{} : line.back(), "", game::Health{}));
  CHECK(depths() == 500);
  registry.destroy(line[300]);
  CHECK(depths() == 300);
  registry.reparent(line[200], below);
  CHECK(depths() == 200);
  registry.reparent(line[200], {});
  registry.reparent(line[200], line[199]);
  CHECK(depths() == 300);
  registry.push(std::span<const Entity>(line), Destroy{});
  CHECK(depths() == 2);
  registry.destroy(other);
  CHECK(depths() == 0);
}

TEST_CASE("a template as deep as it has nodes spawns as blocks of its own depth each") {
  EntityRegistry registry;
  TemplateTree tree("deep");
  TemplateTree::Node* at = &tree.root();
  constexpr int depths = 500;
  for (int i = 1; i < depths; ++i) at = &tree.add_child(*at, i % 2 ? "a" : "");
  REQUIRE(registry.define_template(tree).refused == 0);
  for (int trees = 0; trees < 3; ++trees) {
    std::vector<Entity> ids;
    registry.spawn("deep", {.ids = &ids}).or_stop();
    REQUIRE(ids.size() == depths);
    for (std::size_t i = 1; i < depths; ++i) REQUIRE(registry.parent(ids[i]) == ids[i - 1]);
  }
  CHECK(registry.entity_count() == 3 * depths);
}
