// Templates put together in code, spawned and merged.
#include "registry/apply/template.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "messages/judge/verifier.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/state.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/templates/barracks.h"

using namespace muster;
using namespace barracks;

namespace {

/// A squad: a leader with a pack, and two men who know their leader.
TemplateTree squad() {
  TemplateTree tree("squad");
  tree.set("", Health{.value = 50}).set("", Soldier{.rank = Rank::sergeant, .title = tree.text("chief")});
  tree.set("pack", Place{.turn = 2});
  tree.set("pack/rope", Armed{});
  tree.set("left", Soldier{}).set("right", Soldier{}).set("right", Health{});
  tree.refer("left", &Soldier::leader, "").refer("right", &Soldier::leader, "");
  return tree;
}

struct Kept final : StateSink, StateSource {
  std::map<StateKey, std::vector<std::byte>> all;
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    all[key].assign(bytes.begin(), bytes.end());
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (const auto& [key, bytes] : all)
      if (key.section == section) take(key, bytes);
  }
};

struct Recorded final : InputSink {
  std::vector<std::pair<InputKind, std::vector<std::byte>>> inputs;
  std::vector<Receipt> receipts;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.emplace_back(envelope.kind, std::vector<std::byte>(batch.begin(), batch.end()));
  }
  void on_receipt(const Envelope&, const Receipt& receipt) noexcept override { receipts.push_back(receipt); }
};

}  // namespace

TEST_CASE("a spawned template is a tree with its values, names and references") {
  EntityRegistry registry;
  REQUIRE(registry.define_template(squad()).refused == 0);
  std::vector<Entity> ids;
  const Entity root = registry.spawn("squad", {.name = "alpha", .ids = &ids});
  REQUIRE(root);
  REQUIRE(ids.size() == 5);
  CHECK(ids[0] == root);
  CHECK(registry.path(ids[2]) == "/alpha/pack/rope");
  CHECK(registry.get<Health>(root).value == 50);
  CHECK(registry.text(registry.get<Soldier>(root).title) == "chief");
  CHECK(registry.has<Armed>(ids[2]));
  CHECK(registry.get<Place>(ids[1]).turn == 2);
  CHECK(registry.get<Soldier>(ids[3]).leader == root);
  CHECK(registry.get<Soldier>(registry.find_path("/alpha/right")).leader == root);
  const Entity second = registry.spawn("squad", {.parent = root, .name = "alpha"});
  CHECK(registry.get<Soldier>(registry.find_path("/alpha/alpha/right")).leader == second);
}

TEST_CASE("usagi 24: spawn parameters take the place of what the template gives the root") {
  EntityRegistry registry;
  registry.define_template(squad());
  const Entity root = registry.spawn("squad", {}, Health{.value = 7}, Place{.turn = 9});
  CHECK(registry.get<Health>(root).value == 7);
  CHECK(registry.get<Place>(root).turn == 9);
  CHECK(registry.get<Soldier>(root).rank == Rank::sergeant);
  CHECK(registry.get<Health>(registry.find_child(root, "right")).value == 100);
  const Entity plain = registry.spawn("squad");
  CHECK(registry.get<Health>(plain).value == 50);
  CHECK_FALSE(registry.has<Place>(plain));
}

TEST_CASE("names of spawned roots clash as names of created entities do") {
  EntityRegistry registry;
  registry.define_template(squad());
  registry.spawn("squad", {.name = "alpha"}).or_stop();
  CHECK(registry.name(registry.spawn("squad", {.name = "alpha"})) == "alpha~2");
  const auto before = registry.entity_count();
  CHECK_FALSE(registry.spawn("squad", {.name = "alpha", .clash = NameClash::refuse}));
  CHECK(registry.entity_count() == before);
  // Of several trees the second would clash with the first.
  CHECK_FALSE(registry.spawn("squad", {.name = "beta", .clash = NameClash::refuse, .count = 2}));
  CHECK(registry.entity_count() == before);
  CHECK(registry.spawn("squad", {.name = "beta", .clash = NameClash::refuse}));
  std::vector<Entity> ids;
  registry.spawn("squad", {.name = "alpha", .count = 3, .ids = &ids}).or_stop();
  REQUIRE(ids.size() == 15);
  CHECK(registry.name(ids[0]) == "alpha~3");
  CHECK(registry.name(ids[5]) == "alpha~4");
  CHECK(registry.name(ids[10]) == "alpha~5");
  CHECK(registry.get<Soldier>(ids[13]).leader == ids[10]);
}

TEST_CASE("spawned roots go before the sibling they are told") {
  EntityRegistry registry;
  registry.define_template(squad());
  const Entity top = registry.create("top");
  const Entity last = registry.create_under(top, "last");
  const Entity root = registry.spawn("squad", {.parent = top, .before = last});
  CHECK(registry.first_child(top) == root);
  CHECK(registry.next_sibling(root) == last);
  CHECK(registry.depth(registry.find_child(registry.find_child(root, "pack"), "rope")) == 3);
  const auto count = registry.entity_count();
  CHECK_FALSE(registry.spawn("squad", {.parent = root, .before = last}));  // another's child
  CHECK_FALSE(registry.spawn("squad", {.parent = top, .before = top}));
  CHECK(registry.entity_count() == count);
}

TEST_CASE("what a handler spawns goes before the sibling it is told") {
  EntityRegistry registry;
  registry.define_template(squad());
  const Entity top = registry.create("top");
  const Entity last = registry.create_under(top, "last");
  Entity made;
  const auto spawns = registry.subscribe("spawn", [&](const Update&, Spawner& spawner) {
    made = spawner.spawn("squad", {.parent = top, .before = last});
  });
  registry.push(Update{});
  REQUIRE(registry.alive(made));
  CHECK(registry.first_child(top) == made);
  CHECK(registry.next_sibling(made) == last);
}

TEST_CASE("a spawn is refused whole, and its ids come back") {
  EntityRegistry registry;
  Recorded sink;
  registry.host().add_sink(sink);
  registry.define_template(squad());
  const Entity dead = registry.create("dead");
  registry.destroy(dead);
  const std::uint64_t count = registry.entity_count();
  const auto refused = [&](std::span<const Entity> ids, Spawn spawn, RefusalCode code) {
    BatchBuilder builder;
    append_spawn(builder, ids, spawn);
    const auto indices = registry.host().storage().ids().indices();
    const Receipt receipt = registry.host().push_batch(builder.bytes(), {.session = 7});
    CHECK(receipt.handled == 0);
    CHECK(receipt.refused == ids.size());
    CHECK(receipt.refusal.code == code);
    CHECK(registry.entity_count() == count);
    CHECK(registry.host().storage().ids().indices() == indices);
  };
  const Entity first = registry.host().grant(10, 7);
  std::vector<Entity> ids;
  for (std::uint32_t i = 0; i < 5; ++i) ids.push_back({first.index + i, 1});
  const Text name = text_of("squad");
  refused(ids, {.what = text_of("nobody")}, RefusalCode::unknown_template);
  refused(std::span(ids).first(4), {.what = name}, RefusalCode::wrong_targets);
  refused(ids, {.what = name, .parent = dead}, RefusalCode::dead_entity);
  refused(ids, {.what = name, .before = dead}, RefusalCode::before_is_no_child);
  refused(ids, {.what = name, .name = text_of("never heard")}, RefusalCode::bad_name);
  std::vector<Entity> wrong = ids;
  wrong[4] = {first.index + 100, 1};
  refused(wrong, {.what = name}, RefusalCode::id_not_granted);
  wrong[4] = wrong[1];
  refused(wrong, {.what = name}, RefusalCode::id_not_granted);
  BatchBuilder builder;
  append_spawn(builder, ids, {.what = name});
  CHECK(registry.host().push_batch(builder.bytes(), {.session = 7}).handled == 5);
  CHECK(registry.alive(ids[4]));
  registry.host().remove_sink(sink);
}

TEST_CASE("spawning gives the same world as creating the tree by hand") {
  EntityRegistry by_template, by_hand;
  for (EntityRegistry* registry : {&by_template, &by_hand}) registry->define_template(squad());
  for (int round = 0; round < 3; ++round) {
    by_template.spawn("squad", {.name = "alpha"}).or_stop();
    EntityRegistry& r = by_hand;
    const Entity root = r.create(round ? "alpha~" + std::to_string(round + 1) : "alpha", Health{.value = 50},
                                 Soldier{.rank = Rank::sergeant, .title = text_of("chief")});
    const Entity pack = r.create_under(root, "pack", Place{.turn = 2});
    r.create_under(pack, "rope", Armed{}).or_stop();
    r.create_under(root, "left", Soldier{.leader = root, .title = text_of("recruit")}).or_stop();
    r.create_under(root, "right", Soldier{.leader = root, .title = text_of("recruit")}, Health{}).or_stop();
  }
  while (by_template.sequence() < by_hand.sequence()) by_template.push(Update{});
  while (by_hand.sequence() < by_template.sequence()) by_hand.push(Update{});
  CHECK(by_template.hash() == by_hand.hash());
  by_template.spawn("squad").or_stop();
  by_hand.push(Update{});
  CHECK(by_template.hash() != by_hand.hash());
}

TEST_CASE("templates are saved with the world, and replayed with it") {
  EntityRegistry first, second, replayed;
  Recorded sink;
  first.host().add_sink(sink);
  first.define_template(squad());
  first.spawn("squad", {.name = "alpha"}).or_stop();
  first.spawn("squad", {.name = "alpha", .count = 2}, Health{.value = 1}).or_stop();
  first.apply_template(first.find_path("/alpha"), "squad");
  Kept kept;
  first.save(kept);
  REQUIRE(second.load(kept));
  CHECK(second.hash() == first.hash());
  replayed.add_type<Health>();
  for (const auto& [kind, batch] : sink.inputs) replayed.host().push_batch(batch);
  CHECK(replayed.hash() == first.hash());
  for (EntityRegistry* registry : {&first, &second, &replayed}) registry->spawn("squad", {.name = "alpha"}).or_stop();
  CHECK(second.hash() == first.hash());
  CHECK(replayed.hash() == first.hash());
  Kept changed = kept;
  for (auto& [key, bytes] : changed.all)
    if (key.section == StateSection::templates) bytes.resize(bytes.size() - 16);
  EntityRegistry third;
  const auto loaded = third.load(changed);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().at.section == StateSection::templates);
  first.host().remove_sink(sink);
}

TEST_CASE("a template is replaced, and forgotten") {
  EntityRegistry registry;
  registry.define_template(squad());
  const auto old = registry.host().find_template("squad");
  REQUIRE(old);
  TemplateTree smaller("squad");
  smaller.set("", Health{.value = 1});
  registry.define_template(smaller);
  CHECK(registry.host().find_template("squad")->size() == 1);
  CHECK(old->size() == 5);
  CHECK(registry.get<Health>(registry.spawn("squad")).value == 1);
  DefineTemplate nothing;
  nothing.name = "squad";
  BatchBuilder builder;
  builder.append_table(TypeTraits<DefineTemplate>::id, {}, encode(nothing));
  CHECK(registry.host().push_batch(builder.bytes()).refused == 0);
  CHECK_FALSE(registry.host().find_template("squad"));
  CHECK_FALSE(registry.spawn("squad"));
}

TEST_CASE("usagi 4: activated, then loaded once the whole tree is there, parents first") {
  EntityRegistry registry;
  registry.define_template(squad());
  std::vector<std::string> seen;
  std::uint64_t whole = 5;  // entities there are when a tree is
  const auto a = registry.subscribe("a", [&](const Activated&, Entity self) {
    seen.push_back("activated " + registry.path(self) + (registry.entity_count() == whole ? "" : " too early"));
  });
  const auto b = registry.subscribe("b", [&](const Loaded& loaded, Entity self) {
    seen.push_back((loaded.previously ? "loaded again " : "loaded ") + registry.path(self));
  });
  const auto c = registry.subscribe("c", [&](const Deactivated&, const Soldier*, Entity self) {
    seen.push_back("deactivated " + registry.path(self));
  });
  const Entity root = registry.spawn("squad", {.name = "alpha"});
  CHECK(seen == std::vector<std::string>{"activated /alpha", "activated /alpha/pack", "activated /alpha/pack/rope",
                                         "activated /alpha/left", "activated /alpha/right", "loaded /alpha",
                                         "loaded /alpha/pack", "loaded /alpha/pack/rope", "loaded /alpha/left",
                                         "loaded /alpha/right"});
  seen.clear();
  TemplateTree more("more");
  more.set("pack/knife", Armed{});
  registry.define_template(more);
  whole = 6;
  registry.apply_template(root, "more");
  CHECK(seen == std::vector<std::string>{"activated /alpha/pack/knife", "loaded again /alpha",
                                         "loaded again /alpha/pack", "loaded /alpha/pack/knife"});
  seen.clear();
  registry.destroy(registry.find_path("/alpha/pack"));
  CHECK(seen == std::vector<std::string>{"deactivated /alpha/pack/knife", "deactivated /alpha/pack/rope",
                                         "deactivated /alpha/pack"});
  seen.clear();
  whole = 4;
  registry.create_under(root, "alone").or_stop();
  CHECK(seen == std::vector<std::string>{"activated /alpha/alone", "loaded /alpha/alone"});
}

TEST_CASE("usagi 25: initial messages reach the entities before anything else does") {
  EntityRegistry registry;
  TemplateTree tree = squad();
  tree.message("left", Greet{.loudness = 5});
  tree.message("", Speech{.text = "form up", .words = {"a", "b"}, .volume = 2});
  registry.define_template(tree);
  std::vector<std::string> seen;
  const auto greet = registry.subscribe("greet", [&](const Greet& g, const Soldier&, Entity self) {
    seen.push_back("greet " + std::to_string(g.loudness) + " " + std::string(registry.name(self)));
  });
  const auto speech = registry.subscribe("speech", [&](const SpeechView& s, Entity self) {
    seen.push_back("speech " + std::string(s.text()) + std::to_string(s.words().size()) + " " + registry.path(self));
  });
  const auto loaded = registry.subscribe("loaded", [&](const Loaded&, const Health&, Entity self, Outbox& out) {
    seen.push_back("loaded " + registry.path(self));
    out.post(self, Tick{});
  });
  const auto ticked =
      registry.subscribe("tick", [&](const Tick&, Entity self) { seen.push_back("tick " + registry.path(self)); });
  const auto spawns = registry.subscribe("spawn", [&](const Update&, Spawner& spawner, Outbox& out) {
    const Entity made = spawner.spawn("squad", {.name = "b"});
    out.post(made, Tick{});
  });
  registry.push(Update{});
  CHECK(seen == std::vector<std::string>{"loaded /b", "loaded /b/right", "speech form up2 /b", "greet 5 left",
                                         "tick /b", "tick /b", "tick /b/right"});
}

TEST_CASE("a template's own messages name entities of the tree that was spawned") {
  EntityRegistry registry;
  TemplateTree tree = squad();
  tree.message("left", Greet{.loudness = 5});
  tree.find("left")->messages.back().references.push_back(
      {static_cast<std::uint32_t>(offsetof(Greet, by)), tree.find("")->key()});
  REQUIRE(registry.define_template(tree).refused == 0);
  std::vector<Entity> by;
  const auto greet = registry.subscribe("greet", [&](const Greet& g, const Soldier&) { by.push_back(g.by); });
  const Entity first = registry.spawn("squad"), second = registry.spawn("squad");
  CHECK(by == std::vector<Entity>{first, second});
}

TEST_CASE("usagi 20: a spawned tree's ids are final before it is there") {
  EntityRegistry registry;
  registry.define_template(squad());
  std::vector<Entity> ids;
  bool alive_early = true;
  const auto spawns = registry.subscribe("spawn", [&](const Update&, Spawner& spawner, Outbox& out) {
    const Entity made = spawner.spawn("squad", {.name = "b", .ids = &ids}, Health{.value = 3});
    alive_early = registry.alive(ids[4]);
    out.set(ids[4], Health{.value = 4}, Soldier{.leader = made});
    CHECK_FALSE(spawner.spawn("nobody"));
  });
  registry.push(Update{});
  CHECK_FALSE(alive_early);
  REQUIRE(ids.size() == 5);
  CHECK(registry.get<Health>(ids[0]).value == 3);
  CHECK(registry.get<Health>(ids[4]).value == 4);
}

TEST_CASE("usagi 22: a dying tree goes children first, and later messages to it are dropped") {
  EntityRegistry registry;
  registry.define_template(squad());
  std::vector<std::string> seen;
  const auto c = registry.subscribe("c", [&](const Deactivated&, Entity self, Outbox& out) {
    seen.emplace_back(registry.name(self));
    out.post(self, Tick{});
  });
  int ticks = 0;
  const auto t = registry.subscribe("t", [&](const Tick&, Entity) { ++ticks; });
  const Entity root = registry.spawn("squad", {.name = "b"});
  registry.destroy(root);
  CHECK(seen == std::vector<std::string>{"right", "left", "rope", "pack", "b"});
  CHECK(ticks == 0);
  CHECK(registry.host().counters().dead == 5);
}

TEST_CASE("usagi 24: a template is merged into a living tree by the names of children") {
  EntityRegistry registry;
  registry.define_template(squad());
  const Entity root = registry.spawn("squad", {.name = "alpha"}, Health{.value = 9, .regrowth = 4});
  const Entity right = registry.find_child(root, "right");
  registry.set(right, Health{.value = 2, .regrowth = 5});
  TemplateTree hurt("hurt");
  TemplateTree::Value& health = hurt.set(hurt.root(), TypeTraits<Health>::id, TypeTraits<Health>::fingerprint,
                                         std::as_bytes(std::span(&static_cast<const Health&>(Health{.value = 1}), 1)));
  std::fill_n(health.given.begin() + 4, 4, std::uint8_t{0});
  hurt.set("right", Holder{}).refer("right", &Soldier::leader, "");
  hurt.set("right/bandage", Soldier{}).refer("right/bandage", &Soldier::leader, "right");
  hurt.message("right", Tick{.n = 4});
  registry.define_template(hurt);
  std::vector<Entity> ticked;
  const auto t = registry.subscribe("t", [&](const Tick&, Entity self) { ticked.push_back(self); });
  std::vector<Entity> ids;
  const Receipt receipt = registry.apply_template(root, "hurt", &ids);
  CHECK(receipt.handled == 3);
  CHECK(ids[1] == right);
  CHECK(registry.get<Health>(root).value == 1);
  CHECK(registry.get<Health>(root).regrowth == 4);
  CHECK(registry.get<Health>(right).value == 2);
  CHECK(registry.has<Holder>(right));
  CHECK(registry.get<Soldier>(registry.find_path("/alpha/right/bandage")).leader == right);
  CHECK(ticked == std::vector<Entity>{right});
  // Ids that do not fit the tree are refused, and change nothing.
  const std::uint64_t version = registry.entity_count();
  BatchBuilder builder;
  builder.append_shared(std::span<const Entity>(std::vector<Entity>{root, registry.find_child(root, "left"), ids[2]}),
                        MergeTemplate{.what = text_of("hurt")});
  const Receipt refused = registry.host().push_batch(builder.bytes());
  CHECK(refused.refused == 3);
  CHECK(refused.refusal.code == RefusalCode::name_taken);
  CHECK(registry.entity_count() == version);
  CHECK(registry.apply_template(root, "nobody").refusal.code == RefusalCode::unknown_template);
}

TEST_CASE("a merge leaves a reference alone that the template does not give, though it gives the field before it") {
  EntityRegistry registry;
  const Entity other = registry.create("other");
  const Entity has = registry.create(Holder{.slots = {other, other, other}, .weights = {1, 2, 3}});
  const Entity has_not = registry.create();
  TemplateTree tree("hold");
  const std::uint32_t child = tree.at("child").key();
  tree.set("", Holder{});
  TemplateTree::Value& value = *tree.root().component(TypeTraits<Holder>::id);
  std::ranges::fill(value.given, std::uint8_t{0});
  std::fill_n(value.given.begin(), sizeof(Entity), std::uint8_t{1});  // slots[0]
  value.references.push_back({sizeof(Entity), child});                // slots[1]
  registry.define_template(tree);
  REQUIRE(registry.apply_template(has, "hold").refused == 0);
  REQUIRE(registry.apply_template(has_not, "hold").refused == 0);
  const auto kept = registry.get<Holder>(has);
  CHECK(kept.slots[0] == Entity{});
  CHECK(kept.slots[1] == other);
  CHECK(kept.slots[2] == other);
  CHECK(kept.weights[2] == 3);
  CHECK(registry.get<Holder>(has_not).slots[1] == registry.find_child(has_not, "child"));
}

TEST_CASE("bubel 8: templates come from components, from an entity, and from a base plus and minus components") {
  EntityRegistry registry;
  TemplateTree plain("plain");
  plain.set("", Health{}).set("", Place{.turn = 1});
  registry.define_template(plain);
  TemplateTree derived = TemplateTree::read(*registry.host().template_definition("plain"));
  TemplateTree other("other");
  other.merge(other.root(), derived);
  other.set("", Armed{}).remove<Place>("");
  registry.define_template(other);
  const Entity e = registry.spawn("other");
  CHECK(registry.has<Health>(e));
  CHECK(registry.has<Armed>(e));
  CHECK_FALSE(registry.has<Place>(e));

  registry.define_template(squad());
  const Entity outsider = registry.create("outsider");
  const Entity root = registry.spawn("squad", {.name = "alpha"});
  const Entity left = registry.find_child(root, "left"), right = registry.find_child(root, "right");
  registry.set(left, Holder{.slots = {right, outsider, left}});
  registry.create_under(left, "", Armed{}).or_stop();
  registry.define_template(TemplateTree::of(registry, root, "taken"));
  const Entity copy = registry.spawn("taken", {.name = "copy"});
  const Entity copy_left = registry.find_child(copy, "left");
  CHECK(registry.get<Holder>(copy_left).slots[0] == registry.find_child(copy, "right"));
  CHECK(registry.get<Holder>(copy_left).slots[1] == outsider);
  CHECK(registry.get<Holder>(copy_left).slots[2] == copy_left);
  CHECK(registry.has<Armed>(registry.first_child(copy_left)));
  CHECK(registry.get<Soldier>(copy).title == registry.get<Soldier>(root).title);
  // An empty template is an empty entity.
  registry.define_template(TemplateTree("empty"));
  CHECK(registry.host().components(registry.spawn("empty")).empty());
}

TEST_CASE("nebula 24: the components of a template are set in one move, removes before adds") {
  EntityRegistry registry;
  TemplateTree base("base"), armed("armed");
  base.set("", Health{.value = 3}).set("", Place{});
  armed.merge(armed.root(), base);
  armed.remove<Place>("").set("", Place{.turn = 8}).set("", Armed{});
  registry.define_template(base);
  registry.define_template(armed);
  const auto archetypes = registry.host().storage().next_archetype();
  const Entity e = registry.spawn("armed");
  CHECK(registry.host().storage().next_archetype() == archetypes + 1);  // no archetype in between
  CHECK(registry.get<Place>(e).turn == 8);
  CHECK(registry.get<Health>(e).value == 3);
}

TEST_CASE("bitsquid 25: all of a tree's entities are there before anybody hears of the first") {
  EntityRegistry registry;
  registry.define_template(squad());
  std::vector<std::uint64_t> counts;
  const auto s = registry.subscribe("s", [&](const Spawn&, Entity) { counts.push_back(registry.entity_count()); });
  registry.spawn("squad", {.count = 2}).or_stop();
  CHECK(counts == std::vector<std::uint64_t>(10, 10));
  // Nodes are flat: each names its parent by number, parents come first.
  const auto squad_template = registry.host().find_template("squad");
  for (std::uint32_t i = 1; i < squad_template->size(); ++i) CHECK(squad_template->nodes()[i].parent < i);
}

TEST_CASE("a definition that cannot be is refused, and names the type") {
  EntityRegistry registry;
  registry.add_type<Health>();
  registry.add_type<Greet>();
  const DefineTemplate good = *squad().compile();
  const auto refusal = [&](auto change) {
    DefineTemplate changed = good;
    change(changed);
    BatchBuilder builder;
    const std::vector<std::byte> table = encode(changed);
    builder.append_table(TypeTraits<DefineTemplate>::id, {}, table);
    REQUIRE(verify_batch(builder.bytes(), registry.types()));
    const Receipt receipt = registry.host().push_batch(builder.bytes());
    CHECK(receipt.refused == 1);
    CHECK_FALSE(registry.host().find_template(changed.name));
    return receipt.refusal;
  };
  CHECK(refusal([](DefineTemplate& t) { t.name = ""; }).code == RefusalCode::bad_name);
  const auto at_node = [&](auto&& change, std::uint32_t node, const char* field) {
    const Refusal found = refusal(change);
    CHECK(found.code == RefusalCode::bad_template);
    CHECK(found.node == node);
    CHECK(found.field == hash32(field));
  };
  at_node([](DefineTemplate& t) { t.nodes[0].parent = 1; }, 0, "parent");
  at_node([](DefineTemplate& t) { t.nodes[2].parent = 2; }, 2, "parent");
  at_node([](DefineTemplate& t) { t.nodes[4].parent = 2; }, 4, "parent");
  at_node([](DefineTemplate& t) { t.nodes[0].name = "x"; }, 0, "name");
  const Refusal same_name = refusal([](DefineTemplate& t) { t.nodes[4].name = "left"; });
  CHECK(same_name.code == RefusalCode::name_taken);
  CHECK(same_name.node == 4);
  CHECK(refusal([](DefineTemplate& t) { t.nodes[0].components[0].type = 12345; }).code ==
        RefusalCode::unknown_component);
  const auto health = [](DefineTemplate& t) -> TemplateValue& {
    for (TemplateValue& value : t.nodes[0].components)
      if (value.type == TypeTraits<Health>::id) return value;
    return t.nodes[0].components[0];
  };
  const Refusal layout = refusal([&](DefineTemplate& t) { ++health(t).fingerprint; });
  CHECK(layout.code == RefusalCode::other_layout);
  CHECK(layout.node == 0);
  CHECK(layout.type == TypeTraits<Health>::id);
  CHECK(refusal([&](DefineTemplate& t) { health(t).value.pop_back(); }).type == TypeTraits<Health>::id);
  CHECK(refusal([&](DefineTemplate& t) { health(t).given = {{.offset = 4, .bytes = 5}}; }).type ==
        TypeTraits<Health>::id);
  CHECK(refusal([&](DefineTemplate& t) { health(t).references = {{.offset = 0, .node = 1}}; }).type ==
        TypeTraits<Health>::id);
  CHECK(refusal([](DefineTemplate& t) {
          for (TemplateValue& value : t.nodes[3].components)
            if (!value.references.empty()) value.references[0].node = 5;
        }).type == TypeTraits<Soldier>::id);
  CHECK(refusal([](DefineTemplate& t) {
          t.nodes[0].messages.push_back({.type = TypeTraits<Destroy>::id,
                                         .fingerprint = TypeTraits<Destroy>::fingerprint,
                                         .value = std::vector<std::uint8_t>(4),
                                         .given = {},
                                         .references = {}});
        }).type == TypeTraits<Destroy>::id);
  TemplateTree twice("twice");
  twice.add_child(twice.root(), "a");
  twice.add_child(twice.root(), "a");
  CHECK_THROWS_AS(registry.define_template(twice), SetupError);
}

TEST_CASE("a definition that is refused counts as refused alone, and nobody hears of it") {
  EntityRegistry registry;
  int heard = 0;
  const auto s = registry.subscribe("s", [&](const DefineTemplateView&) { ++heard; });
  TemplateTree wrong("wrong");
  wrong.set(wrong.root(), TypeTraits<Health>::id, TypeTraits<Health>::fingerprint + 1, {});
  const Receipt refused = registry.define_template(wrong);
  CHECK(refused.refused == 1);
  CHECK(refused.handled == 0);
  CHECK(heard == 0);
  CHECK(registry.define_template(squad()).handled == 1);
  CHECK(heard == 1);
}

TEST_CASE("merging makes no archetype that no row needs, before a load and after") {
  EntityRegistry registry;
  registry.define_template(squad());
  registry.spawn("squad", {.name = "alpha"}).or_stop();
  const Entity e = registry.create("e", Health{}, Soldier{}, Armed{});
  Kept kept;
  registry.save(kept);
  EntityRegistry loaded;
  REQUIRE(loaded.load(kept));
  REQUIRE(loaded.hash() == registry.hash());
  const std::uint32_t before = registry.host().storage().next_archetype();
  REQUIRE(registry.apply_template(e, "squad").handled == 5);  // its children are like alpha's
  REQUIRE(loaded.apply_template(e, "squad").handled == 5);
  CHECK(registry.host().storage().next_archetype() == before);
  CHECK(loaded.hash() == registry.hash());

  // Two components that are missing: one new archetype, not one for each.
  const Entity bare = registry.create("bare", Place{});
  const std::uint32_t bare_before = registry.host().storage().next_archetype();
  REQUIRE(registry.apply_template(bare, "squad").handled == 5);
  CHECK(registry.host().storage().next_archetype() == bare_before + 1);
}

TEST_CASE("who follows components hears of a merge node by node, in the order of their types") {
  EntityRegistry registry;
  TemplateTree tree("tree");
  tree.set("", Health{.value = 1}).set("", Place{.turn = 2}).set("", Armed{}).set("", Soldier{});
  registry.define_template(tree);
  const Entity e = registry.create(Health{.value = 5}, Place{});
  std::vector<TypeId> heard;
  const auto a =
      registry.subscribe("a", [&](const Changed<Health>&, Entity) { heard.push_back(TypeTraits<Health>::id); });
  const auto b =
      registry.subscribe("b", [&](const Changed<Place>&, Entity) { heard.push_back(TypeTraits<Place>::id); });
  const auto c = registry.subscribe("c", [&](const Added<Armed>&, Entity) { heard.push_back(TypeTraits<Armed>::id); });
  const auto d =
      registry.subscribe("d", [&](const Added<Soldier>&, Entity) { heard.push_back(TypeTraits<Soldier>::id); });
  registry.apply_template(e, "tree");
  CHECK(heard.size() == 4);
  CHECK(std::ranges::is_sorted(heard));
}
