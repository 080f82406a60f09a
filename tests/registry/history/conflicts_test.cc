// The table of conflicts in docs/undo.md, row by row. User 1 undoes; user 2 has edited since.
#include <catch2/catch.hpp>

#include "tests/registry/history/editors.h"

namespace conflicts_test {

using namespace muster;
using namespace muster::history_test;

namespace {

struct World : Editors {
  Entity orc = registry.create("orc", Health{10}, Armor{1});
  Entity camp = registry.create("camp");

  /// Undoes with both ways of treating conflicts, after checking what a dry run says.
  UndoReport dry(Conflicts conflicts) { return history.apply(HistoryAct::undo, by(1), conflicts, true); }
  /// The undo skips a single part, for `reason`, and changes nothing.
  void skips(Skip reason, std::uint64_t user, Conflicts conflicts = Conflicts::skip) {
    const std::string before = contents();
    const std::uint64_t hash = registry.hash();
    const std::uint32_t left = history.steps(1, HistoryAct::undo);
    const UndoReport report = undo(1, conflicts);
    CHECK(report.done == 0);
    CHECK(report.passed_over == left);
    REQUIRE(report.skipped.size() >= 1);
    CHECK(report.skipped[0].reason == reason);
    CHECK(report.skipped[0].user == user);
    CHECK(contents() == before);
    CHECK(registry.hash() == hash);
    CHECK(history.steps(1, HistoryAct::undo) == left);
  }
};

}  // namespace

TEST_CASE("conflict 1: another user edited the property later") {
  World w;
  w.set(1, w.orc, Health{20});
  w.set(2, w.orc, Health{30});
  w.skips(Skip::edited_by_other, 2);
  const UndoReport report = w.dry(Conflicts::skip);
  REQUIRE(report.skipped.size() == 1);
  CHECK(report.skipped[0].entity == w.orc);
  CHECK(report.skipped[0].component == TypeTraits<Health>::id);
  CHECK(report.skipped[0].field == "value");
  const float mine = 10, theirs = 30;
  CHECK(std::memcmp(report.skipped[0].mine.data(), &mine, 4) == 0);
  CHECK(std::memcmp(report.skipped[0].theirs.data(), &theirs, 4) == 0);

  SECTION("overwrite writes it") {
    CHECK(w.undo(1, Conflicts::overwrite).done == 1);
    CHECK(w.get<Health>(w.orc).value == 10);
  }
  SECTION("an edit that its author has undone does not count") {
    w.undo(2);
    CHECK(w.undo(1).done == 1);
    CHECK(w.get<Health>(w.orc).value == 10);
  }
  SECTION("the same bytes are no conflict") {
    w.set(2, w.orc, Health{20});
    CHECK(w.undo(1).done == 1);
  }
  SECTION("what handlers and the host write is no conflict") {
    World other;
    other.set(1, other.orc, Health{20});
    other.registry.set(other.orc, Health{55});
    CHECK(other.undo(1).done == 1);
    CHECK(other.get<Health>(other.orc).value == 10);
  }
  SECTION("adding or removing the component counts") {
    World other;
    other.set(1, other.orc, Health{20});
    other.edit(2, other.orc, Remove{.component = TypeTraits<Health>::id});
    other.set(2, other.orc, Health{30});
    other.skips(Skip::edited_by_other, 2);
  }
  SECTION("an edit before it does not count") {
    World other;
    other.set(2, other.orc, Health{30});
    other.set(1, other.orc, Health{20});
    other.registry.set(other.orc, Health{55});
    CHECK(other.undo(1).done == 1);
    CHECK(other.get<Health>(other.orc).value == 30);
  }
  SECTION("the user who edited it last is named") {
    World other;
    other.set(1, other.orc, Health{20});
    other.set(2, other.orc, Health{30});
    other.set(3, other.orc, Health{40});
    other.skips(Skip::edited_by_other, 3);
    other.set(2, other.orc, Health{50});
    other.skips(Skip::edited_by_other, 2);
  }
  SECTION("a gesture that its author has undone does not count, however many inputs it had") {
    World other;
    other.set(1, other.orc, Health{20});
    for (int i = 0; i < 3; ++i) {
      BatchBuilder drag;
      drag.append_rows(other.orc, Set{}, Health{static_cast<float>(30 + i)});
      other.step(2, drag, 5);
    }
    CHECK(other.undo(2).done == 1);
    other.set(2, other.orc, Armor{5});  // empties the redo stack
    other.registry.set(other.orc, Health{55});
    CHECK(other.undo(1).done == 1);
    CHECK(other.get<Health>(other.orc).value == 10);
  }
  SECTION("other parts of the step are undone") {
    World other;
    BatchBuilder batch;
    batch.append_rows(other.orc, Set{}, Health{20}, Armor{2});
    other.push(1, batch);
    other.set(2, other.orc, Health{30});
    const UndoReport some = other.undo(1);
    CHECK(some.done == 1);
    CHECK(some.skipped.size() == 1);
    CHECK(other.get<Armor>(other.orc).factor == 1);
    CHECK(other.get<Health>(other.orc).value == 30);
  }
}

TEST_CASE("conflict 2: the component of a property is absent") {
  World w;
  w.set(1, w.orc, Health{20});
  w.edit(2, w.orc, Remove{.component = TypeTraits<Health>::id});
  w.skips(Skip::component_missing, 0);
  w.skips(Skip::component_missing, 0, Conflicts::overwrite);
}

TEST_CASE("conflict 3: the entity is not alive") {
  World w;
  w.set(1, w.orc, Health{20});
  w.set(1, w.orc, Count{1});
  w.edit(1, w.orc, Remove{.component = TypeTraits<Armor>::id});
  w.edit(1, w.orc, Reparent{.parent = w.camp});
  w.edit(1, w.orc, Rename{.name = w.registry.intern("elf")});
  CHECK(w.history.steps(1, HistoryAct::undo) == 5);
  w.edit(2, w.orc, Destroy{});
  w.skips(Skip::not_alive, 0);
  w.skips(Skip::not_alive, 0, Conflicts::overwrite);
  w.undo(2);
  for (int i = 0; i < 5; ++i) CHECK(w.undo(1).done == 1);
  CHECK(w.name(w.orc) == "orc");
  CHECK(w.parent(w.orc) == Entity{});
  CHECK(w.get<Health>(w.orc).value == 10);
  CHECK(w.get<Armor>(w.orc).factor == 1);
  CHECK_FALSE(w.registry.has<Count>(w.orc));
}

TEST_CASE("conflict 4: another user edited a property of an added component later") {
  World w;
  w.set(1, w.orc, Count{1});
  w.set(2, w.orc, Count{2});
  w.skips(Skip::edited_by_other, 2);
  CHECK(w.undo(1, Conflicts::overwrite).done == 1);
  CHECK_FALSE(w.registry.has<Count>(w.orc));

  SECTION("to add it again is no edit of a property") {
    World other;
    other.set(1, other.orc, Count{1});
    other.edit(2, other.orc, Remove{.component = TypeTraits<Count>::id});
    other.set(2, other.orc, Count{2});
    CHECK(other.undo(1).done == 1);
    CHECK_FALSE(other.registry.has<Count>(other.orc));
  }
  SECTION("a component that was only added is removed") {
    World other;
    other.set(1, other.orc, Count{1});
    CHECK(other.undo(1).done == 1);
    CHECK_FALSE(other.registry.has<Count>(other.orc));
  }
}

TEST_CASE("conflict 5: an added component is absent") {
  World w;
  w.set(1, w.orc, Count{1});
  w.edit(2, w.orc, Remove{.component = TypeTraits<Count>::id});
  const UndoReport report = w.undo(1);
  CHECK(report.done == 0);
  CHECK(report.passed_over == 1);
  CHECK(report.skipped.empty());
}

TEST_CASE("conflict 6: a removed component is present") {
  World w;
  w.edit(1, w.orc, Remove{.component = TypeTraits<Armor>::id});
  w.set(2, w.orc, Armor{5});
  w.skips(Skip::component_exists, 0);
  w.skips(Skip::component_exists, 0, Conflicts::overwrite);
}

TEST_CASE("conflict 7: another user worked on a created entity or below it") {
  World w;
  const Entity tower = w.create(1, {}, "tower", Health{1});
  const Entity room = w.create(1, tower, "room");
  SECTION("edited it") { w.set(2, tower, Health{2}); }
  SECTION("edited something below it") { w.set(2, room, Health{2}); }
  SECTION("created something below it") { w.create(2, room, "chair"); }
  SECTION("moved something below it") { w.edit(2, w.orc, Reparent{.parent = room}); }
  SECTION("named something below it") { w.edit(2, room, Rename{}); }
  w.edit(1, room, Reparent{.parent = w.camp});
  while (w.undo(1).done != 0) {
  }
  w.skips(Skip::worked_on_by_other, 2);
  const std::string before = w.contents();
  int undone = 0;
  while (w.undo(1, Conflicts::overwrite).done != 0) ++undone;
  CHECK_FALSE(w.registry.alive(tower));
  while (undone-- > 0) CHECK(w.redo(1).done == 1);
  CHECK(w.contents() == before);
}

TEST_CASE("conflict 8: a created entity is not alive") {
  World w;
  const Entity tower = w.create(1, {}, "tower");
  w.edit(2, tower, Destroy{});
  const UndoReport report = w.undo(1);
  CHECK(report.done == 0);
  CHECK(report.passed_over == 1);
  CHECK(report.skipped.empty());
}

TEST_CASE("conflict 9: the id of a destroyed entity is no longer parked") {
  World w;
  w.edit(1, w.orc, Destroy{});
  BatchBuilder batch;
  batch.append_table(TypeTraits<ReleaseIds>::id, {}, encode(ReleaseIds{.ids = {w.orc}}));
  w.registry.host().push_batch(batch.bytes());
  w.skips(Skip::id_released, 0);
  w.skips(Skip::id_released, 0, Conflicts::overwrite);
}

TEST_CASE("conflict 10: the parent of a destroyed entity is not alive") {
  World w;
  const Entity hill = w.create(3, w.camp, "hill"), house = w.create(3, hill, "house"), bed = w.create(3, house, "bed");
  w.edit(1, bed, Destroy{});
  SECTION("the nearest ancestor that is alive is the new parent") {
    w.edit(2, house, Destroy{});
    const UndoReport report = w.undo(1);
    CHECK(report.done == 1);
    CHECK(report.other_parents == 1);
    CHECK(w.parent(bed) == hill);
  }
  SECTION("several ancestors may be gone") {
    w.edit(2, house, Destroy{});
    w.registry.destroy(hill);
    CHECK(w.undo(1).other_parents == 1);
    CHECK(w.parent(bed) == w.camp);
  }
  SECTION("the ancestors of the parent count as they were when it was destroyed") {
    w.edit(2, house, Reparent{.parent = w.orc});
    w.edit(2, house, Destroy{});
    CHECK(w.undo(1).other_parents == 1);
    CHECK(w.parent(bed) == w.orc);
  }
  SECTION("without an ancestor it becomes a root") {
    w.registry.destroy(w.camp);
    CHECK(w.undo(1).other_parents == 1);
    CHECK(w.parent(bed) == Entity{});
  }
}

TEST_CASE("conflict 11: a sibling has the name") {
  World w;
  SECTION("of a destroyed entity") {
    w.edit(1, w.orc, Destroy{});
    w.create(2, {}, "orc");
  }
  SECTION("of a renamed entity") {
    w.edit(1, w.orc, Rename{.name = w.registry.intern("elf")});
    w.create(2, {}, "orc");
  }
  SECTION("of a moved entity") {
    w.edit(1, w.orc, Reparent{.parent = w.camp});
    w.create(2, {}, "orc");
  }
  w.create(2, {}, "orc~2");
  const std::string before = w.contents();
  const UndoReport report = w.undo(1);
  CHECK(report.done == 1);
  CHECK(report.other_names == 1);
  CHECK(w.name(w.orc) == "orc~3");
  CHECK(w.parent(w.orc) == Entity{});
  CHECK(w.redo(1).done > 0);
  CHECK(w.contents() == before);
}

TEST_CASE("conflict 12: another user moved the entity later") {
  World w;
  w.edit(1, w.orc, Reparent{.parent = w.camp});
  const Entity hill = w.registry.create("hill");
  w.edit(2, w.orc, Reparent{.parent = hill});
  w.skips(Skip::edited_by_other, 2);
  SECTION("overwrite moves it") {
    CHECK(w.undo(1, Conflicts::overwrite).done == 1);
    CHECK(w.parent(w.orc) == Entity{});
  }
  SECTION("if it is there again, it is moved") {
    w.edit(2, w.orc, Reparent{.parent = w.camp});
    CHECK(w.undo(1).done == 1);
    CHECK(w.parent(w.orc) == Entity{});
  }
}

TEST_CASE("conflict 12: another user moved the entity to another position under the same parent") {
  World w;
  const Entity first = w.create(3, w.camp, "first"), last = w.create(3, w.camp, "last");
  w.edit(1, w.orc, Reparent{.parent = w.camp, .before = first});
  w.edit(2, w.orc, Reparent{.parent = w.camp, .before = last});
  w.skips(Skip::edited_by_other, 2);
  w.edit(2, w.orc, Reparent{.parent = w.camp, .before = first});
  CHECK(w.undo(1).done == 1);
  CHECK(w.parent(w.orc) == Entity{});
}

TEST_CASE("an entity that is already back after its sibling is left there, and the rest is undone") {
  World w;
  const Entity first = w.create(3, w.camp, "first"), mine = w.create(3, w.camp, "mine"),
               last = w.create(3, w.camp, "last");
  BatchBuilder edits;
  edits.append_rows(mine, Set{}, Health{3});
  edits.append(mine, Reparent{.parent = w.camp, .before = first});
  w.step(1, edits);
  w.registry.destroy(last);
  w.edit(2, mine, Reparent{.parent = w.camp});
  CHECK(w.undo(1, Conflicts::overwrite).done == 1);
  CHECK(w.children(w.camp) == std::vector<Entity>{first, mine});
  CHECK_FALSE(w.registry.has<Health>(mine));
}

TEST_CASE("conflict 13: the old parent of a moved entity is not alive") {
  World w;
  const Entity hill = w.create(3, w.camp, "hill"), house = w.create(3, hill, "house"), bed = w.create(3, house, "bed");
  w.edit(1, bed, Reparent{.parent = w.orc});
  w.edit(2, house, Destroy{});
  const UndoReport report = w.undo(1);
  CHECK(report.done == 1);
  CHECK(report.other_parents == 1);
  CHECK(w.parent(bed) == hill);
}

TEST_CASE("conflict 14: the old parent of a moved entity is below it now") {
  World w;
  const Entity bed = w.create(3, w.camp, "bed");
  w.edit(1, bed, Reparent{.parent = w.orc});
  w.edit(2, w.camp, Reparent{.parent = bed});
  w.skips(Skip::would_be_circle, 0);
  w.skips(Skip::would_be_circle, 0, Conflicts::overwrite);
}

TEST_CASE("conflict 15: another user renamed the entity later") {
  World w;
  w.edit(1, w.orc, Rename{.name = w.registry.intern("elf")});
  w.edit(2, w.orc, Rename{.name = w.registry.intern("troll")});
  w.skips(Skip::edited_by_other, 2);
  CHECK(w.undo(1, Conflicts::overwrite).done == 1);
  CHECK(w.name(w.orc) == "orc");
}

TEST_CASE("conflict 16: another user defined the template later") {
  World w;
  const auto squad = [](float health) {
    TemplateTree tree("squad");
    tree.set("", Health{health});
    return tree;
  };
  w.define(3, squad(1));
  w.define(1, squad(2));
  w.define(2, squad(3));
  w.skips(Skip::edited_by_other, 2);
  CHECK(w.dry(Conflicts::skip).skipped[0].field == "squad");
  const std::string before = w.contents();
  CHECK(w.undo(1, Conflicts::overwrite).done == 1);
  CHECK(w.redo(1).done == 1);
  CHECK(w.contents() == before);
}

TEST_CASE("a step of which nothing is left is passed over, and the next one is undone") {
  World w;
  w.set(1, w.orc, Armor{2});
  w.set(1, w.orc, Health{20});
  w.set(2, w.orc, Health{30});
  const std::string before = w.contents();
  const UndoReport dry = w.dry(Conflicts::skip);
  CHECK(w.contents() == before);
  CHECK(w.history.steps(1, HistoryAct::undo) == 2);
  const UndoReport report = w.undo(1);
  CHECK(report.done == 1);
  CHECK(report.passed_over == 1);
  CHECK(dry.done == report.done);
  CHECK(dry.passed_over == report.passed_over);
  CHECK(w.get<Armor>(w.orc).factor == 1);
  CHECK(w.history.steps(1, HistoryAct::undo) == 0);
  CHECK(w.history.steps(1, HistoryAct::redo) == 1);
}

TEST_CASE("the report describes the newest step if no step would change anything") {
  World w;
  BatchBuilder edits;
  edits.append_rows(w.orc, Set{}, Armor{2});
  w.step(1, edits, 0, "Older");
  edits.clear();
  edits.append_rows(w.orc, Set{}, Health{20});
  w.step(1, edits, 0, "Newest");
  w.set(2, w.orc, Health{30}, Armor{3});
  const UndoReport report = w.undo(1);
  CHECK(report.done == 0);
  CHECK(report.passed_over == 2);
  CHECK(report.label == "Newest");
  REQUIRE(report.skipped.size() == 1);
  CHECK(report.skipped[0].component == TypeTraits<Health>::id);
}

TEST_CASE("a reference is kept while a history can revive the entity") {
  World w;
  const Entity leader = w.registry.create("leader");
  w.set(3, w.orc, Member{.squad = leader});
  SECTION("in a property") { w.set(1, w.orc, Member{.squad = w.camp}); }
  SECTION("in a removed component") { w.edit(1, w.orc, Remove{.component = TypeTraits<Member>::id}); }
  SECTION("in a destroyed entity") { w.edit(1, w.orc, Destroy{}); }
  w.edit(2, leader, Destroy{});
  CHECK(w.undo(1).nil_references == 0);
  CHECK(w.get<Member>(w.orc).squad == leader);
  w.undo(2);
  CHECK(w.registry.alive(leader));
}

TEST_CASE("a reference to an entity that no history can revive is written as nil, and counted") {
  World w;
  const Entity leader = w.registry.create("leader");
  w.set(3, w.orc, Member{.squad = leader});
  SECTION("in a property") { w.set(1, w.orc, Member{.squad = w.camp}); }
  SECTION("in a removed component") { w.edit(1, w.orc, Remove{.component = TypeTraits<Member>::id}); }
  SECTION("in a destroyed entity") { w.edit(1, w.orc, Destroy{}); }
  w.registry.destroy(leader);
  const UndoReport report = w.undo(1);
  CHECK(report.done == 1);
  CHECK(report.nil_references == 1);
  CHECK(w.get<Member>(w.orc).squad == Entity{});
}

}  // namespace conflicts_test
