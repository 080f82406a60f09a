// Which types and which parts of the tree rules hide.
#include "server/access/sight.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "messages/type_table.h"
#include "registry/handlers/builtin_messages.h"
#include "registry/history/edit_history.h"
#include "schema/reduce.h"
#include "server/access/rights.h"
#include "server/edits/hidden_targets.h"
#include "server/edits/place_rights.h"
#include "server/session/presence_board.h"
#include "server/session/seen_now.h"
#include "tests/server/arena.h"
#include "tests/server/desk/hand_desk.h"

namespace sight_test {

using namespace muster;

RuleEntry hide(const char* what) { return {.what = what, .allows = false, .place = "c:1:1: "}; }
RuleEntry show(const char* what) { return {.what = what, .allows = true, .place = "c:2:1: "}; }

std::shared_ptr<const Sight> sight_of(AccessRules& rules, std::uint64_t user, const char* name) {
  return rules.of(user, name, RemoteRight::edit)->sight();
}

TEST_CASE("users with equal rules about seeing share one sight, and others have none", "[sight]") {
  AccessRules rules;
  rules.set({{.users = {"ann", "bob"}, .sights = {hide("game.*"), show("game.Chat")}},
             {.users = {"bob", "carl"}, .entries = {hide("game.Damage")}}});
  const auto ann = sight_of(rules, 1, "ann");
  REQUIRE(ann);
  CHECK(ann == sight_of(rules, 2, "bob"));
  CHECK_FALSE(sight_of(rules, 3, "carl"));
  const auto hides = [&](const char* name) {
    TypeDescriptor type;
    type.name = name;
    return ann->hides(type);
  };
  CHECK(hides("game.Damage"));
  CHECK_FALSE(hides("game.Chat"));
  CHECK_FALSE(hides("muster.Name"));
  CHECK(Rights{.role = RemoteRight::edit, .rules = rules.of(1, "ann", RemoteRight::edit)}.sight() == ann.get());
}

TEST_CASE("changed rules name the users whose sight has changed", "[sight]") {
  AccessRules rules;
  rules.set({{.users = {"ann"}, .sights = {hide("/town")}}});
  (void)sight_of(rules, 1, "ann");
  (void)sight_of(rules, 2, "bob");
  CHECK(rules.set({{.users = {"ann"}, .entries = {hide("*")}, .sights = {hide("/town")}}}).empty());
  CHECK(rules.set({{.sights = {hide("/town")}}}) == std::vector<std::uint64_t>{2});
  CHECK(rules.set({}) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a type that contains a hidden type is hidden, and what remains does not depend on hidden types", "[sight]") {
  TypeTable all;
  REQUIRE(all.add<arena::Health>());
  const Sight sight({hide("arena.Mark"), hide("arena.Position")}, {});
  const HiddenTypes hidden = hidden_types(all, sight);
  CHECK(hidden.contains(TypeTraits<arena::Announce>::id));
  CHECK(hidden.contains(TypeTraits<arena::Position>::id));
  CHECK_FALSE(hidden.contains(TypeTraits<arena::Health>::id));

  // A world whose schema never had these types.
  std::set<std::string> others;
  for (const TypeDescriptor* const type : all.types())
    if (!hidden.contains(type->id)) others.insert(type->name);
  TypeTable without;
  for (const auto& schema : all.schemas()) REQUIRE(without.add_schema(reduce_schema(schema, others)));
  const auto seen = visible_types(all, sight), seen_without = visible_types(without, sight);
  CHECK_FALSE(seen->find("arena.Mark"));
  CHECK_FALSE(seen->find("arena.Position"));
  CHECK(seen->find("arena.Health"));
  CHECK(seen->fingerprint() == seen_without->fingerprint());
  CHECK(std::ranges::equal(seen->schemas(), seen_without->schemas()));
}

TEST_CASE("the last rule that names a place above an entity decides whether it is visible", "[sight]") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), gate = registry.create_under(town, "gate"),
               cellar = registry.create_under(town, "cellar"), door = registry.create_under(cellar, "door"),
               wine = registry.create_under(cellar, "wine");
  SeenNow seen(registry, std::make_shared<const Sight>(std::vector<RuleEntry>{},
                                                       std::vector{hide("/town/cellar"), show("/town/cellar/door")}));
  for (const Entity e : {town, gate, cellar, door}) CHECK(seen.sees(e));
  CHECK_FALSE(seen.sees(wine));
  CHECK(seen.child_count(town) == 2);
  CHECK(seen.child_count(cellar) == 1);
  registry.destroy(door);
  CHECK_FALSE(seen.sees(cellar));
  CHECK(seen.child_count(town) == 1);
  registry.reparent(wine, {});
  CHECK(seen.sees(wine));
  CHECK_FALSE(seen.may_place(town, Text{hash64("cellar")}));
  CHECK_FALSE(seen.may_place(cellar, Text{hash64("wine")}));
  CHECK(seen.may_place(town, Text{hash64("wine")}));
  CHECK(seen.named_at_or_below(town) == "/town/cellar");
  CHECK(seen.named_at_or_below(gate).empty());
}

TEST_CASE("a rule may hide everything but one place", "[sight]") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), gate = registry.create_under(town, "gate"),
               other = registry.create("other");
  SeenNow seen(registry,
               std::make_shared<const Sight>(std::vector<RuleEntry>{}, std::vector{hide("/"), show("/town")}));
  CHECK(seen.sees(town));
  CHECK(seen.sees(gate));
  CHECK_FALSE(seen.sees(other));
  CHECK(seen.child_count({}) == 1);
  CHECK_FALSE(seen.may_place({}, Text{hash64("new")}));
  CHECK(seen.may_place(town, Text{}));
}

/// Replaces what an edit may not see, and returns the fault with which it is refused.
std::optional<session::Fault> hidden_fault(const EntityRegistry& registry, SeenNow& seen, BatchBuilder& edit,
                                           std::vector<Entity>& replaced) {
  std::vector<std::byte> bytes(edit.bytes().begin(), edit.bytes().end());
  return hide_targets(registry, seen, bytes, replaced);
}

TEST_CASE("the messages of an edit cannot together place an entity where it would be hidden", "[sight]") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), gate = registry.create_under(town, "gate"),
               other = registry.create("other"), box = registry.create_under(other, "box"), made{100, 1}, dead{101, 1};
  SeenNow seen(registry,
               std::make_shared<const Sight>(std::vector<RuleEntry>{}, std::vector{hide("/town/cave"), hide("/pit")}));
  const Text cave{hash64("cave")}, pit{hash64("pit")}, hut{hash64("hut")};
  const auto is_refused = [&](BatchBuilder& batches, bool in_step) {
    BatchBuilder step;
    if (in_step) session::append(step, Step{.batches = step_bytes(batches.bytes())});
    std::vector<Entity> replaced;
    const auto fault = hidden_fault(registry, seen, in_step ? step : batches, replaced);
    CHECK((!fault || fault->reason == "rule"));
    return fault.has_value();
  };
  for (const bool exists : {false, true}) {
    if (exists) (void)registry.create_under(town, "cave");
    INFO((exists ? "there is a cave" : "there is no cave"));
    BatchBuilder renamed_first, moved_first, created_first, named_later, spawned, behind_dead, harmless;
    renamed_first.append(box, Rename{.name = cave});
    renamed_first.append(box, Reparent{.parent = town});
    CHECK(is_refused(renamed_first, true));
    moved_first.append(box, Reparent{.parent = town});
    moved_first.append(box, Rename{.name = cave});
    CHECK(is_refused(moved_first, true));
    created_first.append(made, Create{.parent = other, .name = cave});
    created_first.append(made, Reparent{.parent = town});
    CHECK(is_refused(created_first, true));
    named_later.append(made, Create{});
    named_later.append(made, Rename{.name = pit});
    CHECK(is_refused(named_later, true));
    spawned.append_shared(std::vector{made, dead}, Spawn{.what = hut, .parent = other, .name = hut});
    spawned.append(dead, Reparent{.parent = town});
    CHECK(is_refused(spawned, true));
    behind_dead.append(dead, Rename{.name = cave});
    behind_dead.append(gate, Rename{.name = cave});
    CHECK(is_refused(behind_dead, false));
    harmless.append(made, Create{.parent = town, .name = hut});
    harmless.append(box, Rename{.name = cave});
    harmless.append(gate, Reparent{.parent = other});
    CHECK_FALSE(is_refused(harmless, true));
  }
}

TEST_CASE("a user from whom places are hidden cannot create, rename or move entities with timed messages", "[sight]") {
  EntityRegistry registry;
  const Entity box = registry.create("box");
  const auto is_refused = [&](std::vector<RuleEntry> types, std::vector<RuleEntry> places, const auto& message) {
    SeenNow seen(registry, std::make_shared<const Sight>(std::move(types), std::move(places)));
    BatchBuilder inner, timed;
    inner.append(box, message);
    timed.append_timed(1000, 0, BatchView(inner.bytes()));
    std::vector<Entity> replaced;
    return hidden_fault(registry, seen, timed, replaced).has_value();
  };
  CHECK(is_refused({}, {hide("/town/cave")}, Rename{.name = Text{hash64("lid")}}));
  CHECK(is_refused({}, {hide("/town/cave")}, Reparent{}));
  CHECK_FALSE(is_refused({}, {hide("/town/cave")}, arena::Damage{}));
  CHECK_FALSE(is_refused({hide("arena.Health")}, {}, Reparent{}));
}

TEST_CASE("no message can read, write or remove a component of a hidden type", "[sight]") {
  EntityRegistry registry;
  registry.add_type<arena::Health>();
  const Entity box = registry.create("box", arena::Health{});
  SeenNow seen(registry, std::make_shared<const Sight>(std::vector{hide("arena.Health")}, std::vector<RuleEntry>{}));
  const auto reason_of = [&](const auto& message) {
    BatchBuilder edit;
    edit.append(box, message);
    std::vector<Entity> replaced;
    const auto fault = hidden_fault(registry, seen, edit, replaced);
    return fault ? fault->reason : "";
  };
  const TypeId hidden = TypeTraits<arena::Health>::id, other = TypeTraits<arena::Position>::id;
  const SetField set{.component = hidden, .field = hash32("value"), .bytes = 4};
  CHECK(reason_of(Remove{.component = hidden}) == "unknown_component");
  CHECK(reason_of(set) == "unknown_component");
  CHECK(reason_of(SetFieldIf{.set = set}) == "unknown_component");
  CHECK(reason_of(Remove{.component = other}).empty());
}

TEST_CASE("ids that could replace hidden ones are shown alike, whether or not something is hidden", "[sight]") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), cave = registry.create_under(town, "cave"),
               twin{cave.index, cave.generation ^ 0x80000000u};
  SeenNow seen(registry, std::make_shared<const Sight>(std::vector<RuleEntry>{}, std::vector{hide("/town/cave")}));
  for (const bool exists : {true, false}) {
    if (!exists) registry.destroy(cave);
    BatchBuilder edit;
    edit.append(twin, arena::Damage{});
    edit.append(cave, arena::Damage{});
    std::vector<Entity> replaced;
    CHECK_FALSE(hidden_fault(registry, seen, edit, replaced));
    session::Fault fault;
    fault.entity = twin;
    show_replaced(fault, replaced);
    CHECK(fault.entity == cave);
  }
}

TEST_CASE("whether a rule denies a message to descendants does not depend on what is hidden", "[sight]") {
  EntityRegistry registry;
  const Entity town = registry.create("town"), gate = registry.create_under(town, "gate");
  AccessRules rules;
  rules.set({{.users = {"ann"}, .entries = {hide("/town/cave")}, .sights = {hide("/town/cave")}},
             {.users = {"carl"}, .entries = {hide("/town/cave"), show("/town")}, .sights = {hide("/town/cave")}}});
  const auto fault_of = [&](std::uint64_t user, const char* name, Entity e) {
    BatchBuilder edit;
    edit.append_subtree(e, subtree_self | subtree_descendants, arena::Damage{});
    return rule_fault(registry, *rules.of(user, name, RemoteRight::edit), BatchView(edit.bytes()));
  };
  std::string text;
  for (const bool exists : {false, true}) {
    if (exists) (void)registry.create_under(town, "cave");
    const auto fault = fault_of(1, "ann", town);
    REQUIRE(fault);
    CHECK(fault->entity == town);
    if (exists) CHECK(fault->text == text);
    text = fault->text;
    CHECK_FALSE(fault_of(1, "ann", gate));
    CHECK_FALSE(fault_of(2, "carl", town));
  }
}

/// A desk with ann, from whom /town/cave is hidden, and bob, who sees everything.
struct Seeing {
  Seeing() {
    rules.set({{.users = {"ann"}, .sights = {hide("/town/cave")}}});
    ann = join(1, "ann");
    bob = join(2, "bob");
    world.settle();
    for (const auto& session : {ann, bob}) (void)testing::HandDesk::heard(*session);
  }
  std::shared_ptr<Session> join(std::uint64_t user, const char* name) {
    return world.desk->join({.role = RemoteRight::edit, .rules = rules.of(user, name, RemoteRight::edit)}, name, "test",
                            std::make_shared<Connection>(), user, [](Session&) {});
  }
  void set_timer(Session& from, std::uint64_t due_ns, Entity target) {
    BatchBuilder inner;
    inner.append(target, arena::Damage{});
    world.edit(from, 5, [&](BatchBuilder& out) { out.append_timed(due_ns, 0, BatchView(inner.bytes())); });
    world.settle();
    (void)testing::HandDesk::heard(from);
  }

  AccessRules rules;
  testing::HandDesk world;
  Entity town = world.registry.create("town").or_stop();
  Entity cave = world.registry.create_under(town, "cave", arena::Health{.value = 100}).or_stop();
  std::shared_ptr<Session> ann, bob;
};

TEST_CASE("a user with limited sight lists the own timers as they were sent, and is not told of others", "[sight]") {
  Seeing s;
  s.set_timer(*s.ann, 1'000'000'000'000, s.cave);
  s.set_timer(*s.bob, 2'000'000'000'000, s.cave);
  const auto page = s.world.answer_to<session::PendingTimers>(*s.ann, session::ListTimers{.limit = 1});
  CHECK(page.targets == std::vector{s.cave});
  CHECK(page.total == 1);
  CHECK_FALSE(page.more);
  const auto all = s.world.answer_to<session::PendingTimers>(*s.bob, session::ListTimers{.limit = 1});
  CHECK(all.total == 2);
  CHECK(all.more);
}

TEST_CASE("a user with limited sight is not told how much a run kept, nor how large the files are", "[sight]") {
  Seeing s;
  s.world.host.gives_kept = [] { return std::vector{KeepReport{.messages = 3, .nil_references = 2}}; };
  s.world.host.gives_size_warning = [] { return "12 MiB"; };
  CHECK(s.world.answer_to<session::RunState>(*s.bob, session::GetRun{}).kept == 3);
  CHECK(s.world.answer_to<session::Info>(*s.bob, session::GetInfo{}).save_error == "12 MiB");
  const auto run = s.world.answer_to<session::RunState>(*s.ann, session::GetRun{});
  CHECK(run.kept == 0);
  CHECK(run.nil_references == 0);
  CHECK(s.world.answer_to<session::Info>(*s.ann, session::GetInfo{}).save_error.empty());
}

TEST_CASE("a user with limited sight is told who comes and goes, and not that others select something", "[sight]") {
  Seeing s;
  PresenceBoard board;
  board.join(s.ann);
  board.join(s.bob);
  for (const auto& session : {s.ann, s.bob})
    CHECK(board.get(*session, session::GetPresence{.follow = 1}, 1 << 16).people.size() == 2);
  const auto told_frames = [&](Session& session) {
    board.tell();
    return testing::HandDesk::heard(session).size();
  };
  REQUIRE(board.set(*s.bob, session::SetPresence{.selection = {s.cave}}).has_value());
  CHECK(told_frames(*s.ann) == 0);
  REQUIRE(board.set(*s.ann, session::SetPresence{.selection = {s.town}}).has_value());
  CHECK(told_frames(*s.bob) == 1);
  const auto third = s.join(3, "carl");
  board.join(third);
  CHECK(told_frames(*s.ann) == 1);
  board.leave(*third);
  CHECK(told_frames(*s.ann) == 1);
}

TEST_CASE("an acknowledgement does not tell whether an entity has a hidden component", "[sight]") {
  EntityRegistry registry;
  registry.add_type<arena::Health>();
  const Subscription push = registry.subscribe("push", [](const arena::Damage&, arena::Position& at) { at.x += 1; }),
                     heal = registry.subscribe("heal", [](const arena::Chat&, arena::Health& it) { it.value += 1; });
  SeenNow seen(registry, std::make_shared<const Sight>(std::vector{hide("arena.Position")}, std::vector<RuleEntry>{}));
  const auto visible = [&](BatchBuilder& edit) {
    return visible_receipt(registry, seen, {.handled = 2, .unhandled = 1, .dead = 3}, BatchView(edit.bytes()));
  };
  BatchBuilder hurts, talks;
  hurts.append(Entity{1, 1}, arena::Damage{});
  talks.append(Entity{1, 1}, arena::Chat{});
  CHECK(visible(hurts).handled == 0);
  CHECK(visible(hurts).unhandled == 0);
  CHECK(visible(hurts).dead == 3);
  CHECK(visible(talks).handled == 2);
  CHECK(visible(talks).unhandled == 1);
}

TEST_CASE("an undo skips an entity that was hidden in the meantime, and does not tell of it", "[sight]") {
  for (const bool hides : {false, true}) {
    Seeing s;
    EditHistory history(s.world.registry, 1u << 20);
    s.world.host.gives_history = [&] { return &history; };
    s.rules.set({});
    for (const float value : {90.f, 60.f}) {
      Session& from = value == 90.f ? *s.ann : *s.bob;
      s.world.edit(from, 5, [&](BatchBuilder& out) {
        out.append_rows(s.cave, Set{}, arena::Health{.value = value, .team = arena::Team::Blue});
      });
      s.world.settle();
      (void)testing::HandDesk::heard(from);
    }
    if (hides) s.rules.set({{.users = {"ann"}, .sights = {hide("/town/cave")}}});
    const auto listed = s.world.answer_to<session::History>(*s.ann, session::GetHistory{.limit = 1});
    REQUIRE(listed.whats.size() == 1);
    CHECK((listed.whats[0].find("cave") == std::string::npos) == hides);
    if (hides) {
      const auto fault = s.world.answer_to<session::Fault>(*s.ann, session::Undo{});
      CHECK(fault.reason == "nothing_to_undo");
      const auto undone = s.world.answer_to<session::Undone>(*s.ann, session::Undo{.only_newest = 1});
      CHECK(undone.done == 0);
      CHECK(std::ranges::count(undone.skipped_reasons, std::uint8_t(session::SkipReason::not_alive)) == 2);
      CHECK(undone.skipped_theirs == std::vector<std::string>{"", ""});
      CHECK(undone.skipped_users == std::vector<std::uint64_t>{0, 0});
      continue;
    }
    const auto undone = s.world.answer_to<session::Undone>(*s.ann, session::Undo{});
    CHECK(undone.skipped_entities == std::vector{s.cave});
    CHECK(undone.skipped_mine == std::vector<std::string>{"100"});
    CHECK(undone.skipped_theirs == std::vector<std::string>{"60"});
    CHECK(undone.skipped_users == std::vector<std::uint64_t>{2});
  }
}

TEST_CASE("types of Muster cannot be hidden", "[sight]") {
  TypeTable all;
  REQUIRE(all.add<arena::Health>());
  CHECK(wrong_types({{.sights = {hide("arena.Health"), show("arena.*"), hide("/town")}}}, all).empty());
  CHECK(wrong_types({{.sights = {hide("muster.Name")}}}, all) ==
        "c:1:1: muster.Name belongs to Muster itself and is always visible");
  CHECK(wrong_types({{.sights = {hide("arena.Healt")}}}, all) ==
        "c:1:1: there is no type arena.Healt; did you mean \"arena.Health\"?");
}

}  // namespace sight_test
