// Schemas in which a value that is all zero is none, and names that meet: enableable components are the same to everybody all the same.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/row_set.h"
#include "registry/host.h"
#include "tests/registry/state/layouts.h"

namespace enableable_edges_test {

using namespace muster;
using layouts::World;

namespace {

void remove(World& world, const std::string& path, const std::string& component) {
  const TypeId type = world.registry.types().find("game." + component)->id;
  REQUIRE(world.registry.push(world.registry.find_path(path), Remove{.component = type}).handled == 1);
}

}  // namespace

TEST_CASE("the value of an enableable component that is not there is none that loading would put right") {
  const std::string text =
      "enum Mood : ubyte { calm = 3, wild = 4 }"
      "struct Temper (component, enableable) { moods:[Mood:1] (default: \"wild\"); left:int; }";
  World before({text});
  before.create("a", "Temper", {{"left", 4}});
  before.create("b", "Temper", {{"left", 5}});
  remove(before, "/a", "Temper");
  World after({text});
  REQUIRE(after.load(before.rows()) == "");
  CHECK(after.report.mended == 0);
  CHECK_FALSE(after.has("/a", "Temper"));
  CHECK(after.value("/b", "Temper", "moods[0]") == 4);
  CHECK(after.registry.hash() == before.registry.hash());

  // Of those that are there, one is.
  naive::StateRows rows = before.rows();
  const TypeId type = before.registry.types().find("game.Temper")->id;
  const std::uint64_t uid = before.registry.host().storage().find(before.registry.find_path("/b")).chunk->uid;
  std::vector<std::byte>& values = rows.at({StateSection::columns, uid, type});
  REQUIRE(values.size() == 16);
  values[8] = std::byte{9};
  World mended({text});
  REQUIRE(mended.load(rows) == "");
  CHECK(mended.report.mended == 1);
  CHECK(mended.value("/b", "Temper", "moods[0]") == 4);
}

TEST_CASE("a newer schema puts nothing right of an enableable component that is not there") {
  World before(
      {"enum Mood : ubyte { calm = 3, wild = 4 }"
       "struct Temper (component, enableable) { moods:[Mood:1] (default: \"wild\"); left:int; }"});
  before.create("a", "Temper", {{"left", 4}});
  before.create("b", "Temper", {{"left", 5}});
  remove(before, "/a", "Temper");
  for (const char* attribute : {"component, enableable", "component"}) {
    World after({std::string("enum Mood : ubyte { wild = 7, calm = 9 } struct Temper (") + attribute +
                 ") { left:long; moods:[Mood:1] (default: \"wild\"); }"});
    REQUIRE(after.load(before.rows()) == "");
    CHECK(after.report.mended == 0);
    CHECK_FALSE(after.has("/a", "Temper"));
    CHECK(after.value("/b", "Temper", "moods[0]") == 7);
    CHECK(after.value("/b", "Temper", "left") == 5);
  }
}

TEST_CASE("a type may not have the id under which it is kept who has an enableable component") {
  // hash32("game.C3u5eemc") is hash32("game.Shield:enabled").
  REQUIRE(hash32("game.C3u5eemc") == hash32("game.Shield:enabled"));
  const std::string shield = "struct Shield (component, enableable) { strength:int; }",
                    other = "struct C3u5eemc (component) { value:int; }";
  for (const bool first : {true, false}) {
    World world({first ? shield : other});
    const auto added = world.registry.types().add_schema(layouts::schema_of(first ? other : shield));
    REQUIRE_FALSE(added);
    CHECK_THAT(added.error().text(), Catch::Matchers::Contains("game.C3u5eemc"));
    CHECK_THAT(added.error().text(), Catch::Matchers::Contains("game.Shield"));
    CHECK_FALSE(world.registry.types().find(first ? "game.C3u5eemc" : "game.Shield"));
  }
}

TEST_CASE("who changes what an entity has and asks for it, again and again, leaves no memory behind") {
  std::string text = "struct Plain (component) { value:int; }";
  for (int i = 0; i < 12; ++i) text += "struct Mark" + std::to_string(i) + " (tag, enableable) { nothing:ubyte; }";
  World world({text});
  EntityRegistry& r = world.registry;
  const Entity e = world.create("it", "Plain", {});
  std::vector<TypeId> marks;
  for (int i = 0; i < 12; ++i) {
    marks.push_back(r.types().find("game.Mark" + std::to_string(i))->id);
    const TypeDescriptor* const components[] = {r.types().find(marks.back())};
    BatchBuilder builder;
    builder.append_rows(RowSet(*r.types().find(TypeTraits<Set>::id), components), e);
    REQUIRE(r.host().push_batch(builder.bytes()).handled == 1);
  }
  std::vector<TypeId> all(r.host().components(e).begin(), r.host().components(e).end());
  REQUIRE(all.size() == 14);  // with its name
  const Archetype& archetype = *r.host().storage().find(e).chunk->archetype;
  bool on[12];
  std::ranges::fill(on, true);
  for (std::uint32_t step = 1; step < 4000; ++step) {
    const auto i = static_cast<std::size_t>(std::countr_zero(step)) % 12;  // as a Gray code: every set of them
    const TypeDescriptor* const components[] = {r.types().find(marks[i])};
    if (on[i]) {
      REQUIRE(r.push(e, Remove{.component = marks[i]}).handled == 1);
      std::erase(all, marks[i]);
    } else {
      BatchBuilder builder;
      builder.append_rows(RowSet(*r.types().find(TypeTraits<Set>::id), components), e);
      REQUIRE(r.host().push_batch(builder.bytes()).handled == 1);
      all.insert(std::ranges::lower_bound(all, marks[i]), marks[i]);
    }
    on[i] = !on[i];
    const std::span<const TypeId> first = r.host().components(e), again = r.host().components(e);
    REQUIRE(std::ranges::equal(first, all));
    REQUIRE(first.data() == again.data());
    REQUIRE(archetype.present.size() <= 256);
  }
}

}  // namespace enableable_edges_test
