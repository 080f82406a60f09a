// What a desk tells of its world in numbers: each is its own, wherever it is told.
#include <catch2/catch.hpp>
#include <thread>

#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "server/world/time/work_time.h"
#include "tests/server/desk/hand_desk.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// A host whose numbers all differ.
struct Numbers {
  std::uint64_t durable = 11, saved = 7, tick = 13;
  std::optional<std::string> error, save_error;
  std::string size_warning;
  TimeCounts ticks;
  Pace pace{.speed = 4, .paused = true, .steps = 6};

  std::function<void(HandWorld&)> host(bool with_saved = true) {
    return [this, with_saved](HandWorld& host) {
      host.gives_durable = [this] { return durable; };
      if (with_saved) host.gives_saved = [this] { return saved; };
      host.gives_error = [this] { return error ? &*error : nullptr; };
      host.gives_save_error = [this] { return save_error ? &*save_error : nullptr; };
      host.gives_size_warning = [this] { return size_warning; };
      host.known.durability = Durability::batched;
      host.known.autosave = std::chrono::seconds(3);
      host.gives_tick_times = [this]() -> const TimeCounts& { return ticks; };
      host.gives_plugins = [] { return std::vector<std::string>{"game: build 5"}; };
      host.gives_pace = [this] { return pace; };
      host.on_pace = [this](const Pace& given) -> std::expected<void, PaceFault> {
        if (given.speed == 50) return std::unexpected(PaceFault{"speed", "out_of_range", "too fast"});
        pace = given;
        return {};
      };
      host.gives_tick = [this] { return tick; };
      host.known.hz = 25;
    };
  }
};

/// 3 roots, of which one has a child; 2 timers, 1 template.
void fill(EntityRegistry& registry) {
  const Entity town = registry.create("town");
  registry.create_under(town, "house", arena::Health{}).or_stop();
  registry.create("a", arena::Position{}).or_stop();
  registry.create("b", arena::Position{}).or_stop();
  TemplateTree tower("tower");
  tower.set("", arena::Health{});
  registry.define_template(tower);
  registry.advance(1000);
  for (const std::uint64_t due_ns : {5'000'000'000ull, 6'000'000'000ull}) {
    BatchBuilder inner, timed;
    inner.append(town, arena::Damage{});
    timed.append_timed(due_ns, 0, inner.front());
    registry.host().push_batch(timed.bytes());
  }
}

}  // namespace

TEST_CASE("Info tells each number of the world, and what is on the disk", "[desk]") {
  Numbers numbers;
  HandDesk world({}, numbers.host());
  fill(world.registry);
  const auto one = world.join("one"), other = world.join("other");
  world.answers(*other, session::Follow{.world = true, .values = true}, 1);
  const std::uint64_t hash = world.registry.hash();
  auto info = world.answer_to<session::Info>(*one, session::GetInfo{});
  CHECK(info.sequence == world.registry.sequence());
  CHECK(info.clock_ns == 1000);
  CHECK(info.hash == 0);
  CHECK(info.entities == 4);
  CHECK(info.types == world.registry.types().types().size());
  CHECK(info.sessions == 2);
  CHECK(info.watches == 1);
  CHECK(info.uptime_ns > 0);
  CHECK(info.hz == 25);
  CHECK(info.world == "by hand");
  CHECK(info.server == "test 1");
  CHECK(info.plugins == std::vector<std::string>{"game: build 5"});
  CHECK(info.durable_sequence == 11);
  CHECK(info.saved_sequence == 7);
  CHECK(info.durability == session::Durability::batched);
  CHECK(info.autosave_ns == 3'000'000'000);
  CHECK(info.error.empty());
  CHECK(info.save_error.empty());
  CHECK(world.answer_to<session::Info>(*one, session::GetInfo{.hash = 1}).hash == hash);
  numbers.size_warning = "much";
  CHECK(world.answer_to<session::Info>(*one, session::GetInfo{}).save_error == "much");
  numbers.save_error = "no room for the state";
  info = world.answer_to<session::Info>(*one, session::GetInfo{});
  CHECK(info.save_error == "no room for the state");
  CHECK(info.error.empty());
  numbers.error = "no room at all";
  world.settle();
  world.heard(*one);
  info = world.answer_to<session::Info>(*one, session::GetInfo{});
  CHECK(info.error == "no room at all");
}

TEST_CASE("Load and the figures tell each number of the server's work", "[desk]") {
  Numbers numbers;
  for (const std::uint64_t ns : {1000ull, 2000ull, 4000ull, 9000ull}) numbers.ticks.add(ns);
  HandDesk world({}, numbers.host());
  fill(world.registry);
  const auto one = world.join("one");
  const auto slow = world.join("slow", session::Role::admin, {.control_bytes_max = 100});
  world.answers(*one, session::Follow{.entities = {{1, 1}}, .values = true}, 1);
  world.time_ns = 5'000'000;
  world.edit(*one, 2, [](BatchBuilder& to) { to.append({1, 1}, arena::Damage{}); });
  world.time_ns += 700;
  world.settle();
  world.heard(*one);
  const auto load = world.answer_to<session::Load>(*one, session::GetLoad{});
  CHECK(load.sequence == world.registry.sequence());
  CHECK(load.processor_ns == world.time_ns);
  CHECK(load.memory_bytes > 1u << 20);
  REQUIRE(load.ticks.size() == 4);
  CHECK(load.ticks[0].below_ns == TimeCounts::end_of(TimeCounts::class_of(1000)));
  CHECK(load.ticks[3].below_ns == TimeCounts::end_of(TimeCounts::class_of(9000)));
  for (const session::TimeCount& each : load.ticks) CHECK(each.count == 1);
  CHECK(load.tick_ns_max == 9000);
  REQUIRE(load.edits.size() == 1);
  CHECK(load.edits[0].count == 1);
  CHECK(load.edits[0].below_ns == TimeCounts::end_of(TimeCounts::class_of(700)));
  CHECK(load.edit_ns_max == 700);
  CHECK(load.entities == 4);
  CHECK(load.archetypes == world.registry.host().storage().archetypes().size());
  CHECK(load.texts == world.registry.host().texts().size());
  CHECK(load.timers == 2);
  CHECK(load.templates == 1);
  CHECK(load.questions == 1);  // this one

  // Of one session an answer waits that it does not read, and so do an edit and a question.
  const auto edit = [](BatchBuilder& to) { to.append({1, 1}, arena::Damage{}); };
  world.edit(*slow, 1, edit);
  world.settle();
  world.edit(*slow, 2, edit);
  world.ask(*slow, 3, session::Find{});
  BatchBuilder batch;
  edit(batch);
  BatchBuilder refused;
  refused.append(Entity{99, 1}, Create{});
  world.put(*one, 4, refused.front(), true);
  Figures told;
  int times = 0;
  world.desk->ask_figures([&](const Figures& figures) {
    told = figures;
    ++times;
  });
  world.flush();
  world.flush();
  CHECK(times == 1);
  CHECK(told.sequence == world.registry.sequence());
  CHECK(told.durable_sequence == 11);
  CHECK(told.clock_ns == 1000);
  CHECK(told.hz == 25);
  CHECK(told.uptime_ns > 0);
  CHECK(told.processor_ns == world.time_ns);
  CHECK(told.memory_bytes > 1u << 20);
  CHECK(told.ticks == 4);
  CHECK(told.tick_p50_ns == TimeCounts::end_of(TimeCounts::class_of(2000)));
  CHECK(told.tick_p99_ns == 9000);
  CHECK(told.tick_max_ns == 9000);
  CHECK(told.edits == 2);
  CHECK(told.edits_refused == 1);
  CHECK(told.answers_waiting_bytes == one->outgoing()->waiting().bytes() + slow->outgoing()->waiting().bytes());
  CHECK(told.answers_waiting_bytes > slow->outgoing()->waiting().bytes());
  CHECK(told.requests_waiting_bytes == slow->requests.bytes());
  CHECK(told.requests_waiting_bytes > batch.bytes().size());
  CHECK(told.sessions == 2);
  CHECK(told.watches == 1);
  CHECK(told.questions == 0);
  CHECK(told.entities == 4);
  CHECK(told.archetypes == load.archetypes);
  CHECK(told.texts == load.texts);
  CHECK(told.timers == 2);
  CHECK(told.templates == 1);
}

TEST_CASE("the share of what was counted that took at most so long is the class in which it ends", "[desk]") {
  TimeCounts times;
  CHECK(below_share(times, 0.5) == 0);
  times.add(1000);
  CHECK(below_share(times, 0.5) == 1000);  // never more than the longest
  CHECK(below_share(times, 0) == 0);
  for (int i = 0; i < 9; ++i) times.add(100'000);
  const std::uint64_t first = TimeCounts::end_of(TimeCounts::class_of(1000));
  CHECK(below_share(times, 0.1) == first);
  CHECK(below_share(times, 0.100001) == 100'000);
  CHECK(below_share(times, 1) == 100'000);
}

TEST_CASE("the clock is told with each of its numbers, to who follows it when it is another, and once", "[desk]") {
  Numbers numbers;
  HandDesk world({}, numbers.host());
  world.registry.advance(500);
  const auto one = world.join("one"), other = world.join("other");
  const auto check = [&](const session::ClockState& state, std::uint64_t session) {
    CHECK(state.sequence == world.registry.sequence());
    CHECK(state.tick == 13);
    CHECK(state.clock_ns == 500);
    CHECK(state.hz == 25);
    CHECK(state.speed == numbers.pace.speed);
    CHECK(state.saved_sequence == numbers.saved);
    CHECK(state.session == session);
    CHECK(state.paused == (numbers.pace.paused ? 1 : 0));
    CHECK(state.steps == numbers.pace.steps);
  };
  const auto told = [&](Session& session) {
    const auto frames = world.heard(session);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].header.request == 0);
    return session::read<session::ClockState>(frames[0].batch());
  };
  check(world.answer_to<session::ClockState>(*one, session::GetClock{.follow = 1}, 1), 0);
  check(world.answer_to<session::ClockState>(*one, session::GetClock{.follow = 1}, 2), 0);  // follows once
  check(world.answer_to<session::ClockState>(*other, session::GetClock{}, 1), 0);
  world.settle();
  CHECK(world.heard(*one).empty());
  // Somebody else sets it: who follows is told of it, and by whom.
  check(world.answer_to<session::ClockState>(*other, session::SetClock{.speed = 8, .paused = 2}, 2), other->number);
  CHECK(numbers.pace == Pace{.speed = 8, .paused = true, .steps = 6});
  check(told(*one), other->number);
  // Each of its numbers stays where it is not said.
  const auto frames = world.answers(*one, session::SetClock{.speed = 0, .paused = 2, .steps = 4}, 3);
  REQUIRE(frames.size() == 2);  // it follows, too
  CHECK(frames[0].header.request == 3);
  CHECK(frames[1].header.request == 0);
  for (const Received& frame : frames) check(session::read<session::ClockState>(frame.batch()), one->number);
  CHECK(numbers.pace == Pace{.speed = 8, .paused = true, .steps = 10});
  world.heard(*one);
  world.answers(*other, session::SetClock{.paused = 1, .steps = 3}, 4);
  CHECK(numbers.pace == Pace{.speed = 8, .paused = true, .steps = 13});
  world.answers(*other, session::SetClock{.paused = 1}, 5);
  CHECK(numbers.pace == Pace{.speed = 8, .paused = true, .steps = 0});
  numbers.pace.steps = 9;
  world.answers(*other, session::SetClock{.paused = 0}, 6);
  CHECK(numbers.pace == Pace{.speed = 8, .paused = false, .steps = 0});
  world.settle();
  world.heard(*one);
  // Refused: as before, and nobody is told.
  const auto fault = world.answer_to<session::Fault>(*other, session::SetClock{.speed = 50, .paused = 2}, 7);
  CHECK(fault.code == session::FaultCode::bad_question);
  CHECK(fault.reason == "out_of_range");
  CHECK(fault.field == "speed");
  CHECK(fault.text == "too fast");
  CHECK(fault.type == TypeTraits<session::SetClock>::id);
  CHECK(numbers.pace.speed == 8);
  world.settle();
  CHECK(world.heard(*one).empty());
  // The world was saved; the host set the clock, and no session did.
  ++numbers.saved;
  world.settle();
  check(told(*one), other->number);
  numbers.pace.paused = true;
  world.settle();
  check(told(*one), 0);
  numbers.pace.speed = 2;
  world.settle();
  check(told(*one), 0);
  // A run of steps is over: of the steps between nobody is told.
  world.answers(*other, session::SetClock{.paused = 2, .steps = 3}, 8);
  world.heard(*one);
  for (numbers.pace.steps = 2; numbers.pace.steps > 0; --numbers.pace.steps) {
    world.settle();
    CHECK(world.heard(*one).empty());
  }
  world.settle();
  CHECK(told(*one).steps == 0);
  CHECK(world.heard(*other).empty());
}

TEST_CASE("without a clock that can be set, it is told as running, and a change is refused", "[desk]") {
  HandDesk world;
  const auto one = world.join();
  const auto state = world.answer_to<session::ClockState>(*one, session::GetClock{});
  CHECK(state.speed == 1);
  CHECK(state.paused == 0);
  CHECK(state.steps == 0);
  CHECK(state.hz == 0);
  CHECK(state.tick == 0);
  CHECK(state.saved_sequence == 0);
  const auto fault = world.answer_to<session::Fault>(*one, session::SetClock{.speed = 2, .paused = 2});
  CHECK(fault.reason == "no_clock");
  CHECK(fault.field.empty());
  CHECK(fault.text == "this server's clock cannot be set");
  CHECK(world.answer_to<session::Fault>(*one, session::Reload{}).text == "this server has no plugins");
  CHECK(world.answer_to<session::Saved>(*one, session::Save{}).sequence == world.registry.sequence());
}

TEST_CASE("what is durable is told with each of its numbers, to who follows it when one is another, and once",
          "[desk]") {
  for (const bool with_saved : {true, false}) {
    Numbers numbers;
    HandDesk world({}, numbers.host(with_saved));
    const auto one = world.join("one"), other = world.join("other");
    const auto check = [&](const session::Durable& durable) {
      CHECK(durable.sequence == numbers.durable);
      CHECK(durable.saved_sequence == (with_saved ? numbers.saved : numbers.durable));
      CHECK(durable.durability == session::Durability::batched);
      CHECK(durable.autosave_ns == 3'000'000'000);
      CHECK(durable.error == numbers.error.value_or(""));
    };
    const auto told = [&] {
      const auto frames = world.heard(*one);
      REQUIRE(frames.size() == 1);
      CHECK(frames[0].header.request == 0);
      check(session::read<session::Durable>(frames[0].batch()));
    };
    check(world.answer_to<session::Durable>(*one, session::FollowDurable{}, 1));
    check(world.answer_to<session::Durable>(*one, session::FollowDurable{}, 2));
    world.settle();
    CHECK(world.heard(*one).empty());
    ++numbers.durable;
    world.settle();
    told();
    if (with_saved) {
      ++numbers.saved;
      world.settle();
      told();
    }
    numbers.error = "the disk is full";
    world.settle();
    auto frames = world.heard(*one);
    REQUIRE(frames.size() == 2);  // every session is told
    CHECK(frames[0].is<session::Fault>());
    check(session::read<session::Durable>(frames[1].batch()));
    frames = world.heard(*other);
    REQUIRE(frames.size() == 1);
    const auto fault = session::read<session::Fault>(frames[0].batch());
    CHECK(frames[0].header.request == 0);
    CHECK(fault.code == session::FaultCode::not_recorded);
    CHECK(fault.reason == "not_recorded");
    CHECK_FALSE(fault.closes);
    CHECK(fault.text == "edits are refused, because they could not be kept: the disk is full");
    // Edits, schemas and templates are refused meanwhile, questions are answered.
    const std::uint64_t sequence = world.registry.sequence();
    world.edit(*other, 5, [](BatchBuilder& to) { to.append_world(arena::Damage{}); });
    world.settle();
    frames = world.heard(*other);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].header.request == 5);
    CHECK(session::read<session::Fault>(frames[0].batch()).reason == "not_recorded");
    CHECK(world.registry.sequence() == sequence);
    session::ReadTemplates templates;
    templates.text = R"({templates: [{name: "tower", components: {"arena.Health": {}}}]})";
    CHECK(world.answer_to<session::Fault>(*other, templates, 6).reason == "not_recorded");
    CHECK(world.answer_to<session::Fault>(*other, session::AddSchema{.bytes = {1}}, 7).reason == "not_recorded");
    CHECK(world.registry.host().template_count() == 0);
    CHECK(world.answer_to<session::Info>(*other, session::GetInfo{}, 8).error == "the disk is full");
    // Who comes now is told, once; the others are not told again.
    const auto late = world.join("late");
    world.settle();
    frames = world.heard(*late);
    REQUIRE(frames.size() == 1);
    CHECK(session::read<session::Fault>(frames[0].batch()).reason == "not_recorded");
    CHECK(world.heard(*other).empty());
    CHECK(world.heard(*one).empty());
    numbers.error.reset();
    world.settle();
    told();
    CHECK(world.heard(*late).empty());
    world.edit(*other, 9, [](BatchBuilder& to) { to.append_world(arena::Damage{}); });
    world.settle();
    frames = world.heard(*other);
    REQUIRE(frames.size() == 1);
    REQUIRE(frames[0].is<session::Ack>());
    session::Ack ack;
    std::memcpy(&ack, frames[0].batch().payload(0), sizeof ack);
    CHECK(ack.durable_through == numbers.durable);
  }
}

TEST_CASE("a disk that fails, one that works again, and a save that fails alone have a line each in the log",
          "[desk]") {
  Numbers numbers;
  std::vector<std::string> lines;
  HandDesk world({}, [&](HandWorld& host) {
    numbers.host()(host);
    host.on_warn = [&](const std::string& line) { lines.push_back(line); };
  });
  const auto said = [&] {
    world.settle();
    world.flush();
    return std::exchange(lines, {});
  };
  using Lines = std::vector<std::string>;
  CHECK(said().empty());
  numbers.save_error = "no room";
  CHECK(said() == Lines{"the world was not saved, but inputs are recorded: no room"});
  numbers.save_error = "still no room";
  CHECK(said().empty());
  numbers.error = "broken";
  CHECK(said() == Lines{"nothing is recorded, and edits are refused: broken"});
  numbers.error = "more broken";
  CHECK(said().empty());
  numbers.error.reset();
  numbers.save_error.reset();
  CHECK(said() == Lines{"the world was saved; inputs are recorded again, and edits are accepted"});
  numbers.error = "both";
  numbers.save_error = "both";
  CHECK(said() == Lines{"nothing is recorded, and edits are refused: both"});
}

TEST_CASE("who follows and does not read is told the newest when there is room, and once", "[desk]") {
  Numbers numbers;
  HandDesk world({}, numbers.host());
  const auto one = world.join("one", session::Role::admin, {.control_bytes_max = 100'000});
  world.answers(*one, session::FollowDurable{}, 1);
  world.answers(*one, session::GetClock{.follow = 1}, 2);
  BatchBuilder large;
  session::append(large, InternText{.text = std::string(60'000, 'x')});
  one->outgoing()->control(large.bytes(), 5);
  for (int i = 0; i < 3; ++i) {
    ++numbers.durable;
    ++numbers.saved;
    world.flush();
  }
  CHECK(world.heard(*one).size() == 1);  // what was there before
  world.flush();
  const auto frames = world.heard(*one);
  REQUIRE(frames.size() == 2);
  for (const Received& frame : frames) {
    CHECK(frame.header.request == 0);
    if (frame.is<session::Durable>()) {
      CHECK(session::read<session::Durable>(frame.batch()).sequence == numbers.durable);
    } else {
      CHECK(session::read<session::ClockState>(frame.batch()).saved_sequence == numbers.saved);
    }
  }
  CHECK(frames[0].batch().type() != frames[1].batch().type());
  world.flush();
  CHECK(world.heard(*one).empty());
}
