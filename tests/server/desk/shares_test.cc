// Each user has a share of what the server and the world may hold. One user at the limit takes
// nothing from the others, and what a user left can be removed.
#include "server/session/shares.h"

#include <catch2/catch.hpp>
#include <thread>

#include "registry/apply/timers.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "server/edits/made_things.h"
#include "tests/server/desk/hand_desk.h"

namespace shares_test {

using namespace muster;
using namespace muster::testing;

namespace {

constexpr std::uint64_t ann = 1, bob = 2;

/// A desk with a history, and sessions of several users.
struct Shared {
  explicit Shared(const ServerLimits& limits = {})
      : world(limits, [this](HandWorld& host) {
          host.gives_history = [this] { return known; };
          host.gives_error = [this] { return error ? &*error : nullptr; };
        }) {
    known = &history;
  }
  std::shared_ptr<Session> of(std::uint64_t user, session::Role role = session::Role::control) {
    return world.join(user == ann ? "ann" : "bob", role, {}, user);
  }
  /// Sends an edit, and returns the reason of its refusal, or an empty string.
  std::string edit(Session& by, const std::function<void(BatchBuilder&)>& write) {
    world.edit(by, 9, write);
    world.settle();
    for (const Received& frame : HandDesk::heard(by))
      if (frame.is<session::Fault>()) {
        last = session::read<session::Fault>(frame.batch());
        return last.reason;
      }
    return {};
  }
  std::uint32_t granted(Session& to, std::uint32_t count) {
    return world.answer_to<session::Granted>(to, session::RequestGrant{.count = count}).first;
  }
  std::string create(Session& by, std::uint32_t first, std::uint32_t count, Entity parent = {}) {
    return edit(by, [&](BatchBuilder& out) {
      for (std::uint32_t i = 0; i < count; ++i) out.append({first + i, 1}, Create{.parent = parent});
    });
  }
  std::string define(Session& by, const std::string& name) {
    DefineTemplate what{.name = name};
    what.nodes.emplace_back();
    return edit(by, [&](BatchBuilder& out) { session::append(out, what); });
  }
  std::string intern(Session& by, const std::string& text) {
    return edit(by, [&](BatchBuilder& out) { session::append(out, InternText{.text = text}); });
  }
  std::string set_timer(Session& by, Entity target) {
    return edit(by, [&](BatchBuilder& out) {
      BatchBuilder inner;
      inner.append(target, arena::Damage{.amount = 1});
      out.append_timed(1'000'000'000'000, 0, inner.front());
    });
  }

  EditHistory* known = nullptr;
  std::optional<std::string> error;
  session::Fault last;
  HandDesk world;
  EditHistory history{world.registry, 16u << 20};
};

}  // namespace

TEST_CASE("the sessions of one user leave places for other users, and those of admins come in addition", "[shares]") {
  ServerLimits limits;
  limits.sessions_max = 5;
  limits.user_sessions_max = 3;
  limits.reserved_sessions = 2;
  Shared shared(limits);
  const Rights view{session::Role::view}, admin{session::Role::admin};
  std::vector<std::shared_ptr<Session>> sessions;
  for (int i = 0; i < 3; ++i) sessions.push_back(shared.of(ann, session::Role::view));
  const auto full = shared.world.desk->full_for(view, ann);
  REQUIRE(full);
  CHECK(full->reason == "user_sessions_max");
  CHECK(full->code == session::FaultCode::limit_exceeded);
  CHECK(full->text ==
        "all sessions of user 1 together would have 4 sessions; one user may have 3 "
        "(--limit user_sessions_max=3)");
  CHECK_FALSE(shared.of(ann, session::Role::view));
  for (int i = 0; i < 2; ++i) sessions.push_back(shared.of(bob, session::Role::view));
  CHECK(shared.world.desk->full_for(view, bob)->reason == "sessions_max");
  CHECK(shared.world.desk->full_for({session::Role::control}, bob));
  for (int i = 0; i < 2; ++i) sessions.push_back(shared.of(0, session::Role::admin));
  CHECK(std::ranges::none_of(sessions, [](const auto& session) { return session == nullptr; }));
  CHECK(shared.world.desk->full_for(admin, 0)->reason == "sessions_max");

  shared.world.desk->leave(*sessions[0]->connection());
  CHECK(shared.world.desk->full_for(view, ann)->reason == "sessions_max");
  for (std::size_t i = 3; i < 7; ++i) shared.world.desk->leave(*sessions[i]->connection());
  CHECK_FALSE(shared.world.desk->full_for(view, ann));
}

TEST_CASE("a user at the limit of entities is refused with the figures; what others delete makes room", "[shares]") {
  ServerLimits limits;
  limits.user_entities_max = 10;
  Shared shared(limits);
  const auto first = shared.of(ann), second = shared.of(ann), other = shared.of(bob),
             admin = shared.of(0, session::Role::admin);
  const std::uint32_t ids = shared.granted(*first, 20), seconds = shared.granted(*second, 20);
  CHECK(shared.create(*first, ids, 6) == "");
  CHECK(shared.create(*second, seconds, 4) == "");
  CHECK(shared.create(*other, shared.granted(*other, 10), 10) == "");
  CHECK(shared.create(*admin, shared.granted(*admin, 50), 50) == "");
  const auto destroy = [&](std::uint32_t id) {
    return shared.edit(*other, [&](BatchBuilder& out) { out.append({id, 1}, Destroy{}); });
  };
  CHECK(destroy(ids) == "");
  CHECK(shared.create(*second, seconds + 4, 1) == "");
  CHECK(shared.create(*second, seconds + 5, 1) == "user_entities_max");
  CHECK(shared.last.code == session::FaultCode::refused);
  CHECK(shared.last.text ==
        "all sessions of user 1 together would have 11 entities; one user may have 10 "
        "(--limit user_entities_max=10)");
  CHECK(destroy(ids + 1) == "");
  std::this_thread::sleep_for(MadeThings::recount_every);
  CHECK(shared.create(*second, seconds + 5, 1) == "");
}

TEST_CASE("a user's share of texts, templates and timers is that of all sessions, also of those that ended",
          "[shares]") {
  ServerLimits limits;
  limits.user_texts_max = 4;
  limits.user_texts_bytes_max = 40;
  limits.user_templates_max = 2;
  limits.user_timers_max = 3;
  Shared shared(limits);
  const Entity orc = shared.world.registry.create("orc", arena::Health{.value = 100}).or_stop();
  const auto other = shared.of(bob);
  auto session = shared.of(ann);
  const auto anew = [&] {
    shared.world.desk->leave(*session->connection());
    shared.world.settle();
    session = shared.of(ann);
    shared.world.settle();
  };
  for (int i = 0; i < 2; ++i) CHECK(shared.define(*session, "t" + std::to_string(i)) == "");
  anew();
  CHECK(shared.define(*session, "more") == "user_templates_max");
  CHECK(shared.define(*session, "t0") == "");
  CHECK(shared.define(*other, "theirs") == "");
  for (int i = 0; i < 2; ++i) CHECK(shared.intern(*session, "text " + std::to_string(i)) == "");
  anew();
  CHECK(shared.intern(*session, "one more") == "user_texts_max");
  CHECK(shared.intern(*session, "text 0") == "");
  CHECK(shared.intern(*other, "one more") == "");
  CHECK(shared.intern(*other, std::string(50, 'x')) == "user_texts_bytes_max");
  for (int i = 0; i < 3; ++i) {
    CHECK(shared.set_timer(*session, orc) == "");
    anew();
  }
  CHECK(shared.set_timer(*session, orc) == "user_timers_max");
  CHECK(shared.set_timer(*other, orc) == "");
}

TEST_CASE("the batches of one user's timers take a share of bytes", "[shares]") {
  ServerLimits limits;
  limits.user_timers_bytes_max = 200;
  Shared shared(limits);
  const Entity orc = shared.world.registry.create("orc", arena::Health{.value = 100}).or_stop();
  const auto session = shared.of(ann), other = shared.of(bob);
  int count = 0;
  std::string refused;
  while (count < 100 && (refused = shared.set_timer(*session, orc)).empty()) ++count;
  CHECK(refused == "user_timers_bytes_max");
  CHECK(count > 0);
  CHECK(shared.set_timer(*other, orc) == "");
}

TEST_CASE("the watches of one user cover a share; an admin may open some when all others are used up", "[shares]") {
  ServerLimits limits;
  limits.watched_entities_max = 25;
  limits.reserved_watched_entities = 20;
  limits.user_watched_entities_max = 15;
  limits.user_watches_max = 3;
  Shared shared(limits);
  for (int i = 0; i < 10; ++i) shared.world.registry.create("e" + std::to_string(i)).or_stop();
  std::uint64_t request = 100;
  const auto follow = [&](Session& by, Entity one = {}) -> std::string {
    session::Follow what{.world = !one, .values = true};
    if (one) what.entities = {one};
    shared.world.ask(by, ++request, what);
    shared.world.settle();
    for (const Received& frame : HandDesk::heard(by))
      if (frame.is<session::Fault>()) return session::read<session::Fault>(frame.batch()).reason;
    return {};
  };
  const auto first = shared.of(ann, session::Role::view), second = shared.of(ann, session::Role::view);
  CHECK(follow(*first) == "");
  CHECK(follow(*second) == "");
  CHECK(follow(*second) == "user_watched_entities_max");
  const auto other = shared.of(bob, session::Role::view);
  CHECK(follow(*other) == "");
  CHECK(follow(*other) == "watched_entities_max");
  const auto admin = shared.of(0, session::Role::admin);
  CHECK(follow(*admin) == "");
  CHECK(follow(*admin) == "");
  CHECK(follow(*admin) == "watched_entities_max");

  const auto third = shared.of(3, session::Role::view);
  ServerLimits few;
  few.user_watches_max = 2;
  Shared small(few);
  const Entity orc = small.world.registry.create("orc").or_stop();
  const auto one = small.of(ann, session::Role::view), two = small.of(ann, session::Role::view);
  const auto small_follow = [&](Session& by) -> std::string {
    session::Follow what{.values = true};
    what.entities = {orc};
    small.world.ask(by, ++request, what);
    small.world.settle();
    for (const Received& frame : HandDesk::heard(by))
      if (frame.is<session::Fault>()) return session::read<session::Fault>(frame.batch()).reason;
    return {};
  };
  CHECK(small_follow(*one) == "");
  CHECK(small_follow(*two) == "");
  CHECK(small_follow(*two) == "user_watches_max");
}

TEST_CASE("the unused ids of one user are those of all sessions, and used ones make room", "[shares]") {
  ServerLimits limits;
  limits.user_unused_ids_max = 30;
  Shared shared(limits);
  const auto first = shared.of(ann), second = shared.of(ann), other = shared.of(bob);
  const std::uint32_t ids = shared.granted(*first, 20);
  shared.granted(*second, 10);
  const auto fault = shared.world.answer_to<session::Fault>(*second, session::RequestGrant{.count = 1});
  CHECK(fault.reason == "user_unused_ids_max");
  CHECK(fault.code == session::FaultCode::bad_question);
  shared.granted(*other, 30);
  CHECK(shared.create(*first, ids, 5) == "");
  shared.granted(*second, 5);
  CHECK(shared.world.answer_to<session::Fault>(*first, session::RequestGrant{.count = 1}).reason ==
        "user_unused_ids_max");
}

TEST_CASE("an admin's trace ends that of another user", "[shares]") {
  Shared shared;
  const auto user = shared.of(ann), admin = shared.of(0, session::Role::admin);
  shared.world.answer_to<session::TraceBegun>(*user, session::BeginTrace{});
  CHECK(shared.world.answer_to<session::Fault>(*shared.of(bob), session::BeginTrace{}).reason == "trace_running");
  shared.world.answer_to<session::TraceBegun>(*admin, session::BeginTrace{});
  CHECK(shared.world.answer_to<session::Fault>(*user, session::EndTrace{}).reason == "no_trace");
  CHECK(shared.world.answer_to<session::Fault>(*user, session::BeginTrace{}).reason == "trace_running");
}

TEST_CASE("what a user left is counted, removed, and brought back by one undo except for timers", "[shares]") {
  Shared shared;
  const Entity orc = shared.world.registry.create("orc", arena::Health{.value = 100}).or_stop();
  const auto user = shared.of(ann), other = shared.of(bob), admin = shared.of(0, session::Role::admin);
  const std::uint32_t ids = shared.granted(*user, 10), others = shared.granted(*other, 10);
  CHECK(shared.create(*user, ids, 4) == "");
  CHECK(shared.create(*user, ids + 4, 2, {ids, 1}) == "");      // below an own one
  CHECK(shared.create(*other, others, 3, {ids + 4, 1}) == "");  // below that
  CHECK(shared.create(*other, others + 3, 1) == "");
  CHECK(shared.define(*user, "left") == "");
  CHECK(shared.define(*other, "kept") == "");
  CHECK(shared.set_timer(*user, orc) == "");
  CHECK(shared.set_timer(*other, orc) == "");
  shared.world.desk->leave(*user->connection());
  shared.world.settle();
  const std::uint64_t hash = shared.world.registry.hash();

  const auto ask = [&](std::uint32_t dry) {
    return shared.world.answer_to<session::Removed>(*admin, session::RemoveOf{.user = ann, .dry = dry});
  };
  const auto dry = ask(1);
  CHECK((dry.entities == 6 && dry.others == 3 && dry.templates == 1 && dry.timers == 1 && dry.steps == 3));
  CHECK(shared.world.registry.hash() == hash);
  const auto done = ask(0);
  CHECK((done.entities == 6 && done.others == 3 && done.templates == 1 && done.timers == 1 && done.steps == 3));
  CHECK(shared.world.registry.entity_count() == 2);
  CHECK(shared.world.registry.host().template_count() == 1);
  CHECK(shared.world.registry.host().timers().size() == 1);
  const auto nothing = ask(0);
  CHECK((nothing.entities == 0 && nothing.templates == 0 && nothing.timers == 0 && nothing.steps == 0));

  CHECK(shared.world.answer_to<session::Undone>(*admin, session::Undo{}).skipped == 0);
  CHECK(shared.world.registry.entity_count() == 11);
  CHECK(shared.world.registry.host().template_count() == 2);
  CHECK(shared.world.registry.alive({others + 2, 1}));
  CHECK(ask(1).entities == 6);
}

TEST_CASE("a removal in pieces passes over what somebody else has removed meanwhile", "[shares]") {
  Shared shared;
  EntityRegistry& registry = shared.world.registry;
  const auto user = shared.of(ann), admin = shared.of(0, session::Role::admin);
  Entity first;
  for (const std::uint32_t count : {4000u, 4000u, 2002u}) {
    const std::uint32_t ids = shared.granted(*user, count);
    CHECK(shared.create(*user, ids, count) == "");
    if (!first) first = {ids, 1};
  }
  REQUIRE(registry.entity_count() == 10'002);
  shared.world.ask(*admin, 78, session::RemoveOf{.user = ann});
  for (int i = 0; i < 10'000 && registry.entity_count() > 2; ++i) {
    shared.world.flush();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  REQUIRE(registry.entity_count() == 2);  // one piece is done
  REQUIRE(registry.alive(first));
  registry.destroy(first);
  shared.world.settle();
  CHECK(registry.entity_count() == 0);
}

TEST_CASE("one undo brings back what a removal in pieces has removed", "[shares]") {
  Shared shared;
  const auto user = shared.of(ann), admin = shared.of(0, session::Role::admin);
  for (const std::uint32_t count : {4000u, 4000u, 2002u})
    CHECK(shared.create(*user, shared.granted(*user, count), count) == "");
  CHECK(shared.world.answer_to<session::Removed>(*admin, session::RemoveOf{.user = ann}).entities == 10'002);
  REQUIRE(shared.world.registry.entity_count() == 0);
  CHECK(shared.history.steps(0, HistoryAct::undo) == 1);
  CHECK(shared.world.answer_to<session::Undone>(*admin, session::Undo{}).skipped == 0);
  CHECK(shared.world.registry.entity_count() == 10'002);
}

TEST_CASE("what a user made is known after a restart as far as the history goes", "[shares]") {
  Shared shared;
  const auto user = shared.of(ann), other = shared.of(bob);
  const std::uint32_t ids = shared.granted(*user, 10), others = shared.granted(*other, 10);
  CHECK(shared.create(*user, ids, 3) == "");
  CHECK(shared.create(*other, others, 2, {ids, 1}) == "");
  CHECK(shared.define(*user, "tower") == "");
  const ServerLimits limits;
  Shares counts(limits);
  MadeThings made(shared.world.registry, counts, &shared.history);
  CHECK(counts.held(ann, ShareOf::entities) == 3);
  CHECK(counts.held(bob, ShareOf::entities) == 2);
  CHECK(counts.held(ann, ShareOf::templates) == 1);
  CHECK(made.of(ann).entities.size() == 3);
  CHECK(made.of(ann).templates == std::vector<std::string>{"tower"});
}

TEST_CASE("a removal is refused while nothing can be recorded", "[shares]") {
  Shared shared;
  const auto user = shared.of(ann), admin = shared.of(0, session::Role::admin);
  CHECK(shared.create(*user, shared.granted(*user, 2), 2) == "");
  shared.error = "the disk is full";
  shared.world.flush();
  HandDesk::heard(*admin);
  CHECK(shared.world.answer_to<session::Removed>(*admin, session::RemoveOf{.user = ann, .dry = 1}).entities == 2);
  CHECK(shared.world.answer_to<session::Fault>(*admin, session::RemoveOf{.user = ann}).reason == "not_recorded");
  CHECK(shared.world.registry.entity_count() == 2);
}

TEST_CASE("connections fit into the descriptors that a process may have", "[limits]") {
  const ServerLimits usual;
  const ServerLimits many = fitted_to(usual, 1u << 20);
  CHECK((many.sessions_max == usual.sessions_max && many.strangers_max == usual.strangers_max));
  for (const std::uint64_t descriptors : {100u, 256u, 1024u, 1500u}) {
    const ServerLimits fitted = fitted_to(usual, descriptors);
    CHECK(fitted.strangers_max >= 1);
    CHECK(fitted.sessions_max + fitted.reserved_sessions + 2 * fitted.strangers_max + reserved_descriptors <=
          descriptors);
  }
}

}  // namespace shares_test
