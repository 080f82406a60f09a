// Play, StopPlaying, Keep: who has not heard of a new epoch changes nothing.
#include <catch2/catch.hpp>
#include <optional>

#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "tests/server/desk/hand_desk.h"

namespace run_questions_test {

using namespace muster;
using namespace muster::testing;

namespace {

struct Desked {
  Desked() {
    orc = world.registry.create("orc", arena::Health{.value = 100}).or_stop();
    world.host.gives_history = [this] { return &history; };
    world.host.its_epoch = 5;
    world.host.gives_run = [this] { return run; };
    world.desk->epoch_began(false);
    session = world.join("ann", session::Role::control, {}, 1);
    world.settle();
    HandDesk::heard(*session);
  }
  void begin_epoch(bool replaced) {
    ++world.host.its_epoch;
    world.desk->epoch_ends();
    run = replaced ? std::nullopt : std::optional(Run{.sequence = world.registry.sequence()});
    world.desk->epoch_began(replaced);
  }
  std::vector<Received> set(float value) {
    world.edit(*session, 9, [&](BatchBuilder& out) { out.append_rows(orc, Set{}, arena::Health{.value = value}); });
    world.settle();
    return HandDesk::heard(*session);
  }
  void enter(std::uint64_t epoch) {
    BatchBuilder builder;
    session::append(builder, session::EnterEpoch{.epoch = epoch});
    world.put(*session, 0, builder.front(), true);
    world.settle();
  }
  float health() const { return world.registry.get<arena::Health>(orc).value; }
  HandDesk world;
  EditHistory history{world.registry, 1u << 20};
  std::optional<Run> run;
  Entity orc;
  std::shared_ptr<Session> session;
};

}  // namespace

TEST_CASE("an edit from before a new epoch is refused, and one from after it is not") {
  for (const bool replaced : {false, true}) {
    CAPTURE(replaced);
    Desked desk;
    // One that waits when the epoch begins.
    desk.world.edit(*desk.session, 8, [&](BatchBuilder& out) {
      out.append_rows(desk.orc, Set{}, arena::Health{.value = 1});
    });
    desk.begin_epoch(replaced);
    auto frames = desk.set(2);
    CHECK(desk.health() == 100);
    REQUIRE(frames.size() == 3);
    REQUIRE(frames[0].is<session::NewEpoch>());
    const auto told = session::read<session::NewEpoch>(frames[0].batch());
    CHECK(told.epoch == 6);
    CHECK(told.playing == !replaced);
    for (const std::size_t i : {1u, 2u}) {
      REQUIRE(frames[i].is<session::Fault>());
      const auto fault = session::read<session::Fault>(frames[i].batch());
      CHECK(fault.reason == "epoch_over");
      CHECK_FALSE(fault.closes);
    }
    desk.enter(5);  // not this epoch
    CHECK(session::read<session::Fault>(desk.set(3).front().batch()).reason == "epoch_over");
    desk.enter(6);
    frames = desk.set(4);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].is<session::Ack>());
    CHECK(desk.health() == 4);
  }
}

TEST_CASE("an undo from before a new epoch is refused, too") {
  Desked desk;
  desk.set(50);
  desk.begin_epoch(false);
  HandDesk::heard(*desk.session);
  CHECK(desk.world.answer_to<session::Fault>(*desk.session, session::Undo{}).reason == "epoch_over");
  CHECK(desk.health() == 50);
  desk.enter(6);
  CHECK(desk.world.answer_to<session::Undone>(*desk.session, session::Undo{}).done == 1);
  CHECK(desk.health() == 100);
}

TEST_CASE("a session that joins after an epoch began belongs to it") {
  Desked desk;
  desk.begin_epoch(false);
  const auto other = desk.world.join("bob", session::Role::edit, {}, 2);
  CHECK(other->epoch == 6);
  desk.world.edit(*other, 9, [&](BatchBuilder& out) {
    out.append_rows(desk.orc, Set{}, arena::Health{.value = 7});
  });
  desk.world.settle();
  CHECK(desk.health() == 7);
}

TEST_CASE("ids that a session has not used are the world's again when a run begins, and void when it ends") {
  Desked desk;
  const auto granted = desk.world.answer_to<session::Granted>(*desk.session, session::RequestGrant{.count = 100});
  const auto is_granted = [&](std::uint32_t index) {
    return desk.world.registry.host().storage().in_state(Entity{index, 1}, IdState::granted);
  };
  CHECK(is_granted(granted.first));
  desk.begin_epoch(false);
  CHECK_FALSE(is_granted(granted.first));
  CHECK(desk.session->seat()->grants.empty());
  HandDesk::heard(*desk.session);
  const auto again = desk.world.answer_to<session::Granted>(*desk.session, session::RequestGrant{.count = 10});
  const std::uint64_t sequence = desk.world.registry.sequence();
  desk.run.reset();
  ++desk.world.host.its_epoch;
  desk.world.desk->epoch_began(true);
  CHECK(desk.session->seat()->grants.empty());
  CHECK(desk.world.registry.sequence() == sequence);  // the state has returned by itself
  CHECK(is_granted(again.first));                     // here it has not
}

TEST_CASE("what the world refuses is told: a run that is on already, a world without runs") {
  Desked desk;
  CHECK(desk.world.answer_to<session::Fault>(*desk.session, session::Play{}).reason == "no_run");
  CHECK(desk.world.answer_to<session::Fault>(*desk.session, session::Keep{.all = true}).reason == "not_kept");
  desk.world.host.on_set_run = [](bool) { return std::unexpected(std::string("a run is on already")); };
  const auto fault = desk.world.answer_to<session::Fault>(*desk.session, session::Play{});
  CHECK(fault.text == "a run is on already");
  CHECK_FALSE(desk.world.answer_to<session::RunState>(*desk.session, session::GetRun{}).playing);
}

}  // namespace run_questions_test
