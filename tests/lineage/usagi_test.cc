#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "examples/managers/collision.h"
#include "examples/managers/grid.h"
#include "messages/value_text.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "registry/templates/template_file.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/lineage/lineage.h"
#include "tests/lineage/parts.h"

using namespace muster;
using namespace lineage;
using Catch::Contains;

namespace {

void add_up(const Update&, World& world, const Place& place, Parent<const World*> up) {
  world.x = place.at.x + (up ? up->x : 0);
}
void hurt(const Hit& hit, Health& health) { health.value -= hit.amount; }
void heal(const Update& update, Health& health) { health.value += update.dt; }

/// Where `World::x` of everybody is what its ancestors' places add up to.
bool sums_are_right(const EntityRegistry& registry) {
  bool right = true;
  registry.each<World, Place>([&](Entity e, const World& world, const Place& place) {
    float sum = place.at.x;
    for (Entity up = registry.parent(e); up; up = registry.parent(up))
      if (const Place* above = registry.find<Place>(up)) sum += above->at.x;
    right = right && sum == world.x;
  });
  return right;
}

}  // namespace

TEST_CASE("usagi 1: an entity has no parent or one, and any number of children; without one it is a root") {
  EntityRegistry registry;
  const Entity a = registry.create("a"), b = registry.create("b");
  CHECK_FALSE(registry.parent(a));
  std::vector<Entity> children;
  for (int i = 0; i < 100; ++i) children.push_back(registry.create_under(a, ""));
  CHECK(registry.child_count(a) == 100);
  CHECK(registry.child_count(b) == 0);
  for (const Entity child : children) CHECK(registry.parent(child) == a);
  registry.reparent(children[50], b);
  CHECK(registry.parent(children[50]) == b);
  CHECK(registry.child_count(a) == 99);
  registry.reparent(children[50], {});
  CHECK(registry.depth(children[50]) == 0);
  CHECK(registry.reparent(a, children[1]).refusal.code == RefusalCode::cycle);  // a tree
}

TEST_CASE("usagi 1: a middle child that leaves takes its own children along, and its siblings stay") {
  EntityRegistry registry;
  const Entity top = registry.create("top");
  const Entity a = registry.create_under(top, "a"), b = registry.create_under(top, "b");
  const Entity c = registry.create_under(top, "c"), below = registry.create_under(b, "below");
  registry.reparent(b, {});
  CHECK(registry.first_child(top) == a);
  CHECK(registry.next_sibling(a) == c);
  CHECK(registry.child_count(top) == 2);
  CHECK(registry.path(below) == "/b/below");
}

TEST_CASE("usagi 2: an entity has one component of a type at most; for several it has children") {
  EntityRegistry registry;
  const Entity car = registry.create("car", Place{});
  registry.set(car, Place{.at = {.x = 9}});
  CHECK(registry.host().components(car).size() == 2);  // its name is the other
  CHECK(registry.get<Place>(car).at.x == 9);
  // Who means to add and not to overwrite is refused.
  BatchBuilder builder;
  builder.append_rows(car, Set{.mode = SetMode::add}, Place{});
  const Receipt receipt = registry.host().push_batch(builder.bytes());
  CHECK(receipt.refused == 1);
  CHECK(receipt.refusal.type == TypeTraits<Place>::id);
  CHECK(registry.get<Place>(car).at.x == 9);
  int wheels = 0;
  for (int i = 0; i < 4; ++i) registry.create_under(car, "", Place{}).or_stop();
  const auto s =
      registry.subscribe("s", [&](const Note&, const Place&, Parent<const Place> up) { wheels += up->at.x == 9; });
  registry.push(Note{});
  CHECK(wheels == 4);
}

TEST_CASE("usagi 3: components are plain data with defaults") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<Member>);
  STATIC_REQUIRE(std::is_aggregate_v<Member>);
  EntityRegistry registry;
  const Entity e = registry.create(Health{}, Member{}, Place{});
  CHECK(registry.get<Health>(e).value == 100);
  CHECK(registry.get<Member>(e).team == Team::blue);
  CHECK(registry.get<Place>(e).at.z == 3);
  REQUIRE(define_templates(registry, R"({templates: [{name: "t", components: {Member: {}}}]})", "t.json"));
  CHECK(registry.get<Member>(registry.spawn("t")).team == Team::blue);
}

TEST_CASE("usagi 5: a system is a function without state, run for every entity that has what it asks for") {
  EntityRegistry registry;
  const auto s = registry.subscribe<heal>("heal");
  REQUIRE(registry.host().handlers().handlers().size() == 1);
  CHECK_FALSE(registry.host().handlers().handlers()[0]->has_state);
  int seen = 0;
  const auto t = registry.subscribe("count", [&](const Update&, const Health&) { ++seen; });
  CHECK(registry.host().handlers().handlers()[1]->has_state);  // what captures is told apart
  std::vector<Entity> healthy;
  for (int i = 0; i < 20; ++i)
    healthy.push_back(i % 2 ? registry.create(Health{.value = 1}) : registry.create(Health{.value = 1}, Armor{}));
  registry.create(Armor{});
  registry.push(Update{.dt = 2});
  for (const Entity e : healthy) CHECK(registry.get<Health>(e).value == 3);
  CHECK(seen == 20);
}

TEST_CASE("usagi 6: inputs are read, outputs are the entity's own and are read and written") {
  EntityRegistry registry;
  const auto s = registry.subscribe(
      "s", [](const Hit&, Count& count, const Armor&, Parent<const Health>, Other<const Place*>) { ++count.hits; });
  const Handler& handler = *registry.host().handlers().handlers()[0];
  REQUIRE(handler.terms.size() == 4);
  for (const Term& term : handler.terms) CHECK((term.access == Access::write) == (term.type == TypeTraits<Count>::id));
  const Entity top = registry.create(Health{});
  const Entity e = registry.create_under(top, "e", Count{.hits = 4}, Armor{});
  registry.push(e, Hit{});
  CHECK(registry.get<Count>(e).hits == 5);
  // Whoever puts a handler together by ids is held to the same rule.
  for (const Source source : {Source::parent, Source::self_or_parent, Source::other, Source::any}) {
    const DynamicShape shape{.message = TypeTraits<Hit>::id,
                             .terms = {{.type = TypeTraits<Armor>::id, .access = Access::write, .source = source}}};
    CHECK_THROWS_WITH(registry.subscribe("x", shape, [](const DynamicCall&) {}), Contains("lineage.Armor"));
  }
}

TEST_CASE("usagi 7: a missing optional component does not stop a handler, which asks whether it is there") {
  EntityRegistry registry;
  std::string log;
  const auto s =
      registry.subscribe("s", [&](const Note&, const Health& required, Armor* optional, Parent<const Place*> above) {
        log += required.value > 0 ? 'r' : '?';
        if (optional) optional->factor = 7;
        log += optional ? 'o' : '-';
        log += above ? 'a' : '-';
      });
  const Entity plain = registry.create(Health{}), armed = registry.create(Health{}, Armor{}, Place{});
  const Entity below = registry.create_under(armed, "", Health{}), other = registry.create(Armor{});
  for (const Entity e : {plain, armed, below, other}) registry.push(e, Note{});
  CHECK(log == "r--ro-r-a");
  CHECK(registry.get<Armor>(armed).factor == 7);
  CHECK(registry.get<Armor>(other).factor == 1);
}

TEST_CASE("usagi 8: an input may come from the entity or the nearest above it, but none above the nearest with X") {
  EntityRegistry registry;
  std::string log;
  const auto number = [](const Health* h) { return h ? std::to_string(static_cast<int>(h->value)) : "-"; };
  const auto a = registry.subscribe(
      "a", [&](const Note&, const Bone&, UpTo<const Health*, Model> health) { log += number(health.get()); });
  int required = 0;
  const auto b = registry.subscribe("b", [&](const Note&, const Bone&, UpTo<const Health, Model>) { ++required; });
  registry.add_type<Note>();
  std::string by_id;
  const Term health{.type = TypeTraits<Health>::id,
                    .presence = Presence::optional,
                    .source = Source::up_to,
                    .anchor = TypeTraits<Model>::id};
  const auto c = registry.subscribe(
      "c", DynamicShape{.message = TypeTraits<Note>::id, .terms = {{.type = TypeTraits<Bone>::id}, health}},
      [&](const DynamicCall& call) { by_id += number(reinterpret_cast<const Health*>(call.values[1])); });
  const Entity horse = registry.create("horse", Model{}, Health{.value = 1});
  const Entity back = registry.create_under(horse, "back", Bone{});
  const Entity rider = registry.create_under(back, "rider", Model{}, Bone{});
  const Entity arm = registry.create_under(rider, "arm", Bone{});
  const Entity stray = registry.create_under(registry.create("cart", Health{.value = 5}), "stray", Bone{});
  const auto ask = [&](Entity e) {
    log.clear();
    registry.push(e, Note{});
    return log;
  };
  CHECK(ask(back) == "1");
  CHECK(ask(arm) == "-");    // the rider has none: the horse's is not taken
  CHECK(ask(rider) == "-");  // nor by the entity that has X itself
  CHECK(ask(stray) == "5");  // without X above there is no bound
  CHECK(required == 2);
  registry.set(rider, Health{.value = 2});
  CHECK(ask(arm) == "2");  // of the one that has X as well
  registry.set(arm, Health{.value = 3});
  CHECK(ask(arm) == "3");
  CHECK(by_id == "1--523");
}

TEST_CASE("usagi 10: a parent's run of a system is over before its children's begins, in any tree") {
  EntityRegistry registry;
  const auto s = registry.subscribe<add_up>("add_up");
  std::mt19937 random(10);
  std::vector<Entity> all{registry.create(World{}, Place{.at = {.x = 1}})};
  for (int i = 0; i < 500; ++i) {
    const Entity parent = random() % 8 ? all[random() % all.size()] : Entity{};
    const Place place{.at = {.x = static_cast<float>(random() % 100)}};
    all.push_back(random() % 2 ? registry.create_under(parent, "", World{}, place)
                               : registry.create_under(parent, "", World{}, place, Armor{}));
    if (i % 7 == 0) registry.reparent(all[random() % all.size()], all[random() % all.size()]);  // circles are refused
  }
  registry.push(Update{});
  CHECK(sums_are_right(registry));
  // A chain: the value at its end went through everybody in one pass.
  Entity end = registry.create(World{}, Place{.at = {.x = 1}});
  for (int i = 0; i < 200; ++i) end = registry.create_under(end, "", World{}, Place{.at = {.x = 1}});
  registry.push(Update{});
  CHECK(registry.get<World>(end).x == 201);
}

TEST_CASE("usagi 11: one priority orders systems, smaller first; equals run by name") {
  EntityRegistry registry;
  std::string log;
  const Entity e = registry.create(Health{});
  std::vector<Subscription> all;
  // The same value for every message of a system.
  const auto system = [&](const std::string& name, int priority) {
    all.push_back(
        registry.subscribe(name, [&log, name](const Update&, const Health&) { log += name; }, {.priority = priority}));
    all.push_back(
        registry.subscribe(name, [&log, name](const Note&, const Health&) { log += name; }, {.priority = priority}));
  };
  system("d", 5), system("b", 5), system("late", 900), system("a", 7), system("early", -3);
  registry.push(Update{});
  log += '|';
  registry.push(e, Note{});
  CHECK(log == "earlybdalate|earlybdalate");
}

TEST_CASE("usagi 12: a frame is the host's: run, collisions, triggers, what is due, late update, and drawing apart") {
  EntityRegistry registry;
  const managers::Grid grid(registry);
  std::string log;
  const auto run = registry.subscribe("run", [&](const Update&, const Health&, Entity self, Outbox& out) {
    log += "run ";
    out.post(self, Note{});
  });
  const auto event = registry.subscribe("event", [&](const Note&, const Health&) { log += "event "; });
  const auto collide =
      registry.subscribe("c", [&](const collision::Collision&, const Health&) { log += "collision "; });
  const auto ray = registry.subscribe("r", [&](const collision::RayHit&, const Health&) { log += "ray "; });
  const auto trigger = registry.subscribe("t", [&](const collision::TriggerEnter&) { log += "trigger "; });
  const auto late = registry.subscribe("l", [&](const LateUpdate&, const Health&) { log += "late "; });
  const auto gpu = registry.subscribe("g", [&](const GpuUpdate&, const Health&) { log += "gpu "; });
  const auto due = registry.subscribe("d", [&](const Move&, const Health&) { log += "due "; });
  const Entity e = registry.create(Health{}, collision::Place{}, collision::Body{});
  registry.create(collision::Place{}, collision::Body{.mask = 0});
  registry.create(collision::Place{}, collision::Trigger{});
  registry.post_at(1, e, Move{});
  registry.push(e, collision::CastRay{.direction = {.x = 1}});
  const auto frame = [&](float dt) {
    registry.push(Update{.dt = dt});
    registry.push(collision::FindContacts{});
    registry.advance(1);
    registry.push(LateUpdate{.dt = dt});
  };
  frame(0.1f);
  CHECK(log == "run event ray collision trigger trigger due late ");
  // Inputs are counted, from 1 on, in place of frames.
  const std::uint64_t inputs = registry.sequence();
  CHECK(inputs > 0);
  log.clear();
  registry.push(GpuUpdate{});  // whenever it is safe to write there
  CHECK(log == "gpu ");
  CHECK(registry.sequence() == inputs + 1);
}

TEST_CASE(
    "usagi 15: an event goes across or up: ancestors root first, the entity, then descendants; system by system") {
  EntityRegistry registry;
  std::string log;
  const auto one = registry.subscribe(
      "1", [&](const Note&, const Health&, Entity self) { log += "1" + std::string(registry.name(self)) + " "; },
      {.priority = 1});
  const auto two = registry.subscribe(
      "2", [&](const Note&, const Armor&, Entity self) { log += "2" + std::string(registry.name(self)) + " "; },
      {.priority = 2});
  const Entity a = registry.create("a", Health{}, Armor{});
  const Entity g = registry.create_under(a, "g", Health{});
  const Entity b = registry.create_under(g, "b");  // has neither: the event passes through
  const Entity c = registry.create_under(b, "c", Health{}, Armor{});
  const Entity d = registry.create_under(c, "d", Health{});
  registry.create_under(d, "e", Armor{}).or_stop();
  registry.create_under(c, "f", Health{}).or_stop();
  const Entity other = registry.create("o", Health{});
  const auto reach = [&](std::uint64_t parts) {
    log.clear();
    registry.push_subtree(c, parts, Note{});
    return log;
  };
  CHECK(reach(subtree_ancestors | subtree_self | subtree_descendants) == "1a 1g 1c 1d 1f 2a 2c 2e ");
  CHECK(reach(subtree_ancestors) == "1a 1g 2a ");
  CHECK(reach(subtree_self) == "1c 2c ");
  CHECK(reach(subtree_descendants) == "1d 1f 2e ");
  // Across: from a handler of one entity to another, and to all.
  const auto relay = registry.subscribe("relay", [&](const Move&, const Health&, Outbox& out) {
    out.post(other, Note{});
    out.post(Note{});
  });
  log.clear();
  registry.push(d, Move{});
  CHECK(log == "1o 1a 1o 1g 1c 1d 1f 2a 2c 2e ");
}

TEST_CASE("usagi 16: events are copied and queued, first in, first out, each due in its time") {
  EntityRegistry registry({.cascade_messages_max = 100});
  std::vector<std::uint32_t> order;
  const auto s = registry.subscribe("s", [&](const Note& note, const Health&, Entity self, Outbox& out) {
    order.push_back(note.number);
    if (note.number == 2) out.post(self, Note{.number = 20});  // in the same phase, behind those that wait
  });
  const Entity e = registry.create(Health{});
  Note note{.number = 1};
  registry.post(e, note);
  note.number = 2;
  registry.post(e, note);
  note.number = 3;
  registry.post(e, note);
  registry.post_at(5, e, Note{.number = 50});
  registry.post_at(4, e, Note{.number = 40});
  note.number = 99;
  CHECK(order.empty());
  registry.flush();
  CHECK(order == std::vector<std::uint32_t>{1, 2, 3, 20});
  registry.advance(4);
  registry.advance(4);
  CHECK(order == std::vector<std::uint32_t>{1, 2, 3, 20, 40, 50});
  // Two that answer each other for ever are cut short, and the rest comes first next time.
  int played = 0;
  const auto ping = registry.subscribe("ping", [&](const Hit&, const Health&, Entity self, Outbox& out) {
    ++played;
    out.post(self, Hit{});
  });
  CHECK(registry.push(e, Hit{}).cut_short);
  CHECK(played == 101);
  CHECK(registry.host().counters().carried == 1);
}

TEST_CASE("usagi 17: an event to somebody who is still to come arrives after he came; to somebody gone it is dropped") {
  EntityRegistry registry;
  std::string log;
  const auto note = registry.subscribe("note", [&](const Note& n, const Health& h) {
    log += std::to_string(n.number) + ":" + std::to_string(static_cast<int>(h.value)) + " ";
  });
  Entity made;
  const auto s = registry.subscribe("s", [&](const Update&, Spawner& spawner, Outbox& out) {
    made = spawner.create(Health{.value = 4});
    out.post(made, Note{.number = 1});
    out.destroy(made);
    out.post(made, Note{.number = 2});
  });
  registry.push(Update{});
  CHECK(log == "1:4 ");
  CHECK(registry.host().counters().dead == 1);
  CHECK_FALSE(registry.alive(made));
}

TEST_CASE("usagi 18: an event from outside to an id that nobody has is dropped and counted; one may be due later") {
  EntityRegistry registry;
  int notes = 0;
  const auto s = registry.subscribe("s", [&](const Note&, const Health&) { ++notes; });
  const Entity here = registry.create(Health{});
  const auto lane = registry.host().inbox().open_lane(9);
  BatchBuilder inner, builder;
  builder.append(Entity{4000, 1}, Note{});
  builder.append(here, Note{});
  inner.append(here, Note{});
  builder.append_timed(70, 0, inner.front());  // by the world's clock, not by the sender's
  builder.for_each([&](BatchView batch) { REQUIRE(lane->put(batch.bytes())); });
  const Receipt receipt = registry.flush();
  CHECK(receipt.dead == 1);
  CHECK(notes == 1);
  registry.advance(69);
  CHECK(notes == 1);
  registry.advance(1);
  CHECK(notes == 2);
}

TEST_CASE("usagi 19: ids are hashes of full names, so that one last name in two namespaces is two types") {
  STATIC_REQUIRE(TypeTraits<lineage::Health>::id != TypeTraits<lineage::other::Health>::id);
  STATIC_REQUIRE(TypeTraits<lineage::other::Health>::id == hash32("lineage.other.Health"));
  EntityRegistry registry;
  const Entity e = registry.create(lineage::Health{}, lineage::other::Health{});
  CHECK(registry.host().components(e).size() == 2);
  CHECK(registry.get<lineage::Health>(e).value == 100);
  CHECK(registry.get<lineage::other::Health>(e).hearts == 3);
  std::vector<const TypeDescriptor*> candidates;
  CHECK(registry.types().resolve("Health", &candidates) == nullptr);  // asks back
  CHECK(candidates.size() == 2);
}

TEST_CASE("usagi 20: a created entity's id is good at once; it is there when its message is delivered") {
  EntityRegistry registry;
  Entity made;
  bool there_early = false;
  const auto s = registry.subscribe("s", [&](const Update&, Spawner& spawner, Outbox& out) {
    made = spawner.create(Health{.value = 8});
    out.set(made, Member{.leader = made});
    there_early = registry.alive(made);
  });
  const auto t = registry.subscribe(
      "t", [&](const Update&, Lookup<const Health> look) { there_early = there_early || look.find(made); },
      {.after = {"s"}});
  registry.push(Update{});
  CHECK_FALSE(there_early);
  CHECK(registry.get<Health>(made).value == 8);
  CHECK(registry.get<Member>(made).leader == made);
}

TEST_CASE("usagi 21: a component that was added or removed decides from the next message on who is called") {
  EntityRegistry registry;
  std::string log;
  const auto arm = registry.subscribe("arm", [&](const Note& note, const Health&, Entity self, Outbox& out) {
    log += 'n';
    if (note.number == 1) out.set(self, Armor{});
    if (note.number == 2) out.remove<Armor>(self);
    if (note.number != 0) out.post(self, Note{});
  });
  const auto armed = registry.subscribe("barmed", [&](const Note&, const Armor&) { log += 'A'; });
  const Entity e = registry.create(Health{});
  registry.push(e, Note{.number = 1});  // not yet, then armed
  CHECK(log == "nnA");
  log.clear();
  registry.push(e, Note{.number = 2});  // still, then not
  CHECK(log == "nAn");
  // From outside it is so when the call returns; on an ancestor as well, whose children are never out of date.
  const auto up = registry.subscribe("up", [&](const Move&, const Health&, Parent<const Armor> above) {
    log += std::to_string(static_cast<int>(above->factor));
  });
  const Entity child = registry.create_under(e, "child", Health{});
  log.clear();
  registry.push(child, Move{});
  registry.set(e, Armor{.factor = 6});
  registry.push(child, Move{});
  registry.remove<Armor>(e);
  registry.push(child, Move{});
  CHECK(log == "6");
}

TEST_CASE("usagi 26: everybody who mirrors a component asks what has changed since its own last look") {
  EntityRegistry registry;
  const auto hit = registry.subscribe<hurt>("hurt");
  const auto all = registry.create_many(5000, Health{});
  const auto changed = [&](std::uint64_t& since) {
    std::vector<Entity> found;
    for (const auto& archetype : registry.host().storage().archetypes())
      for (const Group& group : archetype->groups)
        for (const Chunk* chunk : group.chunks) {
          const std::uint16_t slot = archetype->column(TypeTraits<Health>::id);
          if (slot != no_column && chunk->slots()[slot].version > since)
            found.insert(found.end(), chunk->ids(), chunk->ids() + chunk->count);
        }
    since = registry.host().begin_version();
    return found;
  };
  std::uint64_t first = 0, second = 0;
  CHECK(changed(first).size() == 5000);
  CHECK(changed(first).empty());
  registry.push(all[4000], Hit{});
  const auto seen = changed(first);
  CHECK(std::ranges::count(seen, all[4000]) == 1);
  CHECK(seen.size() <= chunk_rows_max);  // whole chunks, not whole types
  CHECK(changed(second).size() == 5000);
  CHECK(changed(second).empty());
  // Or hears of it, entity by entity.
  std::vector<Entity> heard;
  const auto s =
      registry.subscribe("mirror", [&](const Changed<Health>&, const Health&, Entity self) { heard.push_back(self); });
  registry.push(all[7], Hit{});
  registry.push(all[7], Hit{.amount = 0});
  CHECK(heard == std::vector{all[7]});
}

TEST_CASE("usagi 27: who comes late catches up by a pass of his own") {
  EntityRegistry registry;
  const auto s = registry.subscribe<heal>("heal");
  const Entity early = registry.create(Health{.value = 0});
  registry.push(Update{.dt = 3});
  const Entity late = registry.create(Health{.value = 0});
  registry.push(late, Update{.dt = 3});  // what he missed, to him alone, once
  registry.push(Update{.dt = 1});
  CHECK(registry.get<Health>(early).value == 4);
  CHECK(registry.get<Health>(late).value == 4);
}

TEST_CASE("usagi 28: a handler's signature is its declaration, and can be read; a late one needs no second start") {
  EntityRegistry registry;
  const Entity e = registry.create(Count{}, Armor{});
  registry.push(e, Note{});
  const auto s = registry.subscribe("late", [](const Note&, Count& count, const Armor&, const Health*, With<Armor>,
                                               Without<Frozen>, Parent<const Place*>, Outbox&) { ++count.hits; });
  const Handler& handler = *registry.host().handlers().handlers()[0];
  CHECK(handler.name == "late");
  CHECK(handler.message == TypeTraits<Note>::id);
  CHECK((handler.pushes && !handler.spawns && !handler.writes_message && !handler.once));
  REQUIRE(handler.terms.size() == 6);
  const auto is = [&](std::size_t i, TypeId type, Access access, Presence presence, Source source, bool value) {
    const Term& term = handler.terms[i];
    return term.type == type && term.access == access && term.presence == presence && term.source == source &&
           term.value == value;
  };
  CHECK(is(0, TypeTraits<Count>::id, Access::write, Presence::required, Source::self, true));
  CHECK(is(1, TypeTraits<Armor>::id, Access::read, Presence::required, Source::self, true));
  CHECK(is(2, TypeTraits<Health>::id, Access::read, Presence::optional, Source::self, true));
  CHECK(is(3, TypeTraits<Armor>::id, Access::read, Presence::required, Source::self, false));
  CHECK(is(4, TypeTraits<Frozen>::id, Access::read, Presence::excluded, Source::self, false));
  CHECK(is(5, TypeTraits<Place>::id, Access::read, Presence::optional, Source::parent, true));
  registry.push(e, Note{});
  CHECK(registry.get<Count>(e).hits == 1);
}

TEST_CASE("usagi 29: a script that was compiled with nothing sends and hears messages by their names") {
  EntityRegistry registry;
  registry.add_type<Hit>();  // what the engine has; the script has names and texts
  const auto engine = registry.subscribe<hurt>("hurt");
  const Entity orc = registry.create("orc", Health{});

  struct Ids final : ValueReferences {
    explicit Ids(EntityRegistry& r) : registry(r) {}
    EntityRegistry& registry;
    ValueResult<Entity> find_entity(std::string_view path) override { return registry.find_path(path); }
    std::string text(Text text) override { return std::string(registry.text(text)); }
    ValueResult<Text> intern(std::string_view text) override { return registry.intern(text); }
  };
  const TypeTable& types = registry.types();
  const TypeDescriptor& hit = *types.resolve("Hit");
  Ids ids(registry);
  std::string heard;
  const auto script = registry.subscribe(
      "script", DynamicShape{.message = hit.id, .terms = {{.type = types.find("lineage.Health")->id}}},
      [&](const DynamicCall& call) {
        heard += value_line(types, hit, call.message.data(), ids) + " to " + registry.path(call.self) + "; ";
      });
  const auto value = parse_struct(types, hit, {{"amount", "25"}, {"hard", "true"}, {"other", "/orc"}}, ids);
  REQUIRE(value.has_value());
  BatchBuilder builder;
  std::memcpy(builder.append(PayloadShape{hit.id, hit.size, hit.align}, orc), value->data(), value->size());
  CHECK(registry.host().push_batch(builder.bytes()).handled == 1);
  CHECK(registry.get<Health>(orc).value == 75);
  CHECK(heard == "amount=25 turns=0 hard=true other=1:1 to /orc; ");
}

TEST_CASE("usagi 31: another component type costs an entity nothing that does not have it") {
  EntityRegistry registry;
  const auto before = registry.create_many(5000, Health{}, Place{});
  const std::uint32_t row_bytes = registry.host().storage().find(before[0]).chunk->archetype->row_bytes;
  const auto s = registry.subscribe<heal>("heal");
  add_parts(registry);
  const auto after = registry.create_many(5000, Health{}, Place{});
  const Archetype& archetype = *registry.host().storage().find(after[0]).chunk->archetype;
  CHECK(&archetype == registry.host().storage().find(before[0]).chunk->archetype);
  CHECK(archetype.row_bytes == row_bytes);
  CHECK(row_bytes <= sizeof(Entity) * 2 + sizeof(Health) + sizeof(Place));
  const Entity one = registry.create(Health{});
  give_parts(registry, one);
  CHECK(registry.host().components(one).size() == 1 + part_count);
  registry.push(Update{.dt = 1});
  CHECK(registry.get<Health>(one).value == 101);
  CHECK(registry.entity_count() == 10'001);
}
