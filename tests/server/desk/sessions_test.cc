// Who is answered what: each question and each edit by the session that sent it alone, and nothing of a session is left when it ended.
#include <catch2/catch.hpp>
#include <thread>

#include "registry/host.h"
#include "registry/profile.h"
#include "server/world/time/work_time.h"
#include "tests/server/desk/hand_desk.h"

using namespace muster;
using namespace muster::testing;

namespace {

Pace running_pace{.speed = 2, .paused = true, .steps = 5};

void full_host(HandWorld& host) {
  host.on_save = [] { return WorldSide::Saved(); };
  host.on_reload = [](std::string_view) {
    return std::vector<ReloadedPlugin>{{.name = "game", .build = "new", .build_before = "old", .changed = true},
                                       {.name = "other", .build = "same", .build_before = "same", .changed = false}};
  };
  host.gives_pace = [] { return running_pace; };
  host.on_pace = [](const Pace& pace) -> std::expected<void, PaceFault> {
    running_pace = pace;
    return {};
  };
}

struct Kind {
  const char* name;
  TypeId answer;
  std::function<void(HandDesk&, Session&, std::uint64_t)> ask;
};
template <class Answer, class M>
Kind question(const char* name, M what) {
  return {name, TypeTraits<Answer>::id,
          [what](HandDesk& world, Session& from, std::uint64_t request) { world.ask(from, request, what); }};
}

/// One of each kind, of a world whose entity 1 is the root "unit"; and some that are refused.
std::vector<Kind> questions() {
  using namespace muster::session;
  const Entity unit{1, 1}, dead{99, 1};
  Follow follow;
  follow.world = follow.values = true;
  AddSchema schema;
  schema.bytes = {1, 2, 3};
  ReadTemplates templates;
  templates.text = R"({templates: [{name: "tower", components: {"arena.Health": {}}}]})";
  templates.file = "towers.json";
  ReadTemplates wrong = templates;
  wrong.text = "{";
  GetTemplate tower;
  tower.name = "tower";
  Resolve resolve;
  resolve.path = "/unit";
  return {question<Granted>("RequestGrant", RequestGrant{.count = 3}),
          question<Fault>("RequestGrant of none", RequestGrant{.count = 0}),
          question<Children>("ListChildren", ListChildren{}),
          question<Children>("ListChildren of one", ListChildren{.entity = unit}),
          question<Fault>("ListChildren of a dead one", ListChildren{.entity = dead}),
          question<Found>("Resolve", resolve),
          question<Fault>("Resolve of nothing", Resolve{}),
          question<Found>("Find", Find{}),
          question<Fault>("Show of a dead one", Show{.entity = dead}),
          question<Fault>("GetText", GetText{.hash = 77}),
          question<Fault>("AddSchema", schema),
          question<TextsDropped>("DropTexts", session::DropTexts{}),
          question<session::Removed>("RemoveOf", RemoveOf{.user = 5}),
          question<session::Removed>("RemoveOf, dry", RemoveOf{.user = 5, .dry = 1}),
          question<Templates>("ReadTemplates", templates),
          question<Fault>("ReadTemplates of a bad file", wrong),
          question<Templates>("ListTemplates", ListTemplates{}),
          question<DefineTemplate>("GetTemplate", tower),
          question<Fault>("GetTemplate of none", GetTemplate{}),
          question<PendingTimers>("ListTimers", ListTimers{}),
          question<HandlerList>("ListHandlers", ListHandlers{}),
          question<Fault>("WhyApart", WhyApart{}),
          question<LogLines>("ReadLog", ReadLog{}),
          question<Fault>("Follow of what is not there", Follow{.watch = 5}),
          question<Fault>("FollowMore", FollowMore{.watch = 5}),
          question<Fault>("Unwatch", Unwatch{.watch = 5}),
          question<Saved>("Save", Save{}),
          question<Durable>("FollowDurable", FollowDurable{}),
          question<Reloaded>("Reload", Reload{}),
          question<TraceBegun>("BeginTrace", BeginTrace{}),
          question<Fault>("BeginTrace again", BeginTrace{}),
          question<TraceText>("EndTrace", EndTrace{}),
          question<Fault>("EndTrace again", EndTrace{}),
          question<Info>("GetInfo", GetInfo{}),
          question<Info>("GetInfo with hash", GetInfo{.hash = 1}),
          question<Load>("GetLoad", GetLoad{}),
          question<Sessions>("ListSessions", ListSessions{}),
          question<Ended>("ListEnded", ListEnded{}),
          question<Activity>("GetActivity", GetActivity{}),
          question<ClockState>("GetClock", GetClock{}),
          question<RunState>("GetRun", GetRun{}),
          question<RunEdits>("GetRunEdits", GetRunEdits{}),
          question<Fault>("Keep", Keep{.all = true}),
          question<Fault>("GetPast", GetPast{.limit = 1}),
          question<Fault>("Restore", Restore{.tick = 1}),
          question<ClockState>("SetClock", SetClock{.speed = 3, .paused = 2}),
          question<Watching>("Follow", follow)};
}

std::uint64_t granted_ids(const EntityRegistry& registry) {
  std::uint64_t granted = 0;
  for (std::uint32_t i = 1; i < registry.host().storage().ids().indices(); ++i)
    granted += registry.host().storage().in_state({i, 1}, IdState::granted) ? 1 : 0;
  return granted;
}

}  // namespace

TEST_CASE("each question is answered to the session that asked, under its request, and to nobody else", "[desk]") {
  HandDesk world({}, full_host);
  world.registry.create("unit", arena::Health{}).or_stop();
  const auto one = world.join("one"), other = world.join("other"), third = world.join("third");
  world.settle();
  std::uint64_t request = 1000;
  for (const Kind& each : questions()) {
    CAPTURE(each.name);
    // Traces are of the session that began them.
    const bool first = request % 2 == 0 || std::string_view(each.name).find("Trace") != std::string_view::npos;
    const auto& asks = first ? one : other;
    const auto& hears_nothing = first ? other : one;
    each.ask(world, *asks, ++request);
    world.settle();
    const auto frames = world.heard(*asks);
    REQUIRE_FALSE(frames.empty());
    // Texts that are mentioned later may come before.
    const auto answer =
        std::ranges::find_if(frames, [&](const Received& frame) { return frame.header.request == request; });
    REQUIRE(answer != frames.end());
    CHECK(answer->batch().type() == each.answer);
    for (const Received& frame : frames) CHECK(frame.header.request == (frame.is<InternText>() ? 0 : request));
    if (frames.front().is<session::Fault>()) {
      const auto fault = session::read<session::Fault>(frames.front().batch());
      CHECK_FALSE(fault.closes);
      CHECK_FALSE(fault.reason.empty());
      CHECK_FALSE(fault.text.empty());
    }
    CHECK(world.heard(*hears_nothing).empty());
    CHECK(world.heard(*third).empty());
    CHECK(asks->open_questions == 0);
    CHECK(asks->requests.bytes() == 0);
    CHECK_FALSE(asks->outgoing()->closed());
  }
}

TEST_CASE("the answers that a desk makes itself say what is so", "[desk]") {
  HandDesk world({}, full_host);
  running_pace = {.speed = 2, .paused = true, .steps = 5};
  const auto one = world.join("one"), other = world.join("other");
  world.registry.create("unit", arena::Health{}).or_stop();
  const std::uint64_t sequence = world.registry.sequence();
  CHECK(world.answer_to<session::Saved>(*one, session::Save{}).sequence == sequence);
  CHECK(world.answer_to<session::TraceBegun>(*one, session::BeginTrace{}).sequence == sequence);
  CHECK(world.registry.profile().observing());
  auto fault = world.answer_to<session::Fault>(*other, session::BeginTrace{});
  CHECK(fault.code == session::FaultCode::failed);
  CHECK(fault.reason == "trace_running");
  fault = world.answer_to<session::Fault>(*other, session::EndTrace{});
  CHECK(fault.code == session::FaultCode::not_found);
  CHECK(fault.reason == "no_trace");
  CHECK(world.registry.profile().observing());
  world.registry.push(arena::Damage{});
  const auto trace = world.answer_to<session::TraceText>(*one, session::EndTrace{});
  CHECK(trace.slices > 0);
  CHECK(trace.left_out == 0);
  CHECK_FALSE(world.registry.profile().observing());

  const auto reloaded = world.answer_to<session::Reloaded>(*one, session::Reload{});
  CHECK(reloaded.sequence == world.registry.sequence());
  CHECK(reloaded.plugins == std::vector<std::string>{"game", "other"});
  CHECK(reloaded.builds == std::vector<std::string>{"new", "same"});
  CHECK(reloaded.builds_before == std::vector<std::string>{"old", "same"});
  CHECK(reloaded.changed == std::vector<std::uint8_t>{1, 0});

  const auto granted = world.answer_to<session::Granted>(*one, session::RequestGrant{.count = 5});
  CHECK(granted.count == 5);
  CHECK(granted_ids(world.registry) == 5);
  CHECK(world.registry.host().storage().in_state({granted.first + 4, 1}, IdState::granted));
  for (const std::uint32_t count : {0u, ServerLimits{}.grant_count_max + 1}) {
    fault = world.answer_to<session::Fault>(*one, session::RequestGrant{.count = count});
    CHECK(fault.code == session::FaultCode::bad_question);
    CHECK(fault.reason == "bad_question");
    CHECK(fault.field == "count");
    CHECK(fault.text == "between 1 and 65536 ids can be granted at a time, not " + std::to_string(count));
  }
  fault = world.answer_to<session::Fault>(*one, session::AddSchema{.bytes = {1, 2, 3}});
  CHECK(fault.code == session::FaultCode::refused);
  CHECK(fault.reason == "bad_schema");
  CHECK(fault.text.starts_with("the schema does not fit this world: "));
}

TEST_CASE("a session has a bound of unused ids, and what it asks for beyond is refused with both numbers", "[desk]") {
  ServerLimits limits;
  limits.unused_ids_max = 10;
  HandDesk world(limits);
  const auto one = world.join("one"), other = world.join("other");
  const auto first = world.answer_to<session::Granted>(*one, session::RequestGrant{.count = 8});
  const auto fault = world.answer_to<session::Fault>(*one, session::RequestGrant{.count = 3});
  CHECK(fault.code == session::FaultCode::bad_question);
  CHECK(fault.reason == "unused_ids_max");
  CHECK(fault.field == "count");
  CHECK(fault.text == "this session has 8 unused ids; 10 are allowed");
  CHECK(world.answer_to<session::Granted>(*other, session::RequestGrant{.count = 10}).count == 10);
  // Those at either end that were used are no longer counted.
  world.edit(*one, 1, [&](BatchBuilder& to) {
    to.append({first.first, 1}, Create{});
    to.append({first.first + 7, 1}, Create{});
  });
  world.settle();
  world.heard(*one);
  CHECK(world.answer_to<session::Granted>(*one, session::RequestGrant{.count = 4}).count == 4);
  CHECK(world.answer_to<session::Fault>(*one, session::RequestGrant{.count = 1}).text ==
        "this session has 10 unused ids; 10 are allowed");
}

TEST_CASE("nothing of a session is left when it ended: ids, watches, traces, what it follows, what it asked",
          "[desk]") {
  HandDesk world({}, full_host);
  world.registry.create("unit", arena::Health{}).or_stop();
  const auto stays = world.join("stays");
  auto leaves = world.join("leaves");
  std::weak_ptr<Session> gone = leaves;
  const auto outgoing = leaves->outgoing();
  const auto indices = world.registry.host().storage().ids().indices();
  world.answers(*leaves, session::RequestGrant{.count = 100}, 1);
  session::Follow watch;
  watch.world = watch.values = watch.structure = watch.inputs = true;
  world.answers(*leaves, watch, 2);
  session::Follow follow;
  follow.world = follow.values = follow.inputs = true;
  follow.open = {Entity{}};
  follow.pushed = {TypeTraits<arena::Damage>::id};
  world.answers(*leaves, follow, 3);
  world.answers(*leaves, session::FollowDurable{}, 4);
  world.answers(*leaves, session::GetClock{.follow = 1}, 5);
  world.answers(*leaves, session::BeginTrace{}, 6);
  world.edit(*leaves, 7, [](BatchBuilder& to) { session::append(to, InternText{.text = "made known"}); });
  world.settle();
  CHECK(granted_ids(world.registry) == 100);
  CHECK(world.registry.profile().observing());
  // What it asked last is not answered any more.
  world.ask(*leaves, 8, session::Find{});
  HandDesk::heard(*leaves);
  world.desk->leave(*leaves->connection());
  leaves.reset();
  world.settle();
  CHECK(gone.expired());
  CHECK(world.desk->sessions() == 1);
  CHECK(granted_ids(world.registry) == 0);
  CHECK_FALSE(world.registry.profile().observing());
  CHECK(world.desk->questions_waiting() == 0);
  CHECK(world.registry.host().storage().ids().indices() == indices + 100);
  OutgoingPiece piece;
  while (outgoing->take(piece)) outgoing->sent();
  // Whatever happens now, nobody tells it.
  world.registry.create("more", arena::Health{}).or_stop();
  world.registry.push(arena::Damage{});
  running_pace.speed += 1;
  world.edit(*stays, 1, [](BatchBuilder& to) { to.append({1, 1}, Rename{}); });
  world.settle();
  CHECK_FALSE(outgoing->take(piece));
  world.heard(*stays);
  CHECK(world.answer_to<session::Info>(*stays, session::GetInfo{}, 2).watches == 0);
  // Its text goes where texts are dropped.
  world.answers(*stays, session::DropTexts{}, 3);
  CHECK(world.registry.text(text_of("made known")).empty());
  // Another one may trace, and has the ids that were given back.
  CHECK(world.answers(*stays, session::BeginTrace{}, 4).front().is<session::TraceBegun>());
  CHECK(world.answer_to<session::Granted>(*stays, session::RequestGrant{.count = 100}, 5).count == 100);
  CHECK(world.registry.host().storage().ids().indices() == indices + 100 + 1);
}

TEST_CASE("an edit is answered to who sent it; one that is not let in leaves the world and its session as they were",
          "[desk]") {
  ServerLimits limits;
  limits.edit_steps_max = 1000;
  limits.name_bytes_max = 8;
  limits.texts_max = 2;
  limits.timers_max = 1;
  limits.world_entities_max = 10;
  HandDesk world(limits);
  const auto one = world.join("one"), other = world.join("other");
  const Entity unit = world.registry.create("unit", arena::Health{});
  const auto units = world.registry.create_many(5, arena::Health{});
  const auto own = world.answer_to<session::Granted>(*one, session::RequestGrant{.count = 100}, 1);
  const auto not_own = world.answer_to<session::Granted>(*other, session::RequestGrant{.count = 1}, 1);
  const auto later = [&](BatchBuilder& to) {
    BatchBuilder inner;
    inner.append(unit, arena::Damage{});
    to.append_timed(1'000'000'000, 0, inner.front());
  };
  world.edit(*one, 2, later);
  world.edit(*one, 3, [](BatchBuilder& to) { session::append(to, InternText{.text = "first"}); });
  world.edit(*one, 4, [](BatchBuilder& to) { session::append(to, InternText{.text = "second"}); });
  world.settle();
  for (const Received& frame : world.heard(*one)) REQUIRE(frame.is<session::Ack>());
  REQUIRE(one->seat()->texts == 2);
  REQUIRE(one->seat()->text_bytes == 11);
  REQUIRE(one->seat()->timers.size() == 1);
  REQUIRE(one->seat()->texts_told.size() == 2);
  world.registry.intern("much too long");

  struct Refused {
    const char* reason;
    std::function<void(BatchBuilder&)> write;
  };
  const std::vector<Refused> all = {
      {"edit_steps_max", [&](BatchBuilder& to) { to.append_shared(std::vector<Entity>(1000, unit), arena::Damage{}); }},
      {"name_bytes_max", [&](BatchBuilder& to) { to.append(unit, Rename{.name = text_of("much too long")}); }},
      {"texts_max", [&](BatchBuilder& to) { session::append(to, InternText{.text = "third"}); }},
      {"timers_max", later},
      {"id_not_granted", [&](BatchBuilder& to) { to.append({not_own.first, 1}, Create{}); }},
      {"world_entities_max",
       [&](BatchBuilder& to) {
         for (std::uint32_t i = 0; i < 5; ++i) to.append({own.first + i, 1}, Create{});
       }},
  };
  std::uint64_t request = 100;
  for (const Refused& each : all) {
    CAPTURE(each.reason);
    const std::uint64_t hash = world.registry.hash(), sequence = world.registry.sequence();
    const auto counters = world.desk->intake_counters();
    const std::uint64_t waits = one->seat()->edit_waits.all();
    for (const std::uint64_t under : {++request, std::uint64_t{0}}) {
      world.edit(*one, under, each.write);
      world.settle();
      const auto frames = world.heard(*one);
      REQUIRE(frames.size() == (under == 0 ? 0 : 1));  // who waits for no answer gets none
      if (under != 0) {
        CHECK(frames[0].header.request == under);
        REQUIRE(frames[0].is<session::Fault>());
        const auto fault = session::read<session::Fault>(frames[0].batch());
        CHECK(fault.reason == each.reason);
        CHECK(fault.sequence == 0);
        CHECK(fault.refused > 0);
      }
    }
    CHECK(world.heard(*other).empty());
    CHECK(world.registry.hash() == hash);
    CHECK(world.registry.sequence() == sequence);
    CHECK(world.desk->intake_counters().edits == counters.edits);
    CHECK(world.desk->intake_counters().refused == counters.refused + 2);
    CHECK(one->seat()->edit_waits.all() == waits + 2);
    CHECK(one->seat()->texts == 2);
    CHECK(one->seat()->text_bytes == 11);
    CHECK(one->seat()->texts_told.size() == 2);
    CHECK(one->seat()->timers.size() == 1);
    CHECK(one->requests.bytes() == 0);
  }
  // One that the world itself refuses has a sequence, and the counts of its receipt.
  world.edit(*one, ++request, [&](BatchBuilder& to) {
    for (const Entity e : {units[0], Entity{own.first, 1}}) to.append(e, SetField{.component = 1, .field = 2});
  });
  world.settle();
  const auto frames = world.heard(*one);
  REQUIRE(frames.size() == 1);
  REQUIRE(frames[0].is<session::Fault>());
  const auto fault = session::read<session::Fault>(frames[0].batch());
  CHECK(fault.sequence == world.registry.sequence());
  CHECK(fault.refused + fault.dead + fault.handled + fault.unhandled == 2);
  // And one that is taken.
  world.edit(*one, ++request, [&](BatchBuilder& to) {
    for (const Entity e : {units[0], Entity{9999, 1}}) to.append(e, arena::Damage{});
  });
  world.settle();
  const auto acks = world.heard(*one);
  REQUIRE(acks.size() == 1);
  REQUIRE(acks[0].is<session::Ack>());
  session::Ack ack;
  std::memcpy(&ack, acks[0].batch().payload(0), sizeof ack);
  CHECK(ack.sequence == world.registry.sequence());
  CHECK(ack.durable_through == 0);
  CHECK(ack.handled == 0);
  CHECK(ack.unhandled == 1);
  CHECK(ack.dead == 1);
  CHECK(ack.cut_short == 0);
}

TEST_CASE("an acknowledgement says whether the messages that an edit caused reached a limit", "[desk]") {
  RegistryOptions options;
  options.cascade_messages_max = 100;
  HandDesk world({}, {}, options);
  const auto echo = world.registry.subscribe(
      "test.echo", [](const arena::Damage& hit, const arena::Health& health, Entity self, Outbox& out) {
        if (health.value == 1) out.post(self, hit);  // for ever
      });
  const Entity calm = world.registry.create(arena::Health{.value = 0});
  const Entity endless = world.registry.create(arena::Health{.value = 1});
  const auto one = world.join();
  world.heard(*one);
  std::uint64_t request = 0;
  const auto cut_short = [&](Entity e) {
    world.edit(*one, ++request, [&](BatchBuilder& to) { to.append(e, arena::Damage{}); });
    world.flush();
    const auto frames = world.heard(*one);
    REQUIRE(frames.size() == 1);
    REQUIRE(frames[0].is<session::Ack>());
    return session::read<session::Ack>(frames[0].batch()).cut_short;
  };
  CHECK(cut_short(calm) == 0);
  CHECK(cut_short(endless) == 1);
}

TEST_CASE("a question waits as long as its session's queue has no room for the answer, whatever it asks", "[desk]") {
  HandDesk world({}, full_host);
  world.registry.create("unit", arena::Health{}).or_stop();
  // So much waits that nothing more has room, and yet a question is taken.
  constexpr std::size_t waiting = 49'984;
  const auto one = world.join("one", session::Role::admin, {.control_bytes_max = 2 * waiting});
  const auto other = world.join("other");
  world.settle();
  BatchBuilder large;
  for (std::size_t letters = 49'000; large.bytes().size() + frame_overhead_max != waiting; ++letters) {
    REQUIRE(letters < 50'000);
    large.clear();
    session::append(large, InternText{.text = std::string(letters, 'x')});
  }
  std::uint64_t request = 0;
  for (const Kind& each : questions()) {
    CAPTURE(each.name);
    if (std::string_view(each.name) == "Show of a dead one") continue;  // a sentence, whatever waits
    one->outgoing()->control(large.bytes(), 5);
    each.ask(world, *one, ++request);
    Figures figures;
    world.desk->ask_figures([&](const Figures& told) { figures = told; });
    for (int i = 0; i < 3; ++i) world.flush();
    CHECK(figures.questions == 1);
    CHECK(one->open_questions == 1);
    REQUIRE(world.heard(*one).size() == 1);  // what was there before
    world.settle();
    const auto frames = world.heard(*one);
    CHECK(std::ranges::any_of(frames, [&](const Received& frame) {
      return frame.batch().type() == each.answer && frame.header.request == request;
    }));
    CHECK(one->open_questions == 0);
    CHECK(world.heard(*other).empty());
  }
  // Edits of it wait, too, where more is waiting.
  for (int i = 0; i < 2; ++i) one->outgoing()->control(large.bytes(), 5);
  world.edit(*one, 1000, [](BatchBuilder& to) { to.append({1, 1}, arena::Damage{}); });
  const std::uint64_t sequence = world.registry.sequence();
  for (int i = 0; i < 3; ++i) world.flush();
  CHECK(world.registry.sequence() == sequence);
  for (const Received& frame : world.heard(*one)) CHECK_FALSE(frame.is<session::Ack>());
  world.settle();
  CHECK(world.registry.sequence() == sequence + 1);
  bool acknowledged = false;
  for (const Received& frame : world.heard(*one))
    acknowledged = acknowledged || (frame.is<session::Ack>() && frame.header.request == 1000);
  CHECK(acknowledged);
}

TEST_CASE("a reload or a schema that does not work says why, and a session is the user's who came in", "[desk]") {
  ServerLimits limits;
  std::uint64_t schemas = 0;
  {
    const HandDesk usual;
    for (const auto& schema : usual.registry.types().schemas()) schemas += schema.size();
  }
  limits.schemas_bytes_max = schemas + 2;
  HandDesk world(limits, [](HandWorld& host) {
    host.on_reload = [](std::string_view which) {
      return std::unexpected("no plugin is called " + std::string(which));
    };
  });
  const auto one = world.join();
  auto fault = world.answer_to<session::Fault>(*one, session::Reload{.plugin = "orc"});
  CHECK(fault.code == session::FaultCode::failed);
  CHECK(fault.reason == "reload_failed");
  CHECK(fault.text == "no plugin is called orc");
  fault = world.answer_to<session::Fault>(*one, session::AddSchema{.bytes = {1, 2, 3}});
  CHECK(fault.code == session::FaultCode::refused);
  CHECK(fault.reason == "schemas_bytes_max");
  CHECK(fault.text == "the world's schemas would have " + std::to_string(schemas + 3) + " bytes; " +
                          std::to_string(schemas + 2) + " are allowed");
  CHECK(world.answer_to<session::Fault>(*one, session::AddSchema{.bytes = {1, 2}}).reason == "bad_schema");
  int greeted = 0;
  const auto user = world.desk->join({session::Role::edit}, "ann", "editor", std::make_shared<Connection>(), 5,
                                     [&](Session& session) {
                                       ++greeted;
                                       CHECK(session.user == 5);
                                     });
  CHECK(greeted == 1);
  CHECK(user->user == 5);
  CHECK(user->rights.role == session::Role::edit);
  CHECK(user->name == "ann");
  CHECK(user->kind == "editor");
  CHECK(user->number != one->number);
  CHECK(user->number >> 32 == one->number >> 32);
  CHECK(user->secret != one->secret);
}
