// What an edit that the world refuses says: each cause in its own words.
#include <catch2/catch.hpp>

#include "registry/templates/template_tree.h"
#include "tests/server/live_world.h"

namespace desk_refusals_test {

using namespace muster;
using namespace muster::testing;

namespace {

struct Scene {
  LiveWorld world;
  Client client;
  Entity town, orc;

  Scene() : world(), client(world.client()) {
    std::tie(town, orc) = world.run([](EntityRegistry& r) {
      const Entity made = r.create("town");
      return std::pair(made, r.create_under(made, "orc", arena::Health{.value = 30}, arena::Label{}));
    });
  }
  session::Fault refused(const Result<Acknowledged>& result) {
    REQUIRE_FALSE(result.has_value());
    REQUIRE(result.error().kind == ClientError::Kind::refused);
    return result.error().fault;
  }
  session::Fault refused(const auto& write) {
    BatchBuilder builder;
    write(builder);
    return refused(client.push_batch(builder.bytes()));
  }
};

}  // namespace

TEST_CASE("each cause of a refusal has a word and a sentence of its own", "[refusals]") {
  Scene scene;
  const Entity orc = scene.orc, town = scene.town;
  const std::string shown = "#" + std::to_string(orc.index) + ":1 (/town/orc)";

  SetField set{.component = TypeTraits<arena::Health>::id, .field = hash32("team"), .bytes = 1};
  set.value[0] = 9;
  session::Fault fault = scene.refused(scene.client.push(orc, set));
  CHECK(fault.reason == "bad_value");
  CHECK(fault.text ==
        "arena.Health.team of " + shown +
            " cannot have that value: a bool is 0 or 1, an enum has one of its values, padding is zero, and it "
            "has the size of its type");
  set.bytes = 2;
  fault = scene.refused(scene.client.push(orc, set));
  CHECK(fault.reason == "wrong_size");
  CHECK(fault.text == "arena.Health.team of " + shown +
                          " has 1 bytes, the message says another number or it is more than a SetField holds");

  fault = scene.refused([&](BatchBuilder& to) { to.append_rows(orc, Set{.mode = SetMode::add}, arena::Health{}); });
  CHECK(fault.reason == "component_there");
  CHECK(fault.text == shown + " has a arena.Health already");

  const auto elf = scene.client.create(town, "elf");
  REQUIRE(elf.has_value());
  fault = scene.refused(scene.client.rename(*elf, "orc"));
  CHECK(fault.reason == "name_taken");
  CHECK(fault.text ==
        "#" + std::to_string(elf->index) + ":1 (/town/elf) would get the name \"orc\", which " + shown + " has");
  const auto twin = scene.client.create(town, "orc");
  REQUIRE_FALSE(twin.has_value());
  CHECK(twin.error().fault.text.ends_with(" would get the name \"orc\", which " + shown + " has"));
  const auto root_orc = scene.client.create({}, "orc");
  REQUIRE(root_orc.has_value());
  fault = scene.refused(scene.client.reparent(*root_orc, town));
  CHECK(fault.reason == "name_taken");
  CHECK(fault.text ==
        "#" + std::to_string(root_orc->index) + ":1 (/orc) would get the name \"orc\", which " + shown + " has");

  fault = scene.refused(scene.client.reparent(orc, town, town));
  CHECK(fault.reason == "before_is_no_child");
  CHECK(fault.text == "before is not a child of the parent that " + shown + " would get");

  fault = scene.refused([&](BatchBuilder& to) { to.append_world(Destroy{}); });
  CHECK(fault.reason == "wrong_targets");
  CHECK(fault.text ==
        "muster.Destroy cannot be sent there: it says what becomes of entities that are named one by one");
}

TEST_CASE("a refused DefineTemplate names the node, the value and what is wrong with it", "[refusals]") {
  Scene scene;
  const DefineTemplate tower = scene.world.run([](EntityRegistry&) {
    TemplateTree tree("tower");
    tree.set("top", arena::Health{.value = 5}).set("top", arena::Target{});
    return *tree.compile();
  });
  REQUIRE(tower.nodes.size() == 2);
  const auto refused = [&](auto&& change) {
    DefineTemplate changed = tower;
    change(changed);
    return scene.refused(
        [&](BatchBuilder& to) { to.append_table(TypeTraits<DefineTemplate>::id, {}, encode(changed)); });
  };
  const auto health = [](DefineTemplate& t) -> TemplateValue& {
    for (TemplateValue& value : t.nodes[1].components)
      if (value.type == TypeTraits<arena::Health>::id) return value;
    return t.nodes[1].components[0];
  };
  session::Fault fault = refused([&](DefineTemplate& t) { ++health(t).fingerprint; });
  CHECK(fault.reason == "other_layout");
  CHECK(fault.field == "nodes[1]");
  CHECK(fault.type == TypeTraits<arena::Health>::id);
  CHECK(fault.text == "node 1 of the template: arena.Health has a different layout in this world");
  fault = refused([&](DefineTemplate& t) { health(t).value[5] = 9; });
  CHECK(fault.reason == "bad_value");
  CHECK(fault.text.starts_with("node 1 of the template: arena.Health cannot have that value"));
  fault = refused([](DefineTemplate& t) { t.nodes[1].parent = 1; });
  CHECK(fault.reason == "bad_template");
  CHECK(
      fault.text ==
      "node 1 of the template: its parent is neither the preceding node nor above it: nodes are in pre-order, and the "
      "first has parent 0");
  fault = refused([](DefineTemplate& t) { std::swap(t.nodes[1].components[0], t.nodes[1].components[1]); });
  CHECK(fault.text.find("components must ascend by type id") != std::string::npos);
  fault = refused([&](DefineTemplate& t) { health(t).references = {{.offset = 0, .node = 1}}; });
  CHECK(
      fault.text ==
      "node 1 of the template: a reference of arena.Health is not at a muster.Entity field, or names a node that does "
      "not exist");
  fault = refused([](DefineTemplate& t) {
    t.nodes.push_back(t.nodes[1]);
    t.nodes[2].parent = 0;
  });
  CHECK(fault.reason == "name_taken");
  CHECK(fault.text == "node 2 of the template: its name is taken by a sibling");
}

TEST_CASE("a tree whose root would get a taken name is refused with the name and who has it", "[refusals]") {
  Scene scene;
  scene.world.run([](EntityRegistry& r) { return r.define_template(TemplateTree("one")).refused; });
  REQUIRE(scene.client.intern("one"));
  const Text name = scene.client.intern("orc").value();
  const Entity id = scene.client.next_id().value();
  const auto fault = scene.refused([&](BatchBuilder& to) {
    to.append_shared(std::span(&id, 1), Spawn{.what = Text{hash64("one")}, .parent = scene.town, .name = name});
  });
  CHECK(fault.reason == "name_taken");
  const std::string shown = "#" + std::to_string(scene.orc.index) + ":1 (/town/orc)";
  CHECK(fault.text == "#" + std::to_string(id.index) + ":1 would get the name \"orc\", which " + shown + " has");
}

TEST_CASE("of a batch of many the name that is told is the one that was refused", "[refusals]") {
  Scene scene;
  const Entity elf = scene.client.create(scene.town, "elf").value(),
               imp = scene.client.create(scene.town, "imp").value();
  const Text orc = scene.client.intern("orc").value(), troll = scene.client.intern("troll").value(),
             gnome = scene.client.intern("gnome").value();
  const auto renamed = [&](const std::vector<std::pair<Entity, Text>>& names) {
    return scene
        .refused([&](BatchBuilder& to) {
          for (const auto& [e, name] : names) to.append(e, Rename{.name = name});
        })
        .text;
  };
  const auto shown = [](Entity e, const std::string& path) {
    return "#" + std::to_string(e.index) + ":1 (" + path + ")";
  };
  CHECK(renamed({{elf, gnome}, {imp, orc}}) ==
        shown(imp, "/town/imp") + " would get the name \"orc\", which " + shown(scene.orc, "/town/orc") + " has");
  // One that is renamed twice does not say which of both was refused.
  CHECK(renamed({{imp, troll}, {imp, orc}}) ==
        shown(imp, "/town/troll") + " would get a name that is taken by a sibling");
  // By now it has the name itself.
  const Text goblin = scene.client.intern("goblin").value();
  CHECK(renamed({{imp, orc}, {scene.orc, goblin}, {imp, orc}}) ==
        shown(imp, "/town/orc") + " would get the name \"orc\", which a sibling has");
}

}  // namespace desk_refusals_test
