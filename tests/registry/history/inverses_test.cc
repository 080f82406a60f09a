// The inverse of each message, and of what messages do to each other within a step.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/registry/history/editors.h"
#include "tests/registry/history/sign.h"

namespace inverses_test {

using namespace muster;
using namespace muster::history_test;

namespace {

struct World : Editors {
  World() {
    const Entity flag = registry.create_under(camp, "flag");
    registry.create_under(camp, "tent", Health{4}).or_stop();
    registry.set(flag, Member{.squad = orc});
    registry.set(orc, Position{.at = {1, 2, 3}}, Slots{{1, 2, 3, 4}}, ward::Shield{.strength = 3, .by = camp},
                 ward::Stunned{});
    define(9, squad(1));
  }
  static TemplateTree squad(float health) {
    TemplateTree tree("squad");
    tree.set("", Health{health}).set("man", Health{8}).set("man/hat", Armor{3});
    return tree;
  }
  /// Pushes the batch; then undo restores the contents from before, and redo those from after.
  void reverses(BatchBuilder& batch, std::uint32_t parts) {
    const std::string before = contents();
    batch.seal();
    const Receipt receipt = batch.batches() == 1 ? push(1, batch) : step(1, batch);
    REQUIRE(receipt.refused == 0);
    reversed(before, parts);
  }
  void reversed(const std::string& before, std::uint32_t parts) {
    const std::string after = contents();
    REQUIRE(before != after);
    REQUIRE(history.steps(1, HistoryAct::undo) == 1);
    CHECK(history.list(1, 0, 1)[0].parts == parts);
    for (int round = 0; round < 3; ++round) {
      const UndoReport undone = undo(1);
      CHECK(undone.done > 0);
      CHECK(undone.skipped.empty());
      CHECK(undone.nil_references + undone.other_names + undone.other_parents == 0);
      CHECK(contents() == before);
      CHECK(history.steps(1, HistoryAct::undo) == 0);
      CHECK(history.steps(1, HistoryAct::redo) == 1);
      const UndoReport redone = redo(1);
      CHECK(redone.done > 0);
      CHECK(redone.skipped.empty());
      CHECK(contents() == after);
      CHECK(history.steps(1, HistoryAct::redo) == 0);
    }
  }
  Text text(std::string_view name) { return registry.intern(name); }

  Entity orc = registry.create("orc", Health{10}, Armor{1});
  Entity camp = registry.create("camp");
};

}  // namespace

TEST_CASE("every message has its inverse") {
  World w;
  BatchBuilder batch;
  SECTION("Create") {
    const Entity before = w.children(w.camp)[1];
    batch.append_rows(w.take(), Create{.parent = w.camp, .before = before, .name = w.text("gate")}, Health{3});
    w.reverses(batch, 1);
  }
  SECTION("Create of a tree") {
    const Entity top = w.take(), below = w.take();
    batch.append(top, Create{.name = w.text("top")});
    batch.append_rows(below, Create{.parent = top}, Member{.squad = top});
    batch.append_rows(top, Set{}, Member{.squad = below});
    w.reverses(batch, 3);
  }
  SECTION("Spawn") {
    append_spawn(
        batch, w.take(6),
        muster::Spawn{.what = w.text("squad"), .parent = w.camp, .name = w.text("first"), .clash = NameClash::suffix});
    w.reverses(batch, 2);
  }
  SECTION("MergeTemplate") {
    append_spawn(batch, w.take(3), muster::Spawn{.what = w.text("squad"), .name = w.text("first")});
    w.push(7, batch);
    const Entity top = w.registry.find_child({}, "first"), man = w.registry.find_child(top, "man");
    w.registry.set(top, Health{50});
    w.registry.remove<Health>(man);
    w.registry.destroy(w.registry.find_child(man, "hat"));
    batch.clear();
    const std::vector<Entity> ids{top, man, w.take()};
    batch.append_shared(std::span<const Entity>(ids), MergeTemplate{.what = w.text("squad")});
    w.reverses(batch, 3);
  }
  SECTION("Destroy") {
    batch.append(w.orc, Destroy{});
    w.reverses(batch, 1);
  }
  SECTION("Destroy of a subtree") {
    batch.append(w.camp, Destroy{});
    w.reverses(batch, 1);
  }
  SECTION("Destroy of several, some below others and one twice") {
    const Entity flag = w.children(w.camp)[0], tent = w.children(w.camp)[1];
    const std::vector<Entity> all{flag, w.camp, tent, w.orc};
    batch.append_shared(std::span<const Entity>(all), Destroy{});
    w.reverses(batch, 3);
  }
  SECTION("Destroy of many siblings") {
    std::vector<Entity> all;
    for (int i = 0; i < 50; ++i) all.push_back(w.registry.create_under(w.camp, ""));
    for (int i = 0; i < 50; i += 3) batch.append(all[i], Destroy{});
    std::vector<Entity> some;
    for (int i = 49; i > 0; --i)
      if (i % 3 != 0 && i % 7 != 0) some.push_back(all[i]);
    std::swap(some[3], some[20]);
    std::swap(some[4], some[9]);
    batch.append_shared(std::span<const Entity>(some), Destroy{});
    w.reverses(batch, static_cast<std::uint32_t>(17 + some.size()));
  }
  SECTION("Set of properties") {
    batch.append_rows(w.orc, Set{}, Health{11}, Slots{{1, 9, 3, 8}}, Position{.at = {1, 5, 6}});
    w.reverses(batch, 4);
  }
  SECTION("Set of new components") {
    batch.append_rows(w.orc, Set{}, Count{1}, Frozen{});
    w.reverses(batch, 2);
  }
  SECTION("Set of enableable components") {
    const Entity other = w.registry.create(Health{});
    batch.append_rows(other, Set{}, ward::Shield{.strength = 3}, ward::Stunned{});
    w.reverses(batch, 2);
  }
  SECTION("Remove") {
    batch.append(w.orc, Remove{.component = TypeTraits<Armor>::id});
    batch.append(w.orc, Remove{.component = TypeTraits<ward::Shield>::id});
    batch.append(w.orc, Remove{.component = TypeTraits<ward::Stunned>::id});
    w.reverses(batch, 3);
  }
  SECTION("Remove of the name") {
    batch.append(w.orc, Remove{.component = TypeTraits<Name>::id});
    w.reverses(batch, 1);
  }
  SECTION("SetField") {
    SetField field{.component = TypeTraits<Position>::id, .field = hash32("at.y"), .bytes = 4};
    const float value = 9;
    std::memcpy(field.value.data(), &value, 4);
    batch.append(w.orc, field);
    w.reverses(batch, 1);
  }
  SECTION("SetFieldIf") {
    SetField field{.component = TypeTraits<Slots>::id, .field = hash32("counts"), .bytes = 8};
    field.value[0] = 7;
    SetFieldIf message{.set = field};
    message.expected[0] = 1, message.expected[2] = 2, message.expected[4] = 3, message.expected[6] = 4;
    batch.append(w.orc, message);
    w.reverses(batch, 4);
  }
  SECTION("Reparent") {
    batch.append(w.orc, Reparent{.parent = w.camp, .before = w.children(w.camp)[1]});
    w.reverses(batch, 1);
  }
  SECTION("Reparent to another position") {
    batch.append(w.children(w.camp)[0], Reparent{.parent = w.camp});
    w.reverses(batch, 1);
  }
  SECTION("Reparent of a subtree to another depth") {
    batch.append(w.camp, Reparent{.parent = w.orc});
    w.reverses(batch, 1);
  }
  SECTION("Rename") {
    batch.append(w.orc, Rename{.name = w.text("elf")});
    batch.append(w.camp, Rename{});
    w.reverses(batch, 2);
  }
  SECTION("DefineTemplate, new") {
    TemplateTree tree("fort");
    tree.set("", Health{3});
    batch.append_table(TypeTraits<DefineTemplate>::id, {}, encode(*tree.compile()));
    w.reverses(batch, 1);
  }
  SECTION("DefineTemplate, replaced and removed") {
    batch.append_table(TypeTraits<DefineTemplate>::id, {}, encode(*World::squad(2).compile()));
    w.reverses(batch, 1);
    batch.clear();
    batch.append_table(TypeTraits<DefineTemplate>::id, {}, encode(DefineTemplate{.name = "squad"}));
    const std::string before = w.contents();
    w.push(1, batch);
    w.undo(1);
    CHECK(w.contents() == before);
  }
  SECTION("an entity that is edited and then destroyed") {
    batch.append_rows(w.orc, Set{}, Health{11}, Count{3});
    batch.append(w.orc, Rename{.name = w.text("elf")});
    batch.append(w.orc, Reparent{.parent = w.camp, .before = w.children(w.camp)[0]});
    batch.append(w.camp, Destroy{});
    w.reverses(batch, 5);
  }
  SECTION("an entity that is created, edited and destroyed") {
    const Entity e = w.take();
    batch.append_rows(e, Create{.parent = w.camp, .name = w.text("new")}, Health{1});
    batch.append_rows(e, Set{}, Health{2}, Count{1});
    batch.append(e, Destroy{});
    batch.append_rows(w.orc, Set{}, Health{2});
    w.reverses(batch, 5);
  }
  SECTION("names that are exchanged") {
    batch.append(w.orc, Rename{.name = w.text("x")});
    batch.append(w.camp, Rename{.name = w.text("orc")});
    batch.append(w.orc, Rename{.name = w.text("camp")});
    w.reverses(batch, 3);
  }
  SECTION("entities of one name that change parents") {
    const Entity flag = w.children(w.camp)[0];
    const Entity other = w.registry.create("flag");
    batch.append(flag, Reparent{.parent = w.orc});
    batch.append(other, Reparent{.parent = w.camp});
    w.reverses(batch, 2);
  }
  SECTION("siblings that change places") {
    const std::vector<Entity> old = w.children(w.camp);
    batch.append(w.orc, Reparent{.parent = w.camp, .before = old[1]});
    batch.append(old[0], Reparent{.parent = w.camp});
    batch.append(w.orc, Reparent{});
    batch.append(old[1], Reparent{.parent = w.orc});
    w.reverses(batch, 4);
  }
  SECTION("a component that is changed, removed, added and changed back") {
    batch.append_rows(w.orc, Set{}, Health{11});
    batch.append(w.orc, Remove{.component = TypeTraits<Health>::id});
    batch.append_rows(w.orc, Set{}, Health{12});
    batch.append_rows(w.orc, Set{}, Health{10});
    batch.append_rows(w.orc, Set{}, Armor{2});
    w.reverses(batch, 5);
  }
  SECTION("references to what the same step destroys") {
    batch.append_rows(w.orc, Set{}, Member{.squad = w.children(w.camp)[0]});
    batch.append(w.camp, Destroy{});
    batch.append_rows(w.orc, Set{}, Member{.squad = w.orc});
    w.reverses(batch, 3);
  }
}

TEST_CASE("references to a destroyed entity lead to it again, from everywhere") {
  World w;
  const Entity flag = w.children(w.camp)[0];
  w.edit(1, w.orc, Destroy{});
  CHECK(w.get<Member>(flag).squad == w.orc);
  CHECK_FALSE(w.registry.alive(w.orc));
  w.undo(1);
  CHECK(w.get<Member>(flag).squad == w.orc);
  CHECK(w.registry.alive(w.orc));
}

TEST_CASE("names and texts are restored after they were dropped from the world") {
  World w;
  const Entity e = w.create(1, {}, "a name of its own");
  w.edit(1, e, Destroy{});
  w.edit(1, w.camp, Rename{.name = w.text("other")});
  const std::string after = w.contents();
  const auto drop = [&] {
    w.registry.host().drop_texts(std::vector<Text>{text_of("a name of its own"), text_of("camp"), text_of("other")});
  };
  drop();
  CHECK_FALSE(w.registry.host().texts().knows(text_of("a name of its own")));
  w.undo(1);
  CHECK(w.name(w.camp) == "camp");
  drop();
  w.undo(1);
  CHECK(w.name(e) == "a name of its own");
  w.redo(1);
  w.redo(1);
  CHECK(w.contents() == after);
}

TEST_CASE("texts in components are restored after they were dropped from the world") {
  World w;
  w.registry.add_type<signs::Sign>();
  w.registry.set(w.orc, signs::Sign{.words = w.text("welcome")});
  SECTION("in a property") { w.set(1, w.orc, signs::Sign{.words = w.text("keep out")}); }
  SECTION("in a removed component") { w.edit(1, w.orc, Remove{.component = TypeTraits<signs::Sign>::id}); }
  SECTION("in a destroyed entity") { w.edit(1, w.orc, Destroy{}); }
  w.registry.host().drop_texts(std::vector<Text>{text_of("welcome")});
  REQUIRE_FALSE(w.registry.host().texts().knows(text_of("welcome")));
  CHECK(w.undo(1).done == 1);
  CHECK(w.registry.text(w.get<signs::Sign>(w.orc).words) == "welcome");
}

TEST_CASE("ids of what an edit destroyed are not used for other entities until they are released") {
  World w;
  const std::vector<Entity> doomed{w.camp, w.children(w.camp)[0], w.children(w.camp)[1]};
  const Entity camp = w.camp;
  w.edit(1, camp, Destroy{});
  for (int i = 0; i < 1000; ++i) {
    const Entity e = w.registry.create();
    for (const Entity gone : doomed) CHECK(e.index != gone.index);
  }
  CHECK(w.history.release_ids() == 0);
  for (const Entity gone : doomed) CHECK(w.registry.host().storage().in_state(gone, IdState::parked));
  SECTION("because the step was dropped") {
    w.history.clear();
    w.history.release_ids();
  }
  SECTION("because a new edit emptied the redo stack") {
    w.undo(1);
    w.create(1, {}, "x");
    w.history.release_ids();
    CHECK(w.registry.alive(camp));
    w.edit(1, w.orc, Destroy{});
    w.undo(1);
    w.redo(1);
    w.history.release_ids();
    CHECK(w.registry.host().storage().in_state(w.orc, IdState::parked));
    return;
  }
  for (const Entity gone : doomed) CHECK_FALSE(w.registry.host().storage().in_state(gone, IdState::parked));
}

TEST_CASE("a redone creation is parked while it is undone") {
  World w;
  const Entity e = w.create(1, w.camp, "new", Health{1});
  w.undo(1);
  w.history.release_ids();
  CHECK(w.registry.host().storage().in_state(e, IdState::parked));
  w.create(1, {}, "x");
  w.history.release_ids();
  CHECK_FALSE(w.registry.host().storage().in_state(e, IdState::parked));
}

}  // namespace inverses_test
