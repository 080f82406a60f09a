// Undo and GetHistory: each user has a history of its own, on every session of the user.
#include <catch2/catch.hpp>
#include <optional>

#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "tests/server/desk/hand_desk.h"

namespace history_questions_test {

using namespace muster;
using namespace muster::testing;

namespace {

constexpr std::uint64_t ann = 1, bob = 2;

/// A desk with a history and one orc.
struct Desked {
  Desked() {
    orc = world.registry.create("orc", arena::Health{.value = 100}).or_stop();
    world.registry.create("elf", arena::Health{.value = 50}).or_stop();
    world.host.gives_history = [this] { return &history; };
    world.host.gives_error = [this] { return error ? &*error : nullptr; };
  }
  std::shared_ptr<Session> of(std::uint64_t user, session::Role role = session::Role::edit) {
    return world.join(user == ann ? "ann" : "bob", role, {}, user);
  }
  void set(Session& by, float value) {
    world.edit(by, 1, [&](BatchBuilder& out) { out.append_rows(orc, Set{}, arena::Health{.value = value}); });
    world.settle();
    HandDesk::heard(by);
  }
  float health() const { return world.registry.get<arena::Health>(orc).value; }
  session::Undone undo(Session& by, session::Undo what = {}) { return world.answer_to<session::Undone>(by, what); }
  session::Fault refusal(Session& by, session::Undo what = {}) { return world.answer_to<session::Fault>(by, what); }

  HandDesk world;
  EditHistory history{world.registry, 1u << 20};
  Entity orc;
  std::optional<std::string> error;
};

}  // namespace

TEST_CASE("two users undo their own edits, and a second session of a user has the same history") {
  Desked desk;
  const auto page = desk.of(ann), cli = desk.of(ann), other = desk.of(bob);
  desk.set(*page, 90);
  desk.world.edit(*other, 1,
                  [&](BatchBuilder& out) { out.append(desk.orc, Rename{.name = desk.world.registry.intern("ogre")}); });
  desk.world.settle();
  HandDesk::heard(*other);

  const session::Undone undone = desk.undo(*cli);
  CHECK(desk.health() == 100);
  CHECK(desk.world.registry.name(desk.orc) == "ogre");
  CHECK(undone.sequence == desk.world.registry.sequence());
  CHECK(undone.act == session::UndoAct::undo);
  CHECK((undone.done == 1 && undone.passed_over == 0 && undone.skipped == 0));
  CHECK(desk.refusal(*page).reason == "nothing_to_undo");
  CHECK(desk.undo(*other).done == 1);
  CHECK(desk.world.registry.name(desk.orc) == "orc");
  CHECK(desk.undo(*page, {.act = session::UndoAct::redo}).done == 1);
  CHECK(desk.health() == 90);
  const session::Fault fault = desk.refusal(*page, {.act = session::UndoAct::redo});
  CHECK(fault.code == session::FaultCode::not_found);
  CHECK(fault.reason == "nothing_to_redo");
  CHECK(fault.text == "there is nothing to redo");
}

TEST_CASE("a history outlives the sessions of its user") {
  Desked desk;
  auto page = desk.of(ann);
  desk.set(*page, 90);
  desk.world.desk->leave(*page->connection());
  desk.world.settle();
  page = desk.of(ann);
  CHECK(desk.undo(*page).done == 1);
  CHECK(desk.health() == 100);
}

TEST_CASE("a dry run tells what would be done, in the words of the undo that follows, and changes nothing") {
  Desked desk;
  const auto page = desk.of(ann), other = desk.of(bob);
  desk.set(*page, 90);
  desk.set(*page, 80);
  desk.world.edit(*page, 1, [&](BatchBuilder& out) {
    out.append_rows(desk.orc, Set{}, arena::Health{.value = 70, .armored = true});
  });
  desk.world.settle();
  HandDesk::heard(*page);
  desk.world.edit(*other, 1, [&](BatchBuilder& out) {
    out.append_rows(desk.orc, Set{}, arena::Health{.value = 60, .armored = true});
  });
  desk.world.settle();
  HandDesk::heard(*other);

  const std::uint64_t hash = desk.world.registry.hash(), sequence = desk.world.registry.sequence();
  const session::Undone dry = desk.undo(*page, {.dry = 1});
  CHECK(desk.world.registry.hash() == hash);
  CHECK(desk.world.registry.sequence() == sequence);
  CHECK(dry.sequence == sequence);
  const session::Undone undone = desk.undo(*page);
  CHECK(undone.sequence > sequence);
  CHECK(dry.label == undone.label);
  CHECK((dry.done == undone.done && dry.passed_over == undone.passed_over && dry.skipped == undone.skipped));
  CHECK((dry.done == 1 && dry.skipped == 1));
  CHECK(dry.skipped_reasons == undone.skipped_reasons);
  CHECK(dry.skipped_fields == undone.skipped_fields);
  CHECK(dry.skipped_users == undone.skipped_users);
  CHECK(dry.skipped_mine == undone.skipped_mine);
  CHECK(dry.skipped_theirs == undone.skipped_theirs);
}

TEST_CASE("a later edit of another user is skipped, with both values, unless it is to be overwritten") {
  Desked desk;
  const auto page = desk.of(ann), other = desk.of(bob);
  desk.world.edit(*page, 1, [&](BatchBuilder& out) {
    out.append_rows(desk.orc, Set{}, arena::Health{.value = 90, .team = arena::Team::Blue});
  });
  desk.world.settle();
  HandDesk::heard(*page);
  desk.world.edit(*other, 1, [&](BatchBuilder& out) {
    out.append_rows(desk.orc, Set{}, arena::Health{.value = 60, .team = arena::Team::Blue});
  });
  desk.world.settle();
  HandDesk::heard(*other);

  const session::Undone dry = desk.undo(*page, {.on_conflict = session::OnConflict::overwrite, .dry = 1});
  CHECK((dry.done == 2 && dry.skipped == 0));
  const session::Undone undone = desk.undo(*page);
  CHECK(undone.done == 1);
  REQUIRE(undone.skipped == 1);
  CHECK(undone.skipped_reasons == std::vector<std::uint8_t>{0});
  CHECK(undone.skipped_entities == std::vector<Entity>{desk.orc});
  CHECK(undone.skipped_components == std::vector<std::uint32_t>{TypeTraits<arena::Health>::id});
  CHECK(undone.skipped_fields == std::vector<std::string>{"value"});
  CHECK(undone.skipped_users == std::vector<std::uint64_t>{bob});
  CHECK(undone.skipped_mine == std::vector<std::string>{"100"});
  CHECK(undone.skipped_theirs == std::vector<std::string>{"60"});
  CHECK(desk.health() == 60);
  CHECK(desk.world.registry.get<arena::Health>(desk.orc).team == arena::Team::Red);
}

TEST_CASE("an undo of the newest step alone lists its conflicts if nothing of it is left, and passes nothing over") {
  Desked desk;
  const auto page = desk.of(ann), other = desk.of(bob);
  CHECK(desk.refusal(*page, {.only_newest = 1}).reason == "nothing_to_undo");
  desk.set(*page, 95);
  desk.set(*page, 90);
  desk.set(*other, 60);
  for (const std::uint32_t dry : {0u, 1u}) {
    const session::Undone undone = desk.undo(*page, {.dry = dry, .only_newest = 1});
    CHECK((undone.done == 0 && undone.passed_over == 0));
    CHECK(undone.skipped_mine == std::vector<std::string>{"95"});
    CHECK(undone.skipped_theirs == std::vector<std::string>{"60"});
  }
  CHECK(desk.health() == 60);
  CHECK(desk.undo(*page, {.on_conflict = session::OnConflict::overwrite, .only_newest = 1}).done == 1);
  CHECK(desk.health() == 95);
}

TEST_CASE("an undo needs the right to edit, a disk that takes it, and a history") {
  Desked desk;
  const auto page = desk.of(ann);
  desk.set(*page, 90);
  desk.error = "the disk is full";
  desk.world.settle();
  HandDesk::heard(*page);  // each session is told that the disk fails
  for (const std::uint32_t dry : {0u, 1u}) {
    const session::Fault fault = desk.refusal(*page, {.dry = dry});
    CHECK(fault.code == session::FaultCode::not_recorded);
    CHECK_THAT(fault.text, Catch::Contains("the disk is full"));
  }
  CHECK(desk.health() == 90);
  desk.error.reset();
  CHECK(desk.undo(*page).done == 1);

  HandDesk without;
  const auto session = without.join();
  CHECK(without.answer_to<session::Fault>(*session, session::Undo{}).reason == "no_history");
  CHECK(without.answer_to<session::Fault>(*session, session::GetHistory{}).reason == "no_history");
}

TEST_CASE("a history lists what would be redone last first, then what would be undone next, page by page") {
  Desked desk;
  const auto page = desk.of(ann), other = desk.of(bob);
  for (int i = 0; i < 4; ++i) desk.set(*page, static_cast<float>(90 - i));
  desk.set(*other, 10);
  REQUIRE(desk.undo(*page, {.on_conflict = session::OnConflict::overwrite}).done == 1);
  REQUIRE(desk.undo(*page).done == 1);
  const auto all = desk.world.answer_to<session::History>(*page, session::GetHistory{});
  CHECK((all.undo_steps == 2 && all.redo_steps == 2 && all.offset == 0));
  CHECK(all.is_redo == std::vector<std::uint8_t>{1, 1, 0, 0});
  CHECK(all.parts == std::vector<std::uint32_t>{1, 1, 1, 1});
  REQUIRE(all.sequences.size() == 4);
  CHECK(all.sequences[0] < all.sequences[1]);
  CHECK(all.sequences[2] > all.sequences[3]);
  const auto part = desk.world.answer_to<session::History>(*page, session::GetHistory{.offset = 1, .limit = 2});
  CHECK((part.undo_steps == 2 && part.redo_steps == 2 && part.offset == 1));
  CHECK(part.is_redo == std::vector<std::uint8_t>{1, 0});
  CHECK(part.sequences == std::vector<std::uint64_t>{all.sequences[1], all.sequences[2]});
  const auto behind = desk.world.answer_to<session::History>(*page, session::GetHistory{.offset = 4});
  CHECK((behind.undo_steps == 2 && behind.labels.empty()));
  CHECK(desk.world.answer_to<session::History>(*other, session::GetHistory{}).undo_steps == 1);
}

TEST_CASE("a session that follows its history is told of each change of its user's, and of no other") {
  Desked desk;
  const auto page = desk.of(ann, session::Role::view), cli = desk.of(ann), other = desk.of(bob);
  CHECK(desk.world.answer_to<session::History>(*page, session::GetHistory{.limit = 1, .follow = 1}).undo_steps == 0);
  const auto told = [&] {
    std::vector<session::History> all;
    for (const Received& frame : HandDesk::heard(*page)) {
      CHECK(frame.header.request == 0);
      if (frame.is<session::History>()) all.push_back(session::read<session::History>(frame.batch()));
    }
    return all;
  };
  desk.set(*other, 10);
  CHECK(told().empty());
  desk.set(*cli, 20);
  auto news = told();
  REQUIRE(news.size() == 1);
  CHECK((news[0].undo_steps == 1 && news[0].labels.size() == 1));
  desk.set(*cli, 30);
  REQUIRE(desk.undo(*cli).done == 1);
  news = told();
  REQUIRE_FALSE(news.empty());
  CHECK((news.back().undo_steps == 1 && news.back().redo_steps == 1 && news.back().labels.size() == 1));
  desk.world.flush();
  CHECK(told().empty());
  // Who follows again is told once, by the newest question's limit.
  CHECK(desk.world.answer_to<session::History>(*page, session::GetHistory{.limit = 2, .follow = 1}).undo_steps == 1);
  desk.set(*cli, 35);
  desk.set(*cli, 36);
  news = told();
  REQUIRE(news.size() == 2);
  CHECK((news[1].undo_steps == 3 && news[1].labels.size() == 2));
  desk.world.desk->leave(*page->connection());
  desk.world.settle();
  desk.set(*cli, 40);
}

}  // namespace history_questions_test
