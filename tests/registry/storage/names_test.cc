#include <catch2/catch.hpp>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

using namespace muster;

TEST_CASE("names are unique among siblings and free elsewhere") {
  EntityRegistry registry;
  const Entity a = registry.create("a"), b = registry.create("b");
  const Entity under_a = registry.create_under(a, "leader");
  const Entity under_b = registry.create_under(b, "leader");
  REQUIRE(under_a);
  REQUIRE(under_b);
  CHECK_FALSE(registry.create_under(a, "leader"));
  CHECK_FALSE(registry.create("a"));
  CHECK(registry.entity_count() == 4);
  CHECK(registry.find_child(a, "leader") == under_a);
  CHECK(registry.find_child(b, "leader") == under_b);
  CHECK(registry.find_child({}, "leader") == Entity{});
  // Nobody is in the way once the other is gone.
  registry.destroy(under_a);
  CHECK(registry.find_child(a, "leader") == Entity{});
  CHECK(registry.create_under(a, "leader"));
}

TEST_CASE("an edit that would collide is refused and changes nothing") {
  EntityRegistry registry;
  const Entity a = registry.create("a"), b = registry.create("b");
  const Entity x = registry.create_under(a, "x"), other_x = registry.create_under(b, "x");
  const std::uint64_t before = registry.hash();

  const Receipt renamed = registry.rename(b, "a");
  CHECK(renamed.refused == 1);
  CHECK(renamed.refusal.code == RefusalCode::name_taken);
  CHECK(renamed.refusal.entity == b);
  CHECK(renamed.refusal.type == TypeTraits<Rename>::id);
  CHECK(renamed.refusal.field == hash32("name"));

  const Receipt moved = registry.reparent(other_x, a);
  CHECK(moved.refusal.code == RefusalCode::name_taken);
  CHECK(registry.parent(other_x) == b);
  CHECK(registry.find_child(b, "x") == other_x);
  CHECK(registry.find_child(a, "x") == x);

  CHECK(registry.name(b) == "b");
  // The sequence is part of the state: refused inputs are inputs. Everything else is as before.
  const Receipt back = registry.rename(b, "b");
  CHECK(back.handled == 1);
  CHECK(registry.hash() != 0);
  CHECK(before != 0);
}

TEST_CASE("an entity keeps its own name, gets another, and loses it") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{.value = 5});
  CHECK(registry.rename(orc, "orc").handled == 1);
  CHECK(registry.rename(orc, "ork").handled == 1);
  CHECK(registry.name(orc) == "ork");
  CHECK(registry.find_child({}, "orc") == Entity{});
  CHECK(registry.find_child({}, "ork") == orc);
  CHECK(registry.rename(orc, "").handled == 1);
  CHECK(registry.name(orc).empty());
  CHECK_FALSE(registry.has<Name>(orc));
  CHECK(registry.find_child({}, "ork") == Entity{});
  CHECK(registry.find_child({}, "") == Entity{});
  CHECK(registry.get<game::Health>(orc).value == 5);
  CHECK(registry.rename(orc, "orc").handled == 1);
  CHECK(registry.find_path("/orc") == orc);
}

TEST_CASE("removing the Name component takes the name away") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc");
  CHECK(registry.remove<Name>(orc).handled == 1);
  CHECK(registry.find_child({}, "orc") == Entity{});
  CHECK(registry.create("orc"));
}

TEST_CASE("names and hierarchy cannot be written behind the registry's back") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc"), elf = registry.create("elf");
  CHECK(registry.set(orc, Name{.text = registry.intern("elf")}).refusal.code == RefusalCode::kept_by_registry);
  CHECK(registry.set(orc, ChildOf{.parent = elf}).refusal.code == RefusalCode::kept_by_registry);
  const Created unkept = registry.create("dwarf", Name{.text = registry.intern("dwarf")});
  CHECK(unkept.refusal().code == RefusalCode::kept_by_registry);
  CHECK(unkept.text() == "muster.Name is kept by the registry and cannot be given");
  SetField field{.component = TypeTraits<Name>::id, .field = hash32("text"), .bytes = 8};
  CHECK(registry.push(orc, field).refusal.code == RefusalCode::kept_by_registry);
  CHECK(registry.name(orc) == "orc");
  CHECK(registry.entity_count() == 2);
}

TEST_CASE("a path escapes slashes and backslashes and finds the same entity again") {
  EntityRegistry registry;
  Entity parent;
  for (const char* name : {"a/b", "c\\d", "\\/", "~2", "#1:1", " ", "naïve", "/"}) {
    const Entity child = registry.create_under(parent, name);
    REQUIRE(child);
    CHECK(registry.name(child) == name);
    CHECK(registry.find_path(registry.path(child)) == child);
    parent = child;
  }
  CHECK(registry.path(parent) == "/a\\/b/c\\\\d/\\\\\\//~2/#1:1/ /naïve/\\/");
}

TEST_CASE("paths that name nobody find nil") {
  EntityRegistry registry;
  const Entity a = registry.create("a");
  registry.create_under(a, "b").or_stop();
  for (const char* path : {"", "/", "//", "/x", "/a/x", "/a//b", "/a/b/", "a/b/c", "/a\\/b"}) {
    CAPTURE(path);
    CHECK(registry.find_path(path) == Entity{});
  }
  CHECK(registry.find_path("a/b") == registry.find_path("/a/b"));
  CHECK(registry.find_path("a/b"));
}

TEST_CASE("unnamed entities show their id in a path") {
  EntityRegistry registry;
  const Entity a = registry.create("a");
  const Entity unnamed = registry.create_under(a, "");
  const Entity below = registry.create_under(unnamed, "b");
  CHECK(registry.path(below) ==
        "/a/#" + std::to_string(unnamed.index) + ":" + std::to_string(unnamed.generation) + "/b");
  CHECK(registry.path(Entity{}).empty());
  CHECK(registry.path({999, 1}).empty());
}

TEST_CASE("handlers and imports get the next free suffix") {
  EntityRegistry registry;
  const auto s = registry.subscribe("spawn", [](const game::Spawn& spawn, Spawner& spawner) {
    for (std::uint32_t i = 0; i < spawn.children; ++i) spawner.create_under({}, "orc");
  });
  registry.push(game::Spawn{.children = 3});
  const Entity second = registry.find_path("/orc~2"), third = registry.find_path("/orc~3");
  REQUIRE(registry.find_path("/orc"));
  REQUIRE(second);
  REQUIRE(third);
  CHECK(registry.entity_count() == 3);

  // A hole is filled, then the count goes on.
  registry.destroy(second);
  registry.push(game::Spawn{.children = 2});
  CHECK(registry.find_path("/orc~2"));
  CHECK(registry.find_path("/orc~4"));
  CHECK(registry.find_path("/orc~2") != second);

  // A suffix somebody chose by hand is stepped over.
  registry.create("orc~5").or_stop();
  registry.push(game::Spawn{.children = 1});
  CHECK(registry.find_path("/orc~6"));

  const auto rename = registry.subscribe(
      "rename", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) { out.rename(self, "orc"); });
  const Entity elf = registry.create("elf", game::Health{});
  registry.push(elf, game::Heal{});
  CHECK(registry.name(elf) == "orc~7");
}

TEST_CASE("a free suffix is found again where the name has a tilde itself") {
  EntityRegistry registry;
  const auto s = registry.subscribe("spawn", [](const game::Spawn& spawn, Spawner& spawner) {
    for (std::uint32_t i = 0; i < spawn.children; ++i) spawner.create_under({}, "orc~old");
  });
  registry.push(game::Spawn{.children = 3});
  const Entity second = registry.find_path("/orc~old~2");
  REQUIRE(second);
  REQUIRE(registry.find_path("/orc~old~3"));
  registry.destroy(second);
  registry.push(game::Spawn{.children = 1});
  CHECK(registry.find_path("/orc~old~2"));
  CHECK_FALSE(registry.find_path("/orc~old~4"));
}

TEST_CASE("a name whose text the world does not know is refused") {
  EntityRegistry registry;
  const Entity a = registry.create("a");
  CHECK(registry.push(a, Rename{.name = Text{12345}}).refusal.code == RefusalCode::bad_name);
  CHECK(registry.name(a) == "a");
}
