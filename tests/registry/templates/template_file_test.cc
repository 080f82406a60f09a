// Templates read from files: what they may say, and what is said about those that are wrong.
#include "registry/templates/template_file.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include "registry/entity_registry.h"
#include "registry/templates/template_json.h"
#include "tests/registry/templates/barracks.h"

namespace template_file_test {

using namespace muster;
using barracks::Armed, barracks::Big, barracks::Greet, barracks::Health, barracks::Holder, barracks::Place;
using barracks::Rank, barracks::Soldier, barracks::Speech, barracks::SpeechView, barracks::Tick, barracks::Vec3;

namespace {

struct World {
  EntityRegistry registry;
  World() { registry.add_type<Health>(); }
  std::string error(std::string_view text) {
    const auto read = read_templates(text, "x.json", registry);
    return read ? "good" : read.error().text();
  }
  void define(std::string_view text) {
    const auto defined = define_templates(registry, text, "x.json");
    INFO((defined ? "" : defined.error().text()));
    REQUIRE(defined);
  }
};

std::string read_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("usagi 23: a template file has bases, children, overrides by path and initial messages") {
  World world;
  EntityRegistry& r = world.registry;
  const Entity gate = r.create("gate");
  world.define(read_file(BARRACKS_JSON));
  std::vector<std::string> seen;
  const auto greet = r.subscribe("greet", [&](const Greet& g, Entity self) {
    seen.push_back(std::string(r.name(self)) + " " + std::to_string(g.loudness) + " by " + std::string(r.name(g.by)));
  });
  const auto speech = r.subscribe("speech", [&](const SpeechView& s, Entity) {
    seen.push_back(std::string(s.text()) + " " + std::string(s.words()[1]));
  });
  const Entity root = r.spawn("barracks.patrol", {.name = "patrol"});
  REQUIRE(root);
  CHECK(r.get<Health>(root).value == 250);      // its own
  CHECK(r.get<Health>(root).regrowth == 2.5f);  // the first base's, which the second base does not speak of
  CHECK(r.get<Place>(root).at == Vec3{1, 2, 3});
  CHECK(r.has<Armed>(root));
  CHECK(r.text(r.get<Soldier>(root).title) == "captain \"x\"");
  CHECK(r.get<Soldier>(root).rank == Rank::sergeant);
  const Entity scout = r.find_path("/patrol/scout");
  const Entity bag = r.find_path("/patrol/scout/bag");
  REQUIRE(bag);
  CHECK(r.get<Soldier>(scout).leader == root);
  CHECK(r.text(r.get<Soldier>(scout).title) == "recruit");
  CHECK(r.get<Holder>(bag).slots[0] == scout);
  CHECK(r.get<Holder>(bag).slots[1] == gate);
  CHECK_FALSE(r.get<Holder>(bag).slots[2]);
  CHECK(r.get<Holder>(bag).weights == std::array<std::uint8_t, 3>{1, 2, 200});
  CHECK(r.get<Health>(bag).value == 10);  // by override
  CHECK_FALSE(r.has<Place>(bag));
  CHECK_FALSE(r.find_path("/patrol/scout/dog"));  // taken away
  CHECK(r.find_path("/patrol/scout/lamp"));       // added by override
  CHECK(r.child_count(root) == 2);
  CHECK(seen == std::vector<std::string>{"charge! on", "scout 3 by patrol"});
  // A child of a base refers to the node it became.
  const Entity helper = r.find_path("/patrol/helper");
  CHECK(r.get<Soldier>(r.find_child(helper, "mate")).leader == helper);
}

TEST_CASE("an array in a template file is a list or a text") {
  World world;
  world.define(R"({templates: [{name: "a", components: {Holder: {weights: [4, 5, 6]}}},
                               {name: "b", bases: ["a"], components: {Holder: {"weights[1]": 9}}}]})");
  CHECK(world.registry.get<Holder>(world.registry.spawn("b")).weights == std::array<std::uint8_t, 3>{4, 9, 6});
}

TEST_CASE("usagi 23: bases may be templates that the world knows already") {
  World world;
  world.define(R"({templates: [{name: "a", components: {Health: {value: 5}}, children: [{name: "x"}]}]})");
  world.define(R"({templates: [{name: "b", bases: ["a"], components: {Health: {regrowth: 2}}}]})");
  const Entity e = world.registry.spawn("b");
  CHECK(world.registry.get<Health>(e).value == 5);
  CHECK(world.registry.get<Health>(e).regrowth == 2);
  CHECK(world.registry.find_child(e, "x"));
  // What b says is known field by field still.
  world.define(R"({templates: [{name: "c", components: {Health: {value: 7}}},
                               {name: "d", bases: ["c", "b"]}, {name: "e", bases: ["b", "c"]}]})");
  CHECK(world.registry.get<Health>(world.registry.spawn("d")).value == 5);
  const Health& last = world.registry.get<Health>(world.registry.spawn("e"));
  CHECK(last.value == 7);
  CHECK(last.regrowth == 2);
}

TEST_CASE("usagi 23: what is wrong with a template file is said with its place") {
  World world;
  const auto with = [&](std::string_view node) {
    return world.error("{templates: [\n{name: \"t\",\n" + std::string(node) + "}]}");
  };
  CHECK(with("componets: {}") ==
        "x.json:3: t: unknown field 'componets': a node has name, bases, components, messages, children, overrides");
  CHECK(with("components: {Helth: {}}").starts_with("x.json:3: t: "));
  CHECK(with("components: {Helth: {}}").find("barracks.Health") != std::string::npos);
  CHECK(with("components: {Health: {\nvalu: 3}}").starts_with("x.json:4: t: barracks.Health has no field 'valu'"));
  CHECK(with("components: {Health: {value: 1001}}").find("from 0 to 1000") != std::string::npos);
  CHECK(with("components: {Health: {value: high}}").starts_with("x.json:3: t: barracks.Health.value cannot be 'high'"));
  CHECK(with("components: {Health: {value: null}}") == "x.json:3: t: barracks.Health.value cannot be null");
  CHECK(with("components: {Health: 3}").find("expected an object") != std::string::npos);
  CHECK(with("components: {Health: null}") == "x.json:3: t: there is no barracks.Health to remove");
  CHECK(with("components: {Name: {}}") == "x.json:3: t: muster.Name is managed by the registry itself");
  CHECK(with("components: {Armed: {nothing: 1}}").find("is a tag") != std::string::npos);
  CHECK(with("components: {Soldier: {title: 3}}").find("expected a quoted string") != std::string::npos);
  CHECK(with("components: {Soldier: {rank: general}}").find("private, sergeant") != std::string::npos);
  CHECK(with("components: {Holder: {weights: [1, 2]}}").find("has 3 elements, not 2") != std::string::npos);
  CHECK(with("components: {Health: {value: [1]}}").find("is not an array") != std::string::npos);
  CHECK(with("components: {Health: {value: {x: 1}}}").find("is not a struct") != std::string::npos);
  CHECK(with("components: {Soldier: {leader: \"left\"}}") ==
        "x.json:3: t: 'left' is not a node of t; write entities of the world as /path or as an id");
  CHECK(with("components: {Soldier: {leader: \"/left\"}}").find("there is no entity '/left'") != std::string::npos);
  CHECK(with("bases: [\"tt\"]") == "x.json:3: t: unknown base 'tt'");  // itself is not what was meant
  CHECK(with("bases: [\"t\"]") == "x.json:3: t: its bases are circular: t -> t");
  CHECK(with("children: [{name: \"a\"},\n{name: \"a\"}]") == "x.json:4: t: two children are named 'a'");
  CHECK(
      with("children: [{name: \"a\", children: [{name: \"b\", x: 1}]}]").starts_with("x.json:3: t/a/b: unknown field"));
  CHECK(with("children: [{name: \"a\"}], overrides: [{path: \"a/b\"}]") ==
        "x.json:3: t: override path 'a/b' does not exist: t/a has no child 'b'");
  CHECK(with("children: [{name: \"a\"}], overrides: [{path: \"b\"}]") ==
        "x.json:3: t: override path 'b' does not exist: t has no child 'b'; it has a");
  CHECK(with("overrides: [{path: \".\", remove: true}]").find("cannot remove itself") != std::string::npos);
  CHECK(
      with(
          "components: {Soldier: {leader: \"a\"}}, children: [{name: \"a\"}], overrides: [{path: \"a\", remove: true}]")
          .find("'a' is not a node of t") != std::string::npos);
  CHECK(with("messages: [{type: \"Gret\"}]").starts_with("x.json:3: t: "));
  CHECK(with("messages: [{type: \"Destroy\"}]") == "x.json:3: t: muster.Destroy cannot be an initial message");
  CHECK(with("messages: [{type: \"Speech\", value: {volume: 2}}]").find("needs text") != std::string::npos);
  CHECK(world.error("{templates: [{name: \"a\"}, {name: \"a\"}]}") ==
        "x.json:1: a: there are two templates with this name");
  CHECK(world.error("{templates: [{}]}") == "x.json:1: a template needs a 'name'");
  CHECK(world.error("{}") == "x.json:1: the file has no 'templates'");
  CHECK(world.error("{templates: [\n{name: \"a\", bases: [\"b\"]},\n{name: \"b\", children: [{bases: [\"a\"]}]}]}") ==
        "x.json:3: a: its bases are circular: a -> b -> a");
}

TEST_CASE("template files are JSON as flatc takes it, and are refused where they are not") {
  const auto error = [](std::string_view text) {
    const auto json = parse_json(text);
    return json ? "good" : std::to_string(json.error().line) + ": " + json.error().what;
  };
  CHECK(error("{a: 1, 'b': [1, 2,], \"c\": {}, /* x */ d: tr_ue, // y\n}") == "good");
  CHECK(error("\xef\xbb\xbf[]") == "good");
  CHECK(error("") == "1: expected a value, found the end of the file");
  CHECK(error("[1\n2]") == "2: expected ',' or ']', found '2'");
  CHECK(error("{a 1}") == "1: expected ':' after 'a', found '1'");
  CHECK(error("{a: 1, a: 2}") == "1: 'a' appears twice");
  CHECK(error("[] []") == "1: there is text after the end");
  CHECK(error("\n\"abc") == "2: unterminated string");
  CHECK(error("/* abc") == "1: unterminated comment");
  CHECK(error("\"\\q\"") == "1: unknown escape '\\q'");
  CHECK(error("\"\\ud800\"") == "1: unpaired surrogate");
  CHECK(error("\"\xff\"") == "1: string is not valid UTF-8");
  CHECK(error(std::string_view("\xff\xfe{\0}\0", 6)) == "1: it is UTF-16, not UTF-8");
  CHECK(error(std::string_view("\xfe\xff\0{\0}", 6)) == "1: it is UTF-16, not UTF-8");
  CHECK(error(std::string_view("{\0}\0", 4)) == "1: it is UTF-16, not UTF-8");
  CHECK(error(std::string(100, '[')) == "1: nested deeper than 64");
  CHECK(parse_json("\"\\u00e4\\ud83d\\ude00\\n\"")->text == "\xc3\xa4\xf0\x9f\x98\x80\n");
  // Whatever is cut off or changed is read or refused.
  const std::string whole = read_file(BARRACKS_JSON);
  World world;
  world.registry.create("gate").or_stop();
  REQUIRE(world.error(whole) == "good");
  for (std::size_t i = 0; i + 2 < whole.size(); i += 3) {
    CHECK(world.error(whole.substr(0, i)) != "good");
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x15);
    world.error(changed);
  }
}

TEST_CASE("a file is read template by template, each with those it is made of, and the world may change meanwhile") {
  World world;
  world.define(R"({templates: [{name: "old", components: {Health: {value: 1}}}]})");
  const std::string text = R"({templates: [{name: "a", bases: ["c"]}, {name: "b", bases: ["old"]}, {name: "c"}]})";
  TemplateFile file(text, "x.json", world.registry);
  CHECK(file.go_on());
  world.define(R"({templates: [{name: "old", components: {Health: {value: 2}}}]})");
  std::size_t more = 1;
  while (file.go_on()) ++more;
  CHECK(more == 2);
  const auto trees = file.take();
  REQUIRE(trees);
  REQUIRE(trees->size() == 3);
  for (const TemplateTree& tree : *trees) CHECK_FALSE(world.registry.define_template(tree).refused);
  const Entity b = world.registry.spawn("b", {});
  CHECK(world.registry.get<Health>(b).value == 2);
  // What is wrong ends it, with the place.
  TemplateFile wrong(R"({templates: [{name: "d"}, {name: "e", bases: ["nobody"]}, {name: "f"}]})", "x.json",
                     world.registry);
  CHECK(wrong.go_on());
  CHECK_FALSE(wrong.go_on());
  const auto none = wrong.take();
  REQUIRE_FALSE(none);
  CHECK(none.error().path == "e");
  TemplateFile no_json("{", "x.json", world.registry);
  CHECK_FALSE(no_json.go_on());
  CHECK_FALSE(no_json.take().has_value());
}

}  // namespace template_file_test
