// The attribute `see`: which role sees a type, and what is sent to the others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "registry/host.h"
#include "server/access/access_rules.h"
#include "server/access/sight.h"
#include "tests/server/desk/hand_desk.h"
#include "tests/server/levels.h"

namespace see_test {

using namespace muster;
using namespace muster::testing;

RuleEntry hide(const char* what) { return {.what = what, .allows = false, .place = "c:1:1: "}; }
RuleEntry show(const char* what) { return {.what = what, .allows = true, .place = "c:2:1: "}; }

/// Returns the names of the visible types of the namespace `levels`.
std::set<std::string> seen_of(const TypeTable& all, const Sight* sight) {
  std::set<std::string> names;
  const std::shared_ptr<const TypeTable> seen = sight ? visible_types(all, *sight) : nullptr;
  for (const TypeDescriptor* const type : (seen ? *seen : all).types())
    if (type->name.starts_with("levels.")) names.insert(type->name.substr(7));
  return names;
}

TEST_CASE("a role below a type's attribute `see` does not know the type, unless it may send it", "[sight]") {
  TypeTable all;
  REQUIRE(all.add<levels::Plan>());
  AccessRules rules;
  rules.learn(all);
  const auto sight_of = [&](std::uint64_t user, const char* name, RemoteRight role) {
    return rules.of(user, name, role)->sight();
  };
  const auto view = sight_of(1, "v", RemoteRight::view), edit = sight_of(2, "e", RemoteRight::edit),
             control = sight_of(3, "c", RemoteRight::control), admin = sight_of(4, "a", RemoteRight::admin);
  REQUIRE(view);
  REQUIRE(edit);
  REQUIRE(control);
  CHECK_FALSE(admin);
  CHECK(seen_of(all, view.get()) == std::set<std::string>{"Wave", "Whisper"});
  CHECK(seen_of(all, edit.get()) == std::set<std::string>{"Wave", "Whisper"});
  CHECK(seen_of(all, control.get()) == std::set<std::string>{"Briefing", "Order", "Plan", "Wave", "Whisper"});
  CHECK(seen_of(all, nullptr).size() == 6);
  const TypeDescriptor* const whisper = all.find(TypeTraits<levels::Whisper>::id);
  CHECK(view->hides_messages_of(*whisper));
  CHECK_FALSE(view->hides(*whisper));
  CHECK_FALSE(control->hides_messages_of(*whisper));
}

TEST_CASE("rules about seeing come before the attribute `see`", "[sight]") {
  TypeTable all;
  REQUIRE(all.add<levels::Plan>());
  AccessRules rules;
  rules.learn(all);
  rules.set({{.users = {"ann"}, .sights = {show("levels.*")}},
             {.users = {"bob"}, .sights = {show("levels.Plan"), hide("levels.Whisper")}},
             {.users = {"carl"}, .sights = {hide("levels.Wave")}}});
  CHECK_FALSE(rules.of(1, "ann", RemoteRight::view)->sight());
  const auto bob = rules.of(2, "bob", RemoteRight::view)->sight();
  REQUIRE(bob);
  CHECK(seen_of(all, bob.get()) == std::set<std::string>{"Briefing", "Plan", "Wave"});
  const auto carl = rules.of(3, "carl", RemoteRight::admin)->sight();
  REQUIRE(carl);
  CHECK(seen_of(all, carl.get()) == std::set<std::string>{"Briefing", "Fault", "Order", "Plan", "Whisper"});
  CHECK(rules.set({}) == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("types that a world learns later change the sight of those users only who may not see them", "[sight]") {
  AccessRules rules;
  TypeTable none, all;
  REQUIRE(none.add<arena::Health>());
  REQUIRE(all.add<levels::Plan>());
  CHECK(rules.learn(none).empty());
  CHECK_FALSE(rules.of(1, "v", RemoteRight::view)->sight());
  CHECK_FALSE(rules.of(2, "a", RemoteRight::admin)->sight());
  CHECK_FALSE(rules.would_learn(none));
  CHECK(rules.would_learn(all));
  CHECK(rules.learn(all) == std::vector<std::uint64_t>{1});
  CHECK(rules.of(1, "v", RemoteRight::view)->sight());
  CHECK_FALSE(rules.would_learn(all));
}

/// A desk with a viewer and a user in control, both of whom watch the whole world.
struct Levels {
  Levels() {
    world.registry.add_type<levels::Plan>();
    rules.learn(world.registry.types());
    town = world.registry.create("town", levels::Plan{.value = 7}).or_stop();
    world.flush();
    viewer = join(1, "viewer", RemoteRight::view);
    controller = join(2, "controller", RemoteRight::control);
    for (const auto& session : {viewer, controller})
      world.ask(*session, 5, session::Follow{.world = true, .structure = true, .values = true, .inputs = true});
    world.settle();
  }
  std::shared_ptr<Session> join(std::uint64_t user, const char* name, RemoteRight role) {
    return world.desk->join({.role = role, .rules = rules.of(user, name, role)}, name, "test",
                            std::make_shared<Connection>(), user, [](Session&) {});
  }
  template <class M>
  void push(const M& message) {
    BatchBuilder out;
    out.append(town, message);
    (void)world.registry.host().push_batch(out.bytes(), {.session = 7, .user = 9});
  }
  /// Returns the types of the events, and of the values, that the session was sent.
  static std::set<TypeId> told(Session& session) {
    std::set<TypeId> types;
    for (const Received& frame : HandDesk::heard(session)) {
      if (frame.is<session::Values>()) types.insert(session::read<session::Values>(frame.batch()).component);
      types.insert(frame.batch().type());
    }
    return types;
  }

  AccessRules rules;
  HandDesk world;
  Entity town;
  std::shared_ptr<Session> viewer, controller;
};

TEST_CASE("messages and components that a role may not see are not sent to it", "[sight]") {
  Levels of;
  CHECK_FALSE(Levels::told(*of.viewer).contains(TypeTraits<levels::Plan>::id));
  CHECK(Levels::told(*of.controller).contains(TypeTraits<levels::Plan>::id));
  of.push(levels::Whisper{.value = 1});
  of.push(levels::Order{.value = 1});
  of.push(levels::Wave{.value = 1});
  of.world.settle();
  const std::set<TypeId> viewer = Levels::told(*of.viewer), controller = Levels::told(*of.controller);
  const TypeId whisper = TypeTraits<levels::Whisper>::id, order = TypeTraits<levels::Order>::id,
               wave = TypeTraits<levels::Wave>::id;
  CHECK(viewer.contains(wave));
  CHECK_FALSE(viewer.contains(whisper));
  CHECK_FALSE(viewer.contains(order));
  for (const TypeId type : {whisper, order, wave}) CHECK(controller.contains(type));
  for (const Received& frame : of.world.answers(*of.viewer, session::Show{.entity = of.town}))
    if (frame.is<session::Shown>())
      CHECK(std::ranges::count(session::read<session::Shown>(frame.batch()).components, TypeTraits<levels::Plan>::id) ==
            0);
}

TEST_CASE("a viewer may send what only others may see", "[sight]") {
  Levels of;
  (void)HandDesk::heard(*of.viewer);
  of.world.edit(*of.viewer, 9, [&](BatchBuilder& out) { out.append(of.town, levels::Whisper{.value = 3}); });
  of.world.settle();
  std::size_t acks = 0;
  for (const Received& frame : HandDesk::heard(*of.viewer)) {
    CHECK_FALSE(frame.batch().type() == TypeTraits<levels::Whisper>::id);
    acks += frame.is<session::Ack>() ? 1 : 0;
  }
  CHECK(acks == 1);
  CHECK(Levels::told(*of.controller).contains(TypeTraits<levels::Whisper>::id));
}

TEST_CASE("a world tells of new types before a session can learn of them", "[sight]") {
  HandDesk world;
  AccessRules rules;
  rules.learn(world.registry.types());
  world.host.on_types = [&](const TypeTable& types) {
    CHECK_FALSE(world.desk->types()->find(TypeTraits<levels::Plan>::id));
    if (rules.would_learn(types)) world.desk->end_sights(rules.learn(types));
  };
  const auto join = [&](std::uint64_t user, const char* name, RemoteRight role) {
    return world.desk->join({.role = role, .rules = rules.of(user, name, role)}, name, "test",
                            std::make_shared<Connection>(), user, [](Session&) {});
  };
  const auto viewer = join(1, "viewer", RemoteRight::view), admin = join(2, "admin", RemoteRight::admin);
  world.settle();
  const auto schema = TypeTraits<levels::Plan>::schema;
  const auto added = world.answers(*admin, session::AddSchema{.bytes = {schema.begin(), schema.end()}}, 8);
  CHECK(added.size() == 2);  // the new schema and the answer
  const auto told = HandDesk::heard(*viewer);
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].is<session::Fault>());
  CHECK(session::read<session::Fault>(told[0].batch()).reason == "rights_changed");
}

}  // namespace see_test
