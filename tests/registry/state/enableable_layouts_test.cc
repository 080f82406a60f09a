// A component becomes enableable in a newer schema, or ceases to be.
#include <catch2/catch.hpp>
#include <cstring>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "tests/registry/state/layouts.h"

namespace enableable_layouts_test {

using namespace muster;
using layouts::World;

namespace {

constexpr const char* then_text =
    "struct Health (component) { value:int (default: \"100\"); }"
    "struct Cold (tag) { reserved:ubyte; }"
    "struct Plain (component) { value:int; }";
constexpr const char* now_text =
    "struct Health (component, enableable) { value:int (default: \"100\"); }"
    "struct Cold (tag, enableable) { reserved:ubyte; }"
    "struct Plain (component) { value:int; }";

TypeId id(const World& world, const std::string& name) { return world.registry.types().find("game." + name)->id; }

void remove(World& world, const std::string& path, const std::string& component) {
  REQUIRE(world.registry.push(world.registry.find_path(path), Remove{.component = id(world, component)}).handled == 1);
}

}  // namespace

TEST_CASE("who has a component has it when it becomes enableable, and then it goes and comes where its row is") {
  World before({then_text});
  before.create("a", "Health", {{"value", 4}});
  before.create("b", "Health", {{"value", 5}});
  before.create("c", "Cold", {});
  World after({now_text});
  REQUIRE(after.load(before.rows()) == "");
  CHECK(after.report.converted ==
        std::vector<std::string>{"game.Cold: is now enableable", "game.Health: is now enableable"});
  CHECK(after.value("/a", "Health", "value") == 4);
  CHECK(after.has("/c", "Cold"));
  const std::size_t archetypes = after.registry.host().storage().archetypes().size();
  remove(after, "/a", "Health");
  remove(after, "/c", "Cold");
  CHECK_FALSE(after.has("/a", "Health"));
  CHECK(after.value("/b", "Health", "value") == 5);
  CHECK_FALSE(after.has("/c", "Cold"));
  CHECK(after.registry.host().storage().archetypes().size() == archetypes);
  World again({now_text});
  REQUIRE(again.load(after.rows()) == "");
  CHECK(again.report.converted.empty());
  CHECK(again.registry.hash() == after.registry.hash());
}

TEST_CASE("who lacks a component lacks it when it is not enableable any more") {
  World before({now_text});
  for (int i = 0; i < 3000; ++i) {
    before.create("h" + std::to_string(i), "Health", {{"value", i}});
    if (i % 3 == 0) remove(before, "/h" + std::to_string(i), "Health");
  }
  before.create("c", "Cold", {});
  before.create("d", "Cold", {});
  remove(before, "/d", "Cold");
  World after({then_text});
  REQUIRE(after.load(before.rows()) == "");
  CHECK(after.report.converted ==
        std::vector<std::string>{"game.Cold: is no longer enableable", "game.Health: is no longer enableable"});
  for (int i = 0; i < 3000; ++i) {
    const std::string path = "/h" + std::to_string(i);
    REQUIRE(after.has(path, "Health") == (i % 3 != 0));
    if (i % 3 != 0) {
      REQUIRE(after.value(path, "Health", "value") == i);
    }
  }
  CHECK(after.has("/c", "Cold"));
  CHECK_FALSE(after.has("/d", "Cold"));
  World again({then_text});
  REQUIRE(again.load(after.rows()) == "");
  CHECK(again.report.converted.empty());
  CHECK(again.registry.hash() == after.registry.hash());
}

TEST_CASE("who lacks a component that is not enableable any more stays with its parent and its children") {
  World before({now_text});
  for (const char* name : {"top", "middle", "low"}) before.create(name, "Health", {});
  const auto hang = [&](const std::string& child, const std::string& parent) {
    const Reparent below{.parent = before.registry.find_path(parent)};
    REQUIRE(before.registry.push(before.registry.find_path(child), below).handled == 1);
  };
  hang("/low", "/middle");
  hang("/middle", "/top");
  remove(before, "/top/middle", "Health");
  World after({then_text});
  REQUIRE(after.load(before.rows()) == "");
  CHECK_FALSE(after.has("/top/middle", "Health"));
  CHECK(after.has("/top/middle/low", "Health"));
  const Entity top = after.registry.find_path("/top"), middle = after.registry.find_path("/top/middle");
  CHECK(after.registry.parent(middle) == top);
  CHECK(after.registry.first_child(top) == middle);
  World again({then_text});
  REQUIRE(again.load(after.rows()) == "");
  CHECK(again.registry.hash() == after.registry.hash());
}

TEST_CASE("an enableable component with another name and other fields keeps who has it") {
  World before({now_text});
  before.create("a", "Health", {{"value", 4}});
  before.create("b", "Health", {{"value", 5}});
  remove(before, "/a", "Health");
  World after(
      {"struct Vigour (component, enableable, was: \"game.Health\") { more:float (default: \"2\"); value:long; }"});
  REQUIRE(after.load(before.rows()) == "");
  CHECK_FALSE(after.has("/a", "Vigour"));
  CHECK(after.value("/b", "Vigour", "value") == 5);
  CHECK(after.value("/b", "Vigour", "more") == 2);
}

TEST_CASE("messages that wait give a component that became enableable, or is it no more") {
  for (const bool on : {true, false}) {
    World before({on ? then_text : now_text});
    const Entity e = before.create("it", "Plain", {});
    const std::vector<std::byte> value = before.bytes("Health", {{"value", 77}});
    BatchBuilder inner, timed;
    const TypeDescriptor* const components[] = {before.registry.types().find("game.Health")};
    const RowSet rows(*before.registry.types().find(TypeTraits<Set>::id), components);
    std::byte* const at = inner.append_rows(rows, e);
    std::memcpy(at + rows.offset(id(before, "Health")), value.data(), value.size());
    timed.append_timed(1000, 0, inner.front());
    before.registry.add_type<Set>();
    REQUIRE(before.registry.host().push_batch(timed.bytes()).refused == 0);
    World after({on ? now_text : then_text});
    REQUIRE(after.load(before.rows()) == "");
    CHECK_FALSE(after.has("/it", "Health"));
    after.registry.advance(1000);
    CHECK(after.value("/it", "Health", "value") == 77);
    remove(after, "/it", "Health");
    CHECK_FALSE(after.has("/it", "Health"));
  }
}

}  // namespace enableable_layouts_test
