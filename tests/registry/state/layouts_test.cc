// A world that was saved with older schemas is opened: values are converted field by field, by name.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "registry/templates/template_tree.h"
#include "tests/registry/state/layouts.h"

using namespace muster;
using Catch::Matchers::Contains;
using layouts::World;

namespace {

/// Lives in this process only.
struct Sound {
  std::uint64_t voice[4] = {1, 2, 3, 4};
};

}  // namespace

template <>
struct muster::RuntimeTraits<Sound> {
  static constexpr std::string_view name = "game.Health";
};

namespace {

/// Saved with `then`, opened with `now`.
struct Reopened {
  World before, after;
  std::string error;
  Reopened(const std::string& then, const std::string& now, const std::string& component, const layouts::Values& values)
      : before({then}), after({now}) {
    before.create("it", component, values);
    error = after.load(before.rows());
  }
  double operator[](const std::string& field) const { return after.value("/it", "Health", field); }
  std::string change() const { return after.report.converted.empty() ? "" : after.report.converted.front(); }
};

Reopened health(const std::string& then, const std::string& now, const layouts::Values& values) {
  return {then, now, "Health", values};
}

}  // namespace

TEST_CASE("fields that are new have their defaults, those that are gone are dropped, order does not matter") {
  const Reopened world = health("struct Health (component) { value:int; shield:float; armor:ubyte; }",
                                "struct Health (component) { armor:ubyte; rank:short (default: \"7\"); value:int; }",
                                {{"value", 41}, {"shield", 2.5}, {"armor", 9}});
  REQUIRE(world.error == "");
  CHECK(world["value"] == 41);
  CHECK(world["armor"] == 9);
  CHECK(world["rank"] == 7);
  CHECK(world.change() == "game.Health: rank is new, shield is gone");
}

TEST_CASE("a field keeps its value under another name that its attribute `was` tells") {
  const Reopened world =
      health("struct Health (component) { value:int; other:int; }",
             "struct Health (component) { other:int; points:int (was: \"value\"); }", {{"value", 41}, {"other", 3}});
  REQUIRE(world.error == "");
  CHECK(world["points"] == 41);
  CHECK(world["other"] == 3);
  CHECK(world.change() == "game.Health: value is called points");
}

TEST_CASE("numbers become wider, never narrower") {
  const Reopened world =
      health("struct Health (component) { a:byte; b:ubyte; c:short; d:uint; e:float; f:bool; g:ushort; h:int; }",
             "struct Health (component) { a:long; b:short; c:float; d:double; e:double; f:int; g:uint; h:double; }",
             {{"a", -5}, {"b", 200}, {"c", -300}, {"d", 4e9}, {"e", 0.5}, {"f", 1}, {"g", 65535}, {"h", -7}});
  REQUIRE(world.error == "");
  CHECK(world["a"] == -5);
  CHECK(world["b"] == 200);
  CHECK(world["c"] == -300);
  CHECK(world["d"] == 4e9);
  CHECK(world["e"] == 0.5);
  CHECK(world["f"] == 1);
  CHECK(world["g"] == 65535);
  CHECK(world["h"] == -7);
  const auto refused = [](const char* then, const char* now) {
    return health("struct Health (component) { value:" + std::string(then) + "; }",
                  "struct Health (component) { value:" + std::string(now) + "; }", {})
        .error;
  };
  CHECK_THAT(refused("int", "short"),
             Contains("component game.Health.value: was int and is now short, which cannot be converted"));
  for (const auto& [then, now] : std::vector<std::pair<const char*, const char*>>{{"int", "uint"},
                                                                                  {"uint", "int"},
                                                                                  {"long", "double"},
                                                                                  {"int", "float"},
                                                                                  {"double", "float"},
                                                                                  {"float", "int"},
                                                                                  {"int", "bool"},
                                                                                  {"ulong (text)", "ulong"},
                                                                                  {"ulong", "ulong (text)"},
                                                                                  {"muster.Entity", "ulong"}}) {
    INFO(then << " -> " << now);
    CHECK_THAT(refused(then, now), Contains(", which cannot be converted") && Contains("game.Health.value"));
  }
}

TEST_CASE("nested structs and arrays are converted element by element") {
  const Reopened world =
      health("struct At { x:float; y:float; } struct Health (component) { at:[At:2]; counts:[ubyte:3]; }",
             "struct At { z:float (default: \"9\"); x:double; y:float; }"
             "struct Health (component) { counts:[ushort:5] (default: \"1\"); at:[At:2]; }",
             {{"at[0].x", 1},
              {"at[0].y", 2},
              {"at[1].x", 3},
              {"at[1].y", 4},
              {"counts[0]", 10},
              {"counts[1]", 20},
              {"counts[2]", 30}});
  REQUIRE(world.error == "");
  CHECK(world["at[0].x"] == 1);
  CHECK(world["at[0].y"] == 2);
  CHECK(world["at[1].x"] == 3);
  CHECK(world["at[1].y"] == 4);
  CHECK(world["at[1].z"] == 9);
  CHECK(world["counts[0]"] == 10);
  CHECK(world["counts[2]"] == 30);
  CHECK(world["counts[4]"] == 1);
  CHECK(world.change() ==
        "game.Health: counts was ubyte[3] and is ushort[5], at.z is new, at.x was float and is double");
}

TEST_CASE("a layout of equal size is converted too") {
  const Reopened world = health("struct Health (component) { a:int; b:int; }",
                                "struct Health (component) { b:int; a:int; }", {{"a", 1}, {"b", 2}});
  REQUIRE(world.error == "");
  CHECK(world["a"] == 1);
  CHECK(world["b"] == 2);
}

TEST_CASE("values of enums are found again by their names") {
  const Reopened world = health(
      "enum Team:ubyte { none, red, blue, gone } enum Marks:ubyte (bit_flags) { a, b, c }"
      "struct Health (component) { team:Team; other:Team; marks:Marks; value:int; }",
      "enum Team:ushort { none, blue, green, red } enum Marks:ubyte (bit_flags) { c, b, a }"
      "struct Health (component) { team:Team; other:Team; marks:Marks; value:int; more:int; }",
      {{"team", 1}, {"other", 2}, {"marks", 1}, {"value", 3}});
  REQUIRE(world.error == "");
  CHECK(world["team"] == 3);
  CHECK(world["other"] == 1);
  CHECK(world["marks"] == 4);
  CHECK(world["value"] == 3);
}

TEST_CASE("an enum whose values have other numbers is converted although no byte has another place") {
  const Reopened world =
      health("enum Team:ubyte { none, red, blue } struct Health (component) { team:Team; }",
             "enum Team:ubyte { none, green, blue, red } struct Health (component) { team:Team; }", {{"team", 1}});
  REQUIRE(world.error == "");
  CHECK(world["team"] == 3);
  CHECK(world.change() == "game.Health: values of team have other numbers");
  const Reopened longer =
      health("enum Team:ubyte { none, red } struct Health (component) { team:Team; }",
             "enum Team:ubyte { none, crimson, blue } struct Health (component) { team:Team; }", {{"team", 1}});
  REQUIRE(longer.error == "");
  CHECK(longer["team"] == 1);
  CHECK(longer.change() == "");
}

TEST_CASE("a component keeps its rows under another name, also beside others") {
  World before({"struct Life (component) { value:int; } struct Zeal (component) { value:int; }"});
  before.create("a", "Life", {{"value", 5}});
  before.create("b", "Zeal", {{"value", 6}});
  World after({"struct Health (component, was: \"game.Life\") { value:int; } struct Zeal (component) { value:int; }"});
  REQUIRE(after.load(before.rows()) == "");
  CHECK(after.value("/a", "Health", "value") == 5);
  CHECK(after.value("/b", "Zeal", "value") == 6);
  CHECK(after.report.converted == std::vector<std::string>{"game.Health: was called game.Life"});
  CHECK(after.registry.types().find("game.Life") == nullptr);
}

TEST_CASE("a component that nobody knows any more is kept and saved back, whatever else of its schema changed") {
  World before(
      {"enum Team:ubyte { none, red } struct At { x:int; }"
       "struct Health (component) { value:int; }"
       "struct Old (component) { at:At; team:Team (default: \"red\"); value:int (default: \"3\"); }"});
  before.create("a", "Health", {{"value", 5}});
  before.create("b", "Old", {{"at.x", 77}});
  const std::string now = "struct Health (component) { value:long; more:int (default: \"2\"); }";
  World after({now});
  REQUIRE(after.load(before.rows()) == "");
  CHECK(after.value("/a", "Health", "value") == 5);
  CHECK(after.value("/b", "Old", "at.x") == 77);
  CHECK(after.value("/b", "Old", "team") == 1);
  // Once more, by a program that knows nothing, and by one that knows the newer schema.
  const naive::StateRows rows = after.rows();
  World stranger({}), again({now});
  REQUIRE(stranger.load(rows) == "");
  REQUIRE(again.load(rows) == "");
  for (const World* world : {&stranger, &again}) {
    CHECK(world->registry.hash() == after.registry.hash());
    CHECK(world->report.converted.empty());
    CHECK(world->value("/b", "Old", "at.x") == 77);
    CHECK(world->value("/a", "Health", "more") == 2);
  }
}

TEST_CASE("a component that becomes a tag loses its values, a tag that becomes one with data gets defaults") {
  const std::string data = "struct Health (component) { value:int (default: \"3\"); }";
  const std::string tag = "struct Health (component, tag) { nothing:ubyte; }";
  const Reopened to_tag(data, tag, "Health", {{"value", 9}});
  REQUIRE(to_tag.error == "");
  CHECK(to_tag.after.has("/it", "Health"));
  const Reopened to_data(tag, data, "Health", {});
  REQUIRE(to_data.error == "");
  CHECK(to_data["value"] == 3);
}

TEST_CASE("a component with data that is a runtime component now is there, and nothing is written over its value") {
  World before({"struct Health (component) { value:[ulong:4]; }"}), after({});
  before.create("it", "Health", {{"value[0]", 9}, {"value[3]", 9}});
  std::vector<std::uint64_t> voices;
  after.registry.add_runtime_type<Sound>(
      [&](const Sound& sound, Entity) { voices.assign(sound.voice, sound.voice + 4); });
  REQUIRE(after.load(before.rows()) == "");
  CHECK(voices == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE("a type that nothing holds never refuses a world, whatever became of it") {
  const Reopened world = health(
      "struct Health (component) { value:int; } struct Other (component) { text:ulong (text); }"
      "struct Hit (message) { amount:int; } table Say (message) { text:string; }",
      "struct Health (component) { value:int; } struct Other (component) { text:float; }"
      "struct Hit (message) { amount:float; from:muster.Entity; } table Say (message) { volume:float; text:string; }",
      {{"value", 41}});
  REQUIRE(world.error == "");
  CHECK(world["value"] == 41);
  CHECK(world.after.report.converted.empty());
}

TEST_CASE("many rows in many chunks are converted, below others too, and saved in the new layout") {
  World before({"struct Health (component) { value:int; flag:bool; }"});
  Entity above = before.create("top", "Health", {{"value", -1}});
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "e" + std::to_string(i);
    const Entity made = before.create(name, "Health", {{"value", i}, {"flag", i % 2}});
    if (i % 3 == 0) REQUIRE(before.registry.reparent(made, above).handled == 1);
  }
  const std::string now = "struct Health (component) { flag:ubyte; value:double; }";
  World after({now}), again({now});
  REQUIRE(after.load(before.rows()) == "");
  REQUIRE(again.load(after.rows()) == "");
  CHECK(again.report.converted.empty());
  CHECK(again.registry.hash() == after.registry.hash());
  for (int i = 0; i < 5000; i += 7) {
    const std::string path = (i % 3 == 0 ? "/top/e" : "/e") + std::to_string(i);
    CHECK(again.value(path, "Health", "value") == i);
    CHECK(again.value(path, "Health", "flag") == i % 2);
  }
}

TEST_CASE("templates are converted like rows, with what they give themselves and whom they refer to") {
  const std::string then =
      "struct Health (component) { value:int (default: \"1\"); enemy:muster.Entity; other:int (default: \"2\"); }";
  const std::string now =
      "struct Health (component) { enemy:muster.Entity; other:long (default: \"9\"); value:int (default: \"8\"); }";
  World before({then}), after({now}), fresh({now});
  const TypeDescriptor& type = *before.registry.types().find("game.Health");
  TemplateTree tree("orc");
  tree.set(tree.root(), type.id, type.fingerprint, before.bytes("Health", {{"value", 41}}));
  TemplateTree::Node& child = tree.at("child");
  tree.set(child, type.id, type.fingerprint, before.bytes("Health", {{"other", 5}}));
  before.registry.define_template(tree);
  REQUIRE(after.load(before.rows()) == "");
  REQUIRE(after.registry.spawn("orc", {.name = "o"}));
  CHECK(after.value("/o", "Health", "value") == 41);
  CHECK(after.value("/o/child", "Health", "other") == 5);
  // Saved back it is what it is now.
  REQUIRE(fresh.load(after.rows()) == "");
  CHECK(fresh.report.converted.empty());
  CHECK(fresh.registry.hash() == after.registry.hash());
}

TEST_CASE("a template that gives some fields gives the same ones when these have other places") {
  const std::string then = "struct Health (component) { value:int; shield:long; other:int; }";
  const std::string now = "struct Health (component) { other:long; value:int; shield:long; fresh:int; }";
  for (const std::string given : {"value", "other", "shield"}) {
    CAPTURE(given);
    World before({then}), after({now});
    const TypeDescriptor& type = *before.registry.types().find("game.Health");
    TemplateTree tree("hurt");
    TemplateTree::Value& value =
        tree.set(tree.root(), type.id, type.fingerprint, before.bytes("Health", {{given, 41}}));
    std::ranges::fill(value.given, std::uint8_t{0});
    const FieldDescriptor& field = *std::ranges::find(type.fields, given, &FieldDescriptor::name);
    std::fill_n(value.given.begin() + field.offset, field.size, std::uint8_t{1});
    before.registry.define_template(tree);
    REQUIRE(after.load(before.rows()) == "");
    const Entity orc = after.create("orc", "Health", {{"value", 1}, {"shield", 2}, {"other", 3}, {"fresh", 4}});
    REQUIRE(after.registry.apply_template(orc, "hurt").handled == 1);
    CHECK(after.value("/orc", "Health", "value") == (given == "value" ? 41 : 1));
    CHECK(after.value("/orc", "Health", "shield") == (given == "shield" ? 41 : 2));
    CHECK(after.value("/orc", "Health", "other") == (given == "other" ? 41 : 3));
    CHECK(after.value("/orc", "Health", "fresh") == 4);
  }
}
