// A session that is resumed on another connection: each edit is applied once, and only its client
// has it.
#include <catch2/catch.hpp>

#include "server/access/resume_key.h"
#include "server/world/journal/applied_requests.h"
#include "tests/server/desk/hand_desk.h"
#include "tests/support/folder.h"

namespace resume_test {

using namespace muster;
using namespace muster::testing;

namespace {

std::shared_ptr<Session> join(HandDesk& world, std::uint64_t user = 0) {
  return world.desk->join(
      {session::Role::admin}, "one", "test", std::make_shared<Connection>(), user, [](Session&) {}, true);
}

void lose(HandDesk& world, Session& session) {
  session.outgoing()->close();
  world.desk->leave(*session.connection());
  world.settle();
}

/// Resumes a session on a new connection. Returns an empty string, or the reason why not.
std::string resume(HandDesk& world, Desk::ResumeAsked asked, std::shared_ptr<Session>* session = nullptr) {
  if (asked.epoch == 0) asked.epoch = world.desk->epoch();
  if (asked.lineage == 0) asked.lineage = world.desk->lineage();
  auto resumed =
      world.desk->resume(asked, {session::Role::admin}, "one", "test", std::make_shared<Connection>(), [](Session&) {});
  if (!resumed) return resumed.error().reason;
  if (session) *session = *resumed;
  world.settle();
  return "";
}

void set_health(HandDesk& world, Session& by, std::uint64_t request, Entity e, float value) {
  world.edit(by, request, [&](BatchBuilder& to) { to.append_rows(e, Set{}, arena::Health{.value = value}); });
}

/// Creates an entity: an edit that is refused if it comes again.
struct Answers {
  std::vector<std::string> texts;  // "7 ack 12" or "7 REASON"
};
Answers answers(HandDesk& world, Session& session) {
  world.settle();
  Answers all;
  for (const Received& frame : world.heard(session)) {
    const std::string request = std::to_string(frame.header.request) + " ";
    if (frame.is<session::Ack>())
      all.texts.push_back(request + "ack " + std::to_string(session::read<session::Ack>(frame.batch()).sequence));
    else if (frame.is<session::Fault>())
      all.texts.push_back(request + session::read<session::Fault>(frame.batch()).reason);
  }
  return all;
}

}  // namespace

TEST_CASE("an edit that a resumed session sends again is applied once, and has the same answer", "[desk][resume]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{.value = 1});
  const auto one = join(world);
  set_health(world, *one, 1, unit, 2);
  const Answers first = answers(world, *one);
  REQUIRE(first.texts.size() == 1);
  set_health(world, *one, 2, Entity{999, 1}, 2);
  const Answers refused = answers(world, *one);
  lose(world, *one);
  CHECK(world.desk->sessions() == 1);
  CHECK(world.desk->away_sessions() == 1);
  world.registry.set(unit, arena::Health{.value = 50});

  std::shared_ptr<Session> again;
  REQUIRE(resume(world, {.session = one->number}, &again).empty());
  CHECK(again == one);
  CHECK(world.desk->away_sessions() == 0);
  const std::uint64_t edits = world.desk->intake_counters().edits;
  set_health(world, *one, 1, unit, 2);
  CHECK(answers(world, *one).texts == first.texts);
  set_health(world, *one, 2, Entity{999, 1}, 2);
  CHECK(answers(world, *one).texts == refused.texts);
  CHECK(world.registry.get<arena::Health>(unit).value == 50);
  CHECK(world.desk->intake_counters().edits == edits);
  set_health(world, *one, 3, unit, 3);
  CHECK(answers(world, *one).texts.size() == 1);
  CHECK(world.registry.get<arena::Health>(unit).value == 3);
}

TEST_CASE("edits that were waiting when the connection was lost are applied, and not again", "[desk][resume]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{.value = 1});
  const auto one = join(world);
  for (std::uint64_t request = 1; request <= 3; ++request)
    set_health(world, *one, request, unit, static_cast<float>(request));
  one->outgoing()->close();
  world.desk->leave(*one->connection());
  REQUIRE(resume(world, {.session = one->number}).empty());
  for (std::uint64_t request = 1; request <= 4; ++request)
    set_health(world, *one, request, unit, static_cast<float>(request));
  (void)answers(world, *one);
  CHECK(world.registry.get<arena::Health>(unit).value == 4);
  CHECK(world.desk->intake_counters().edits == 4);
}

TEST_CASE("the newer connection has the session, and the older one is told", "[desk][resume]") {
  HandDesk world;
  const auto one = join(world);
  const auto older = one->connection();
  REQUIRE(resume(world, {.session = one->number}).empty());
  REQUIRE(older->outgoing.closed_by());
  CHECK(older->outgoing.closed_by()->code == session::FaultCode::taken_over);
  const auto newer = one->connection();
  world.desk->leave(*older);
  world.settle();
  CHECK(world.desk->sessions() == 1);
  CHECK(world.desk->away_sessions() == 0);
  CHECK_FALSE(newer->outgoing.closed());
  // Again and again: the last one has it.
  for (int i = 0; i < 5; ++i) REQUIRE(resume(world, {.session = one->number}).empty());
  CHECK(newer->outgoing.closed_by()->code == session::FaultCode::taken_over);
}

TEST_CASE("a session is not resumed by another user, in another epoch, or after its end", "[desk][resume]") {
  ServerLimits limits;
  limits.resume_time_max = std::chrono::milliseconds(60);
  HandDesk world(limits);
  const auto one = join(world, 7), gone = join(world, 7);
  const auto plain = world.join("plain");
  gone->said_goodbye = true;
  lose(world, *gone);
  lose(world, *plain);
  CHECK(world.desk->sessions() == 1);
  CHECK(resume(world, {.session = gone->number, .user = 7}) == "session_ended");
  CHECK(resume(world, {.session = plain->number}) == "session_ended");
  CHECK(resume(world, {.session = one->number, .user = 8}) == "not_resumable");
  CHECK(resume(world, {.session = one->number, .user = 7, .epoch = world.desk->epoch() + 1}) == "other_epoch");
  CHECK(resume(world, {.session = one->number + 1000, .user = 7}) == "session_ended");
  lose(world, *one);
  CHECK(world.desk->sessions() == 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  world.settle();
  CHECK(world.desk->sessions() == 0);
  CHECK(resume(world, {.session = one->number, .user = 7}) == "session_ended");
}

TEST_CASE("sessions that are away are limited, and end with their user's eviction", "[desk][resume]") {
  ServerLimits limits;
  limits.away_sessions_max = 3;
  limits.user_away_sessions_max = 2;
  HandDesk world(limits);
  std::vector<std::shared_ptr<Session>> all;
  for (const std::uint64_t user : {5, 5, 5, 6, 6}) {
    all.push_back(join(world, user));
    lose(world, *all.back());
  }
  CHECK(world.desk->away_sessions() == 3);
  CHECK(resume(world, {.session = all[0]->number, .user = 5}) == "session_ended");
  CHECK(world.desk->evict_away(6) == 2);
  world.settle();
  CHECK(resume(world, {.session = all[4]->number, .user = 6}) == "session_ended");
  CHECK(resume(world, {.session = all[2]->number, .user = 5}).empty());
}

TEST_CASE("edits of a session that is away are dropped if its user is evicted before they are applied",
          "[desk][resume]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{.value = 1});
  const auto one = join(world, 7), other = join(world, 8);
  for (const auto& session : {one, other}) set_health(world, *session, 1, unit, session == one ? 2.0f : 3.0f);
  one->outgoing()->close();
  world.desk->leave(*one->connection());
  set_health(world, *other, 2, unit, 1);
  REQUIRE(world.desk->evict_away(7) == 1);
  world.settle();
  CHECK(world.registry.get<arena::Health>(unit).value == 1);
  CHECK(world.desk->intake_counters().edits == 2);
}

TEST_CASE("a session of an earlier desk goes on with its requests, if its world remembers them", "[desk][resume]") {
  AppliedRequests remembered;
  const std::uint64_t number = (std::uint64_t{0x1234567} << 32) + 5;
  remembered.note(number, {.request = 9, .sequence = 4, .handled = 1});
  HandDesk world({}, [&](HandWorld& host) { host.gives_applied_requests = [&] { return &remembered; }; });
  const Entity unit = world.registry.create("unit", arena::Health{.value = 1});
  std::shared_ptr<Session> one;
  REQUIRE(resume(world, {.session = number, .epoch = 77, .lineage = 1}, &one).empty());
  CHECK(one->number == number);
  set_health(world, *one, 9, unit, 2);
  set_health(world, *one, 8, unit, 2);
  CHECK(answers(world, *one).texts == std::vector<std::string>{"9 ack 4", "8 answered_before"});
  CHECK(world.registry.get<arena::Health>(unit).value == 1);
  set_health(world, *one, 10, unit, 2);
  CHECK(answers(world, *one).texts.size() == 1);
  CHECK(world.registry.get<arena::Health>(unit).value == 2);
  // It can be resumed again, but not after its end.
  lose(world, *one);
  REQUIRE(resume(world, {.session = number, .epoch = 77}).empty());
  one->said_goodbye = true;
  lose(world, *one);
  CHECK(resume(world, {.session = number, .epoch = 77}) == "session_ended");
  // In a run that began in between, edits are refused until the client knows.
  std::shared_ptr<Session> other;
  REQUIRE(resume(world, {.session = number + 1, .epoch = 77, .lineage = 5}, &other).empty());
  set_health(world, *other, 1, unit, 3);
  CHECK(answers(world, *other).texts == std::vector<std::string>{"1 epoch_over"});
}

TEST_CASE("a client that does not read while it resumes again and again loses nothing but its place",
          "[desk][resume]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{.value = 1});
  const auto one = join(world);
  session::Follow follow;
  follow.world = follow.values = true;
  world.ask(*one, 1, follow);
  world.settle();
  for (int i = 0; i < 50; ++i) {
    REQUIRE(resume(world, {.session = one->number}).empty());
    world.ask(*one, 2, session::ResumeWatches{.watches = {1}, .sequences = {1}, .follows = {follow}});
    set_health(world, *one, static_cast<std::uint64_t>(10 + i), unit, static_cast<float>(i));
    world.flush();
  }
  world.settle();
  CHECK(world.desk->sessions() == 1);
  CHECK(world.registry.get<arena::Health>(unit).value == 49);
  CHECK(one->outgoing()->waiting().bytes() < (1u << 20));
}

TEST_CASE("what was applied is the same after it was written as text and read", "[resume]") {
  AppliedRequests all, read;
  for (std::uint64_t i = 1; i <= 300; ++i)
    all.note(i % 3 + (1ull << 40), {.request = i * 7,
                                    .sequence = 1000 - i,
                                    .handled = 3,
                                    .unhandled = 1,
                                    .dead = 2,
                                    .refused = i % 5 == 0,
                                    .cut_short = i % 2 == 0});
  REQUIRE(read.read(all.text()));
  CHECK(read.text() == all.text());
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const AppliedRequest* const found = read.find(i % 3 + (1ull << 40), i * 7);
    REQUIRE(found);
    CHECK(*found == *all.find(i % 3 + (1ull << 40), i * 7));
  }
  CHECK(read.last((1ull << 40)) == 2100);
  const std::string text = all.text();
  for (std::size_t length = 1; length < std::min<std::size_t>(text.size(), 300); ++length)
    if (text[length - 1] != '|') CHECK_FALSE(read.read(text.substr(0, length)));
  CHECK(read.read(""));
  CHECK(read.sessions() == 0);
}

TEST_CASE("a proof is valid for one session, user and world, and after a restart with the same key file", "[resume]") {
  const test::Folder folder;
  const std::string path = folder / "key";
  const ResumeKey key(path, "w"), again(path, "w"), other_world(path, "x"), other;
  CHECK(key.error().empty());
  const ResumeKey::Proof proof = key.proof(5, 6);
  CHECK(again.accepts(proof, 5, 6));
  CHECK_FALSE(again.accepts(proof, 6, 6));
  CHECK_FALSE(again.accepts(proof, 5, 5));
  CHECK_FALSE(other_world.accepts(proof, 5, 6));
  CHECK_FALSE(other.accepts(proof, 5, 6));
  CHECK_FALSE(again.accepts({}, 5, 6));
  CHECK_FALSE(again.accepts(std::span(proof).first(31), 5, 6));
  for (std::size_t i = 0; i < proof.size(); ++i) {
    ResumeKey::Proof forged = proof;
    forged[i] ^= 1;
    CHECK_FALSE(again.accepts(forged, 5, 6));
  }
  CHECK_FALSE(ResumeKey(folder / "none/key", "w").error().empty());
}

}  // namespace resume_test
