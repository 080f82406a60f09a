// How edits become steps, and what a history says about them.
#include <catch2/catch.hpp>

#include "tests/registry/history/editors.h"

namespace steps_test {

using namespace muster;
using namespace muster::history_test;

namespace {

struct World : Editors {
  Entity orc = registry.create("orc", Health{10}, Armor{1});
  Entity camp = registry.create("camp");
  std::uint32_t undos(std::uint64_t user) const { return history.steps(user, HistoryAct::undo); }
  std::uint32_t redos(std::uint64_t user) const { return history.steps(user, HistoryAct::redo); }
  Receipt drag(float x, std::uint64_t gesture, std::uint64_t user = 1) {
    BatchBuilder edits;
    edits.append_rows(orc, Set{}, Position{.at = {x, 0, 0}});
    return step(user, edits, gesture, "Drag");
  }
};

}  // namespace

TEST_CASE("each input is a step, whatever the number of its messages") {
  World w;
  BatchBuilder batch;
  for (int i = 1; i < 5; ++i) batch.append_rows(w.orc, Set{}, Health{static_cast<float>(i)});
  w.push(1, batch);
  w.set(1, w.orc, Health{7});
  CHECK(w.undos(1) == 2);
  CHECK(w.history.list(1, 0, 9)[1].parts == 1);
  w.undo(1);
  CHECK(w.get<Health>(w.orc).value == 4);
  w.undo(1);
  CHECK(w.get<Health>(w.orc).value == 10);
}

TEST_CASE("what changes nothing, is refused, or is no edit does not enter a history") {
  World w;
  w.set(1, w.orc, Health{10});
  w.edit(1, w.orc, Rename{.name = w.registry.intern("orc")});
  w.edit(1, w.orc, Rename{.name = w.registry.intern("camp")});
  w.edit(1, w.orc, Remove{.component = TypeTraits<Count>::id});
  w.edit(1, w.orc, Reparent{});
  BatchBuilder batch;
  batch.append_rows(w.orc, Set{}, Health{20});
  batch.append_rows(w.orc, Set{}, Health{10});
  w.push(1, batch);
  batch.clear();
  batch.append_table(TypeTraits<InternText>::id, {}, encode(InternText{.text = "x"}));
  w.push(1, batch);
  w.registry.set(w.orc, Health{30});
  CHECK(w.undos(1) == 0);
  CHECK(w.undos(0) == 0);
  CHECK(w.undo(1).done == 0);
}

TEST_CASE("names and places that a step changes and then restores are no part of it") {
  World w;
  const std::uint64_t gesture = GENERATE(0u, 7u);
  CAPTURE(gesture);
  BatchBuilder edits;
  edits.append(w.orc, Rename{.name = w.registry.intern("x")});
  edits.append(w.camp, Rename{.name = w.registry.intern("y")});
  edits.append(w.orc, Reparent{.parent = w.camp});
  edits.append(w.orc, Reparent{});
  edits.append(w.camp, Rename{.name = w.registry.intern("camp")});
  SECTION("so that nothing may be left") {
    edits.append(w.orc, Rename{.name = w.registry.intern("orc")});
    CHECK(w.step(1, edits, gesture).refused == 0);
    CHECK(w.undos(1) == 0);
  }
  SECTION("and what is left is joined") {
    const std::string before = w.contents();
    edits.append(w.orc, Rename{.name = w.registry.intern("y")});
    CHECK(w.step(1, edits, gesture).refused == 0);
    REQUIRE(w.undos(1) == 1);
    CHECK(w.history.list(1, 0, 1)[0].parts == 1);
    const std::string after = w.contents();
    w.undo(1);
    CHECK(w.contents() == before);
    w.redo(1);
    CHECK(w.contents() == after);
  }
}

TEST_CASE("a Step is one step with a label") {
  World w;
  BatchBuilder edits;
  edits.append_rows(w.orc, Set{}, Health{20});
  edits.append(w.camp, Rename{.name = w.registry.intern("base")});
  const std::string before = w.contents();
  CHECK(w.step(1, edits, 0, "Two edits").refused == 0);
  REQUIRE(w.undos(1) == 1);
  CHECK(w.history.list(1, 0, 1)[0].label == "Two edits");
  CHECK(w.history.list(1, 0, 1)[0].parts == 2);
  CHECK(w.undo(1).label == "Two edits");
  CHECK(w.contents() == before);
  CHECK(w.history.list(1, 0, 1)[0].redo);
  CHECK(w.history.list(1, 0, 1)[0].label == "Two edits");
}

TEST_CASE("a refused Step leaves no trace") {
  World w;
  w.create(1, w.camp, "flag");
  w.set(1, w.orc, Count{4});
  w.undo(1);
  const std::string before = w.contents();
  const Entity fresh = w.take();
  BatchBuilder edits;
  edits.append_rows(w.orc, Set{}, Health{20}, Count{1});
  edits.append_rows(w.orc, Set{}, Health{30});
  edits.append(w.camp, Rename{.name = w.registry.intern("base")});
  edits.append_rows(fresh, Create{.parent = w.orc, .name = w.registry.intern("new")}, Armor{4});
  edits.append(w.children(w.camp)[0], Reparent{.parent = fresh});
  edits.append(w.camp, Destroy{});
  edits.append(w.orc, Remove{.component = TypeTraits<Armor>::id});
  edits.append(w.orc, Rename{.name = text_of("never interned")});
  CHECK(w.step(1, edits).refused == 1);
  CHECK(w.contents() == before);
  CHECK(w.undos(1) == 1);
  CHECK(w.redos(1) == 1);
  edits.clear();
  edits.append(fresh, Create{});
  CHECK(w.step(1, edits).refused == 0);
  CHECK(w.registry.alive(fresh));
}

TEST_CASE("an id that a refused Step created, destroyed and created again is free to be created") {
  World w;
  const Entity fresh = w.take();
  BatchBuilder edits;
  edits.append(fresh, Create{});
  edits.append(fresh, Destroy{});
  edits.append_rows(fresh, Create{}, Health{1});
  CHECK(w.step(1, edits).refused == 1);
  CHECK_FALSE(w.registry.alive(fresh));
  edits.clear();
  edits.append(fresh, Create{});
  CHECK(w.step(1, edits).refused == 0);
  CHECK(w.registry.alive(fresh));
}

TEST_CASE("an id that a refused undo created twice is free again, and parked ids stay parked") {
  World w;
  const Entity fresh = w.take();
  w.edit(1, w.camp, Destroy{});
  BatchBuilder edits, batch;
  edits.append(fresh, Create{});
  edits.append(fresh, Destroy{});
  edits.append(fresh, Create{});
  edits.append(w.camp, Destroy{});
  muster::Step step{.batches = {}, .act = StepAct::undo};
  for (const std::byte b : edits.bytes()) step.batches.push_back(static_cast<std::uint8_t>(b));
  batch.append_table(TypeTraits<muster::Step>::id, {}, encode(step));
  CHECK(w.push(1, batch).refused == 1);
  CHECK(w.edit(1, w.camp, Create{}).refused == 1);
  CHECK(w.edit(1, fresh, Create{}).refused == 0);
  CHECK(w.registry.alive(fresh));
}

TEST_CASE("the inputs of a gesture form one step") {
  World w;
  w.registry.set(w.orc, Position{});
  for (int i = 1; i <= 50; ++i) w.drag(static_cast<float>(i), 5);
  CHECK(w.undos(1) == 1);
  CHECK(w.history.list(1, 0, 1)[0].parts == 1);
  SECTION("and one undo takes them back") {
    w.undo(1);
    CHECK(w.get<Position>(w.orc).at.x == 0);
    w.redo(1);
    CHECK(w.get<Position>(w.orc).at.x == 50);
  }
  SECTION("of one session") {
    BatchBuilder edits;
    edits.append_rows(w.orc, Set{}, Position{.at = {60, 0, 0}});
    muster::Step step{.batches = {}, .label = {}, .gesture = 5};
    const auto bytes = edits.bytes();
    for (const std::byte b : bytes) step.batches.push_back(static_cast<std::uint8_t>(b));
    BatchBuilder batch;
    batch.append_table(TypeTraits<muster::Step>::id, {}, encode(step));
    w.registry.host().push_batch(batch.bytes(), {.session = 777, .user = 1, .request = 1});
    CHECK(w.undos(1) == 2);
  }
  SECTION("unless another step came in between") {
    w.set(1, w.orc, Health{1});
    w.drag(60, 5);
    CHECK(w.undos(1) == 3);
  }
  SECTION("and another gesture is another step") {
    w.drag(60, 6);
    CHECK(w.undos(1) == 2);
    w.drag(61, 6);
    CHECK(w.undos(1) == 2);
  }
  SECTION("without a gesture nothing is joined") {
    w.drag(60, 0);
    w.drag(61, 0);
    CHECK(w.undos(1) == 3);
  }
  SECTION("other users' edits in between do not end it") {
    w.set(2, w.orc, Health{1});
    w.drag(60, 5);
    CHECK(w.undos(1) == 1);
  }
  SECTION("an input that continues it empties the redo stack") {
    w.set(1, w.orc, Health{20});
    w.undo(1);
    REQUIRE(w.redos(1) == 1);
    w.drag(60, 5);
    CHECK(w.undos(1) == 1);
    CHECK(w.redos(1) == 0);
  }
  SECTION("with the label and the sequence of the newest") {
    BatchBuilder edits;
    edits.append_rows(w.orc, Set{}, Position{.at = {60, 0, 0}});
    w.step(1, edits, 5, "Drop");
    REQUIRE(w.undos(1) == 1);
    CHECK(w.history.list(1, 0, 1)[0].label == "Drop");
    CHECK(w.history.list(1, 0, 1)[0].sequence == w.registry.sequence());
    w.drag(61, 5);
    CHECK(w.history.list(1, 0, 1)[0].sequence == w.registry.sequence());
  }
  SECTION("what one of them destroys can be revived") {
    BatchBuilder edits;
    edits.append(w.camp, Destroy{});
    w.step(1, edits, 5);
    CHECK(w.undos(1) == 1);
    w.history.release_ids();
    CHECK(w.undo(1).skipped.empty());
    CHECK(w.registry.alive(w.camp));
    CHECK(w.get<Position>(w.orc).at.x == 0);
  }
  SECTION("the list counts only parts that change something") {
    BatchBuilder edits;
    edits.append_rows(w.orc, Set{}, Position{}, Health{20});
    w.step(1, edits, 5);
    CHECK(w.history.list(1, 0, 1)[0].parts == 1);
  }
  SECTION("a gesture that ends where it began is no step") {
    w.drag(0, 5);
    CHECK(w.undos(1) == 0);
    CHECK(w.history.bytes() == 0);
  }
}

TEST_CASE("a new edit empties the redo stack of its user only") {
  World w;
  w.set(1, w.orc, Health{20});
  w.set(2, w.orc, Armor{2});
  w.undo(1);
  w.undo(2);
  CHECK(w.redos(1) == 1);
  CHECK(w.redos(2) == 1);
  w.set(1, w.orc, Health{20});
  CHECK(w.redos(1) == 0);
  CHECK(w.redos(2) == 1);
}

TEST_CASE("sessions without a user share one history") {
  World w;
  BatchBuilder batch;
  batch.append_rows(w.orc, Set{}, Health{20});
  w.registry.host().push_batch(batch.bytes(), {.session = 5, .user = 0, .request = 1});
  CHECK(w.history.apply(HistoryAct::undo, {.session = 6, .user = 0, .request = 1}, Conflicts::skip, false).done == 1);
  CHECK(w.get<Health>(w.orc).value == 10);
}

TEST_CASE("the list has the steps to redo and then those to undo, and a page is a part of it") {
  World w;
  for (int i = 1; i <= 5; ++i) {
    BatchBuilder edits;
    edits.append_rows(w.orc, Set{}, Health{static_cast<float>(i)});
    w.step(1, edits, 0, std::to_string(i));
  }
  w.undo(1);
  w.undo(1);
  std::string labels;
  for (const HistoryStep& step : w.history.list(1, 0, 100))
    labels += std::string(step.label) + (step.redo ? "r " : " ");
  CHECK(labels == "5r 4r 3 2 1 ");
  labels.clear();
  for (const HistoryStep& step : w.history.list(1, 1, 3)) labels += std::string(step.label) + (step.redo ? "r " : " ");
  CHECK(labels == "4r 3 2 ");
  CHECK(w.history.list(1, 5, 3).empty());
  CHECK(w.history.list(2, 0, 3).empty());
  const std::uint64_t version = w.history.version(1);
  CHECK(w.history.version(1) == version);
  w.redo(1);
  CHECK(w.history.version(1) != version);
}

TEST_CASE("a version is not used again after a history was cleared") {
  World w;
  std::vector<std::uint64_t> versions;
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i <= 3; ++i) {
      w.set(1, w.orc, Health{static_cast<float>(20 + 10 * round + i)});
      versions.push_back(w.history.version(1));
    }
    w.history.clear();
    versions.push_back(w.history.version(1));
  }
  std::ranges::sort(versions);
  CHECK(std::ranges::adjacent_find(versions) == versions.end());
}

TEST_CASE("the oldest steps are dropped when the limit is exceeded, whoever made them") {
  Editors w(20'000);
  const Entity orc = w.registry.create("orc", Health{10});
  std::uint32_t dropped = 0;
  for (int i = 1; i <= 500; ++i) {
    w.set(1 + static_cast<std::uint64_t>(i) % 2, orc, Health{static_cast<float>(i)});
    dropped += w.history.release_ids();
    CHECK(w.history.bytes() <= 20'000);
  }
  const std::uint32_t left = w.history.steps(1, HistoryAct::undo) + w.history.steps(2, HistoryAct::undo);
  CHECK(left + dropped == 500);
  CHECK(left > 10);
  CHECK(w.history.list(1, 0, 1)[0].sequence + 1 == w.history.list(2, 0, 1)[0].sequence + 2);
  // A deletion that is larger than the limit is final.
  const Entity top = w.registry.create("top");
  for (int i = 0; i < 1000; ++i) w.registry.create_under(top, "", Health{}).or_stop();
  w.edit(1, top, Destroy{});
  CHECK(w.history.release_ids() > 0);
  CHECK(w.history.bytes() == 0);
  CHECK_FALSE(w.registry.host().storage().in_state(top, IdState::parked));
}

TEST_CASE("a subtree of 100,000 entities is destroyed and comes back") {
  World w;
  std::vector<Entity> all{w.camp};
  for (std::size_t i = 0; all.size() < 100'000; ++i)
    for (int child = 0; child < 10; ++child)
      all.push_back(w.registry.create_under(all[i], child == 0 ? "first" : "", Member{.squad = all[i]}).or_stop());
  const std::string before = w.contents();
  for (int round = 0; round < 2; ++round) {
    w.edit(1, w.camp, Destroy{});
    CHECK(w.registry.host().storage().rows() == 1);
    CHECK(w.undo(1).done == 1);
    CHECK((w.contents() == before));
    CHECK(w.redo(1).done == 1);
    CHECK(w.registry.host().storage().rows() == 1);
    CHECK(w.undo(1).done == 1);
    CHECK((w.contents() == before));
  }
}

TEST_CASE("20,000 steps of one property are undone and redone, also if another user has as many") {
  World w;
  for (int i = 1; i <= 20'000; ++i) {
    w.set(1, w.orc, Health{static_cast<float>(i)});
    w.set(2, w.orc, Armor{static_cast<float>(i)});
  }
  CHECK(w.undos(1) == 20'000);
  for (int i = 0; i < 20'000; ++i) w.undo(1);
  CHECK(w.get<Health>(w.orc).value == 10);
  CHECK(w.get<Armor>(w.orc).factor == 20'000);
  for (int i = 0; i < 20'000; ++i) w.redo(1);
  CHECK(w.get<Health>(w.orc).value == 20'000);
}

}  // namespace steps_test
