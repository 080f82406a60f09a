// Tests the sentence of each refused creation, and that using its id stops the program.
#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <type_traits>

#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"

namespace refused_creations_test {

using namespace muster;
using game::Health;

// Two texts with one hash.
constexpr std::string_view first = "8yn0iYCKYHlIj4-BwPqk", second = "GReLUrM4wMqfg9yzV3KQ";
static_assert(hash64(first) == hash64(second));

// A refusal cannot be copied away or made up.
static_assert(!std::is_copy_constructible_v<Created> && !std::is_default_constructible_v<Created>);
static_assert(std::is_convertible_v<Created, Entity> && !std::is_convertible_v<Created, bool>);
static_assert(sizeof(Created) == 16);

std::string id(Entity e) { return '#' + std::to_string(e.index) + ':' + std::to_string(e.generation); }

TEST_CASE("a created entity is its id, and says nothing") {
  EntityRegistry registry;
  const Created orc = registry.create("orc", Health{.value = 7});
  REQUIRE(orc);
  CHECK(orc.text().empty());
  CHECK(orc.refusal().code == RefusalCode::none);
  CHECK(registry.find_path("/orc") == orc.or_stop());
  CHECK(registry.get<Health>(orc).value == 7);
  CHECK(registry.push(orc, game::Damage{}).unhandled == 1);
  const Entity sword = registry.create_under(orc, "sword");
  CHECK(registry.parent(sword) == orc);
}

TEST_CASE("a name that is taken is refused with who has it") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), orc = registry.create_under(town, "orc");
  const Created again = registry.create("town", Health{});
  CHECK_FALSE(again);
  CHECK(again.text() == "the name \"town\" is taken by " + id(town) + " (/town)");
  CHECK(again.refusal().code == RefusalCode::name_taken);
  CHECK(again.refusal().entity == town);
  const Created below = registry.create_under(town, "orc");
  CHECK(below.text() == "the name \"orc\" is taken by " + id(orc) + " (/town/orc)");
  CHECK(registry.entity_count() == 2);
}

TEST_CASE("a dead parent is refused with its id") {
  EntityRegistry registry;
  registry.define_template(TemplateTree("hut"));
  const Entity gone = registry.create("gone");
  registry.destroy(gone);
  for (const std::string_view name : {"", "orc"}) {
    const Created orc = registry.create_under(gone, name, Health{});
    CHECK_FALSE(orc);
    CHECK(orc.text() == "the parent " + id(gone) + " is not alive");
    CHECK(orc.refusal().code == RefusalCode::dead_entity);
    CHECK(orc.refusal().entity == gone);
  }
  CHECK(registry.spawn("hut", {.parent = gone}).text() == "the parent " + id(gone) + " is not alive");
  CHECK(registry.entity_count() == 0);
}

TEST_CASE("a name that has another text's hash is refused with that text") {
  EntityRegistry registry;
  registry.define_template(TemplateTree("hut"));
  const Entity known = registry.create(first);
  const std::string why = "the name \"" + std::string(second) +
                          "\" cannot be used: it has the hash of another text, \"" + std::string(first) + "\"";
  for (const Created& made :
       {registry.create(second), registry.create_under(known, second), registry.spawn("hut", {.name = second})}) {
    CHECK(made.text() == why);
    CHECK(made.refusal().code == RefusalCode::text_collision);
  }
}

TEST_CASE("a spawn is refused with what does not fit") {
  EntityRegistry registry;
  registry.define_template(TemplateTree("hut"));
  const Entity town = registry.create("town"), house = registry.create_under(town, "house");
  CHECK(registry.spawn("barn").text() == "no template is named \"barn\"");
  CHECK(registry.spawn("barn").refusal().code == RefusalCode::unknown_template);
  CHECK(registry.spawn("barn", {.name = "x"}, Health{}).text() == "no template is named \"barn\"");
  CHECK(registry.spawn("hut", {.count = 0}).text() == "the number of trees is 0");
  CHECK(registry.spawn("hut", {.name = "town", .clash = NameClash::refuse}).text() ==
        "the name \"town\" is taken by " + id(town) + " (/town)");
  CHECK(registry.spawn("hut", {.name = "two", .clash = NameClash::refuse, .count = 2}).text() ==
        "several trees cannot share the name \"two\"");
  CHECK(registry.spawn("hut", {.parent = house, .before = town}).text() ==
        "the sibling " + id(town) + " (/town) is not a child of the parent");
  CHECK(registry.spawn("hut", {}, Name{}).text() == "muster.Name is kept by the registry and cannot be given");
  std::vector<Entity> ids{town};
  CHECK_FALSE(registry.spawn("hut", {.parent = house, .before = town, .ids = &ids}));
  CHECK(ids == std::vector<Entity>{town});
  CHECK(registry.spawn("hut", {.name = "town"}));  // as town~2
}

TEST_CASE("the id of a refused entity stops the program with the sentence") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc");
  const std::string stopped = "muster: an entity was not created, and its id was used: the name \"orc\" is taken by " +
                              id(orc) + " (/orc); test the result of create, create_under or spawn if it may be " +
                              "refused\n";
  CHECK(test::last_words([&] { registry.push(registry.create("orc"), game::Damage{}); }) == stopped);
  CHECK(test::last_words([&] { registry.create("orc").or_stop(); }) == stopped);
  CHECK(test::last_words([&] {
          const Created tested = registry.create("orc");
          if (!tested) registry.destroy(tested);
        }) == stopped);
  CHECK(test::last_words([&] {
          if (!registry.create("orc")) std::abort();
        }).empty());
}

TEST_CASE("a component that the registry keeps stops a create that cannot be refused") {
  EntityRegistry registry;
  CHECK(test::last_words([&] {
          registry.create(Name{});
        }).starts_with("muster: an entity was not created, and its id was used: muster.Name is kept by the registry"));
}

}  // namespace refused_creations_test
