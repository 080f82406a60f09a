#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "messages/judge/verifier.h"
#include "registry/entity_registry.h"
#include "registry/templates/template_tree.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/lineage/allocations.h"
#include "tests/lineage/lineage.h"
#include "tests/lineage/parts.h"

using namespace muster;
using namespace lineage;
using Catch::Contains;

namespace {

struct Recorder final : InputSink {
  struct Input {
    Envelope envelope;
    std::vector<std::byte> bytes;
  };
  std::vector<Input> inputs;
  std::vector<std::pair<std::uint64_t, Receipt>> receipts;  // by request
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.push_back({envelope, {batch.begin(), batch.end()}});
  }
  void on_receipt(const Envelope& envelope, const Receipt& receipt) noexcept override {
    receipts.emplace_back(envelope.request, receipt);
  }
};

/// Two subsystems that know nothing: not each other, not the registry.
struct Engine {
  float speed = 2;
  float step(float dt) const { return speed * dt; }
};
struct Screen {
  std::vector<float> drawn;
  void draw(float x) { drawn.push_back(x); }
};

template <class M>
concept CanBePushed = requires(EntityRegistry& registry, const M& m) { registry.push(Entity{}, m); };

}  // namespace

TEST_CASE("nebula 1: the registry makes, finds, names and tells entities, and calls nobody by itself") {
  EntityRegistry registry, other;
  int calls = 0;
  const auto a = registry.subscribe("a", [&](const Update&, const Health&) { ++calls; });
  const auto b = registry.subscribe("b", [&](const Update&) { ++calls; });
  const Entity orc = registry.create("orc", Health{});
  CHECK(registry.alive(orc));
  CHECK(registry.find_path("/orc") == orc);
  CHECK(registry.name(orc) == "orc");
  CHECK(registry.get<Health>(orc).value == 100);
  registry.set(orc, Armor{});
  registry.flush();
  registry.advance(1'000'000'000);
  CHECK(calls == 0);
  registry.push(Update{});
  CHECK(calls == 2);
  // It is no singleton: another one knows nothing of this one's entities.
  CHECK_FALSE(other.alive(orc));
  CHECK(other.push(orc, Hit{}).dead == 1);
  registry.destroy(orc);
  CHECK_FALSE(registry.alive(orc));
  CHECK_FALSE(registry.find_path("/orc"));
}

TEST_CASE("nebula 2: an old id is recognised when its index has a new tenant") {
  EntityRegistry registry;
  const Entity old = registry.create(Health{});
  registry.destroy(old);
  for (int i = 0; i < 1024; ++i) registry.destroy(registry.create());
  const Entity tenant = registry.create(Health{.value = 7});
  REQUIRE(tenant.index == old.index);
  CHECK(tenant.generation == old.generation + 1);
  CHECK_FALSE(registry.alive(old));
  CHECK(registry.find<Health>(old) == nullptr);
  CHECK(registry.push(old, Hit{}).dead == 1);
  CHECK(registry.get<Health>(tenant).value == 7);
}

TEST_CASE("nebula 3: living rows stay neighbours, whoever dies between them") {
  EntityRegistry registry;
  std::vector<Entity> all = registry.create_many(10'000, Health{}, Place{});
  for (std::size_t i = 0; i < all.size(); i += 3) registry.destroy(all[i]);
  std::vector<const Health*> rows;
  registry.each<Health>([&](const Health& health) { rows.push_back(&health); });
  REQUIRE(rows.size() == 6666);
  std::size_t gaps = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) gaps += rows[i] != rows[i - 1] + 1;
  CHECK(gaps <= rows.size() / 500);  // from chunk to chunk, and nowhere else
}

TEST_CASE("nebula 3: once warm, no create, destroy, message or spawn asks for memory") {
  EntityRegistry registry;
  TemplateTree tree("pair");
  tree.set("", Health{}).set("child", Place{});
  registry.define(tree);
  const auto hit = registry.subscribe("hit", [](const Hit& h, Health& health, Entity self, Outbox& out) {
    health.value -= h.amount;
    if (h.hard) out.push(self, Note{});
  });
  const auto note = registry.subscribe("note", [](const Note&, Health& health) { health.value += 1; });
  const auto update = registry.subscribe("update", [](const Update& u, Health& health) { health.value += u.dt; });
  std::vector<Entity> made(500);
  std::vector<Entity> ids;
  ids.reserve(2);
  const auto round = [&] {
    for (Entity& e : made) e = registry.create(Health{}, Place{});
    for (const Entity e : made) registry.push(e, Hit{.hard = true});
    for (const Entity e : made) registry.post(e, Hit{});
    registry.flush();
    registry.push(std::span<const Entity>(made), Hit{.hard = true});
    registry.push(Update{.dt = 1});
    for (const Entity e : made) registry.set(e, Armor{});
    for (const Entity e : made) registry.destroy(e);
    for (int i = 0; i < 100; ++i) registry.destroy(registry.spawn("pair"));
  };
  for (int i = 0; i < 6; ++i) round();
  const std::uint64_t before = allocations();
  round();
  CHECK(allocations() == before);
  CHECK(before > 100);  // they are counted at all
}

TEST_CASE("nebula 4: an entity takes as many components as there are types, each read with one call") {
  EntityRegistry registry;
  add_parts(registry);
  const Entity e = registry.create();
  REQUIRE(give_parts(registry, e).handled == 1);
  CHECK(registry.components(e).size() == part_count);
  for (int n = 0; n < part_count; ++n) REQUIRE(has_part(registry, e, n));
  CHECK(registry.find<Health>(e) == nullptr);
  // What is read is the row itself, not a copy.
  const Entity orc = registry.create(Health{});
  const auto s = registry.subscribe("hit", [](const Hit& hit, Health& health) { health.value -= hit.amount; });
  const Health& health = registry.get<Health>(orc);
  registry.push(orc, Hit{.amount = 30});
  CHECK(health.value == 70);
  CHECK(&health == registry.find<Health>(orc));
}

TEST_CASE("nebula 5: outside code reads; it changes nothing but by a message, and every message is seen") {
  EntityRegistry registry;
  Recorder seen;
  const Entity orc = registry.create(Health{});
  STATIC_REQUIRE(std::is_same_v<decltype(registry.get<Health>(orc)), const Health&>);
  STATIC_REQUIRE(std::is_same_v<decltype(registry.find<Health>(orc)), const Health*>);
  STATIC_REQUIRE(std::is_same_v<decltype(registry.find(orc, TypeId{})), const std::byte*>);
  STATIC_REQUIRE(std::is_same_v<decltype(registry.components(orc)), std::span<const TypeId>>);
  registry.add_sink(seen);
  const std::uint64_t before = registry.hash();
  (void)registry.path(orc);
  registry.each<Health>([](const Health&) {});
  registry.flush();
  CHECK(seen.inputs.empty());
  CHECK(registry.hash() == before);
  registry.set(orc, Health{.value = 1});
  registry.rename(orc, "orc");
  registry.reparent(orc, {});
  registry.remove<Health>(orc);
  CHECK(registry.hash() != before);
  CHECK(seen.inputs.size() == 5);  // with the text of the name
  registry.remove_sink(seen);
}

TEST_CASE("nebula 6: a handler is subscribed to a message type and component types") {
  EntityRegistry registry;
  struct Physics {
    int hits = 0;
    void on_hit(const Hit& hit, Health& health) {
      ++hits;
      health.value -= hit.amount;
    }
  } physics;
  const Entity orc = registry.create(Health{}), rock = registry.create(Armor{});
  {
    const auto s = registry.subscribe("physics.hit", physics, &Physics::on_hit);
    CHECK(registry.push(orc, Hit{.amount = 10}).handled == 1);
    CHECK(registry.push(rock, Hit{.amount = 10}).unhandled == 1);  // lacks the component
    CHECK(registry.push(orc, Note{}).unhandled == 1);              // another message
  }
  CHECK(registry.push(orc, Hit{.amount = 10}).unhandled == 1);  // the subscription is gone
  CHECK(physics.hits == 1);
  CHECK(registry.get<Health>(orc).value == 90);
}

TEST_CASE("nebula 7: a message is a few aligned bytes with its 32-bit type id before them") {
  EntityRegistry registry;
  Recorder seen;
  bool aligned = true;
  std::vector<std::uint64_t> values;
  const auto s = registry.subscribe("wide", [&](const Wide& wide, const Health&) {
    aligned = aligned && reinterpret_cast<std::uintptr_t>(&wide) % 16 == 0;
    values.push_back(wide.a + wide.b);
  });
  const Entity orc = registry.create(Health{});
  registry.add_sink(seen);
  registry.post(orc, Hit{.amount = 4, .turns = -1, .other = orc});
  for (std::uint64_t i = 0; i < 3; ++i) registry.post(orc, Wide{.a = i, .b = 10});
  registry.post(orc, Note{});
  registry.flush();
  CHECK(aligned);
  CHECK(values == std::vector<std::uint64_t>{10, 11, 12});
  REQUIRE(seen.inputs.size() == 4);  // with the flush itself
  STATIC_REQUIRE(std::is_same_v<TypeId, std::uint32_t>);
  const BatchView hit(seen.inputs[0].bytes), wides(seen.inputs[1].bytes);
  CHECK(hit.type() == TypeTraits<Hit>::id);
  CHECK(wides.type() == TypeTraits<Wide>::id);
  CHECK(wides.count() == 3);  // one id for a run of them
  const Hit expected{.amount = 4, .turns = -1, .other = orc};
  CHECK(std::memcmp(hit.payload(0), &expected, sizeof expected) == 0);
  registry.remove_sink(seen);
}

TEST_CASE("nebula 8: a message goes to one entity, to several, to everybody, or to a line of the tree") {
  EntityRegistry registry;
  std::string log;
  const auto s =
      registry.subscribe("note", [&](const Note&, const Health&, Entity self) { log += registry.name(self); });
  const Entity a = registry.create("a", Health{}), b = registry.create_under(a, "b", Health{});
  const Entity c = registry.create("c", Health{});
  const std::vector<Entity> two{c, a};
  registry.push(b, Note{});
  log += '|';
  CHECK(registry.push(std::span<const Entity>(two), Note{}).handled == 2);
  log += '|';
  registry.push(Note{});
  log += '|';
  registry.push_subtree(b, subtree_ancestors | subtree_self, Note{});
  CHECK(log == "b|ca|acb|ab");
}

TEST_CASE("nebula 9: subscribers have run when push returns, and what they pushed has too") {
  EntityRegistry registry;
  const auto hit = registry.subscribe("hit", [](const Hit& h, Health& health, Entity self, Outbox& out) {
    health.value -= h.amount;
    out.push(self, Note{.number = 2});
  });
  const auto note = registry.subscribe("note", [](const Note& n, Health& health, Entity self, Outbox& out) {
    health.value -= 10;
    if (n.number > 0) out.push(self, Note{.number = n.number - 1});
  });
  const Entity orc = registry.create(Health{});
  registry.push(orc, Hit{.amount = 5});
  CHECK(registry.get<Health>(orc).value == 65);
}

TEST_CASE("nebula 10: the sender names a time in the future, and the message comes then and not before") {
  EntityRegistry registry;
  std::vector<std::uint64_t> at;
  const auto s =
      registry.subscribe("note", [&](const Note&, const Health&, Outbox& out) { at.push_back(out.now_ns()); });
  const Entity orc = registry.create(Health{});
  registry.post_at(500, orc, Note{});
  registry.post_at(200, orc, Note{});
  registry.flush();
  registry.advance(199);
  CHECK(at.empty());
  registry.advance(1);
  CHECK(at == std::vector<std::uint64_t>{200});
  registry.advance(1000);
  CHECK(at == std::vector<std::uint64_t>{200, 500});
}

TEST_CASE("nebula 11: message classes are generated: defaults are set, and the compiler knows what a message is") {
  const Hit hit;
  CHECK(hit.amount == 1.5f);
  CHECK(Place{}.at.y == 2);
  CHECK(Member{}.team == Team::blue);
  CHECK(Say{}.volume == 2);
  CHECK(Hit{.turns = 3}.amount == 1.5f);
  STATIC_REQUIRE(CanBePushed<Hit>);
  STATIC_REQUIRE_FALSE(CanBePushed<Health>);  // a component
  STATIC_REQUIRE_FALSE(CanBePushed<Vec3>);    // a part of others
  STATIC_REQUIRE_FALSE(CanBePushed<int>);
  STATIC_REQUIRE(std::is_aggregate_v<Hit>);  // plain fields instead of setters and getters
}

TEST_CASE("nebula 12: the state is a stream of bytes that is written and read back whole") {
  EntityRegistry registry;
  const Entity top = registry.create("top", Health{.value = 3}, Member{});
  registry.create_under(top, "below", Frozen{}, Place{});
  registry.post(top, Hit{});
  registry.post_at(99, top, Note{});
  KeptRows rows;
  registry.save(rows);
  EntityRegistry loaded;
  REQUIRE(loaded.load(rows));
  CHECK(loaded.hash() == registry.hash());
  CHECK(loaded.get<Health>(loaded.find_path("/top")).value == 3);
  for (EntityRegistry* each : {&registry, &loaded}) {
    const auto s = each->subscribe("hit", [](const Hit& h, Health& health) { health.value -= h.amount; });
    each->advance(100);
  }
  CHECK(loaded.get<Health>(top).value == 1.5f);
  CHECK(loaded.hash() == registry.hash());
}

TEST_CASE("nebula 13: the registry carries data between subsystems that know neither each other nor the registry") {
  Engine engine;
  Screen screen;
  {
    EntityRegistry registry;
    const auto move = registry.subscribe(
        "move", [&engine](const Update& u, Place& place) { place.at.x += engine.step(u.dt); }, {.priority = 1});
    const auto draw = registry.subscribe(
        "draw", [&screen](const Update&, const Place& place) { screen.draw(place.at.x); }, {.priority = 2});
    registry.create(Place{.at = {.x = 10}});
    registry.push(Update{.dt = 3});
  }
  CHECK(screen.drawn == std::vector<float>{16});
  CHECK(engine.step(2) == 4);  // alone
}

TEST_CASE("nebula 14: defaults are zero and false or what the schema says; a message may hold another one first") {
  const Hit hit;
  CHECK((hit.turns == 0 && !hit.hard && !hit.other));
  CHECK(hit.amount == 1.5f);
  STATIC_REQUIRE(offsetof(Teleport, move) == 0);
  STATIC_REQUIRE(TypeTraits<Teleport>::id != TypeTraits<Move>::id);
  EntityRegistry registry;
  std::string log;
  const auto m = registry.subscribe("move", [&](const Move& move, Place& place) {
    place.at = move.to;
    log += 'm';
  });
  const auto t = registry.subscribe("teleport", [&](const Teleport& teleport, Place& place, Entity self, Outbox& out) {
    place.at = teleport.move.to;
    log += 't';
    out.push(self, teleport.move);  // whoever wants the parent's handlers too says so
  });
  const Entity e = registry.create(Place{});
  registry.push(e, Move{.to = {.x = 7}});
  CHECK(log == "m");
  CHECK(registry.push(e, Teleport{.move = {.to = {.x = 8}}}).handled == 1);
  CHECK(log == "mtm");
  CHECK(registry.get<Place>(e).at.x == 8);
}

TEST_CASE(
    "nebula 15: an id is the hash of a name: ids and names lead to each other, and a default value is made by id") {
  EntityRegistry registry;
  registry.add_type<Hit>();
  const TypeTable& types = registry.types();
  STATIC_REQUIRE(TypeTraits<Hit>::id == hash32("lineage.Hit"));  // of nothing else: a new message moves no id
  REQUIRE(types.find("lineage.Hit") != nullptr);
  CHECK(types.find("lineage.Hit")->id == TypeTraits<Hit>::id);
  CHECK(types.find(TypeTraits<Hit>::id)->name == "lineage.Hit");
  CHECK(types.resolve("Hit") == types.find("lineage.Hit"));
  CHECK(types.find(12345) == nullptr);
  CHECK(types.find("lineage.Hurt") == nullptr);
  const TypeDescriptor& type = *types.find(TypeTraits<Hit>::id);
  const Hit hit;
  REQUIRE(type.default_bytes.size() == sizeof hit);
  CHECK(std::memcmp(type.default_bytes.data(), &hit, sizeof hit) == 0);
  // The value made by id is a message like any other.
  BatchBuilder builder;
  const Entity e = registry.create(Health{});
  std::memcpy(builder.append(PayloadShape{type.id, type.size, type.align}, e), type.default_bytes.data(), type.size);
  float amount = 0;
  const auto s = registry.subscribe("hit", [&](const Hit& h, const Health&) { amount = h.amount; });
  registry.push_batch(builder.bytes());
  CHECK(amount == 1.5f);
}

TEST_CASE("nebula 16: bytes that are too short are refused whole; strings and arrays carry their lengths") {
  EntityRegistry registry;
  registry.add_type<Say>();
  BatchBuilder builder;
  builder.append(Entity{1, 1}, Hit{.amount = 2});
  std::string text;
  const std::vector<std::byte> say = encode(Say{.text = std::string("a\0b", 3), .words = {"", "two"}, .volume = 3});
  builder.append_table(TypeTraits<Say>::id, Entity{1, 1}, say);
  builder.for_each([&](BatchView batch) {
    CHECK(verify_batch(batch.bytes(), registry.types()));
    for (std::size_t bytes = 0; bytes < batch.bytes().size(); ++bytes) {
      const auto judged = verify_batch(batch.bytes().first(bytes), registry.types());
      REQUIRE_FALSE(judged.has_value());
    }
  });
  const auto s = registry.subscribe("say", [&](const SayView& view, Entity) {
    text = std::string(view.text());
    for (const std::string_view word : view.words()) text += "," + std::string(word);
  });
  registry.create();
  builder.for_each([&](BatchView batch) { registry.push_batch(batch.bytes()); });
  CHECK(text == std::string("a\0b,,two", 8));
  // What does not leave the process says so in its schema.
  CHECK(registry.types().find("lineage.Inner")->remote == RemoteRight::none);
  CHECK(registry.types().find("lineage.Inner")->journal == JournalPolicy::never);
  CHECK(registry.types().find("lineage.Hit")->remote == RemoteRight::edit);
}

TEST_CASE("nebula 17: who pushes learns whether it was handled; a name is taken once; posting is the queue") {
  EntityRegistry registry;
  std::string log;
  const auto b = registry.subscribe("b", [&](const Hit&, const Health&) { log += 'b'; });
  const auto a = registry.subscribe("a", [&](const Hit&, const Health&) { log += 'a'; });
  CHECK_THROWS_WITH(registry.subscribe("a", [](const Hit&) {}), Contains("lineage.Hit") && Contains("\"a\""));
  const Entity orc = registry.create(Health{});
  CHECK(registry.push(orc, Hit{}).handled == 1);
  CHECK(log == "ab");
  CHECK(registry.push(orc, Note{}).unhandled == 1);  // of no interest to anybody, and no error
  registry.post(orc, Hit{});
  CHECK(log == "ab");
  CHECK(registry.flush().handled == 1);
  CHECK(log == "abab");
  // The queue between threads is a lane of the inbox.
  const auto lane = registry.inbox().open_lane(1);
  BatchBuilder builder;
  builder.append(orc, Hit{});
  REQUIRE(lane->put(builder.bytes()));
  CHECK(log == "abab");
  registry.flush();
  CHECK(log == "ababab");
}

TEST_CASE("nebula 18: a lane is first in, first out; every request is answered once; a timer can be cancelled") {
  EntityRegistry registry;
  Recorder seen;
  std::vector<std::uint32_t> order;
  const auto s = registry.subscribe("note", [&](const Note& note, const Health&) { order.push_back(note.number); });
  const Entity orc = registry.create(Health{}), rock = registry.create(), dead = registry.create();
  registry.destroy(dead);
  registry.add_sink(seen);
  const auto lane = registry.inbox().open_lane(5);  // on this thread: nothing needs a second one
  std::uint64_t request = 100;
  BatchBuilder builder;
  for (const Entity target : {orc, rock, dead, orc}) {
    builder.clear();
    builder.append(target, Note{.number = static_cast<std::uint32_t>(request)});
    REQUIRE(lane->put(builder.bytes(), request++));
  }
  registry.flush();
  CHECK(order == std::vector<std::uint32_t>{100, 103});
  REQUIRE(seen.receipts.size() == 4);
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(seen.receipts[i].first == 100 + i);
  CHECK(seen.receipts[0].second.handled == 1);
  CHECK(seen.receipts[1].second.unhandled == 1);
  CHECK(seen.receipts[2].second.dead == 1);
  // What was not handled yet and has a number can be taken back.
  const TimerId timer = registry.post_at(10, orc, Note{.number = 7});
  registry.post_at(10, orc, Note{.number = 8});
  registry.flush();
  registry.cancel(timer);
  registry.advance(10);
  CHECK(order.back() == 8);
  CHECK(order.size() == 3);
  registry.remove_sink(seen);
}

TEST_CASE("nebula 19: handlers without names run in the order of subscription, and what was sent does not change") {
  EntityRegistry registry;
  Recorder seen;
  std::string log;
  Subscription all[3];
  for (int i = 0; i < 3; ++i)
    all[i] = registry.subscribe("", [&log, i](Hit& hit, const Health&) {
      log += std::to_string(i) + ":" + std::to_string(static_cast<int>(hit.amount)) + " ";
      hit.amount += 1;  // its own copy: the handlers after it see that, the bytes that were sealed do not
    });
  const Entity orc = registry.create(Health{});
  registry.add_sink(seen);
  registry.post(orc, Hit{.amount = 5});
  registry.post(orc, Hit{.amount = 5});
  registry.flush();
  CHECK(log == "0:5 1:6 2:7 0:5 1:6 2:7 ");
  BatchBuilder builder;
  builder.append(orc, Hit{.amount = 5});
  builder.append(orc, Hit{.amount = 5});
  CHECK(std::ranges::equal(seen.inputs[0].bytes, builder.bytes()));
  // Nor do those of a sender who keeps them.
  builder.seal();
  const std::vector<std::byte> kept(builder.bytes().begin(), builder.bytes().end());
  registry.push_batch(builder.bytes());
  CHECK(std::ranges::equal(kept, builder.bytes()));
  const Entity second = registry.create(Health{});
  const std::vector<Entity> both{orc, second};
  log.clear();
  registry.push(std::span<const Entity>(both), Hit{.amount = 5});  // a copy for each
  CHECK(log == "0:5 0:5 1:6 1:6 2:7 2:7 ");
  registry.remove_sink(seen);
}

TEST_CASE("nebula 20: an entity is activated when it has all its components, and loaded when the whole tree has") {
  EntityRegistry registry;
  std::string log;
  const auto a = registry.subscribe("a", [&](const Activated&, const Health& h, const Place&, Entity self) {
    log += "activated " + std::string(registry.name(self)) + " " + std::to_string(static_cast<int>(h.value)) + "; ";
  });
  const auto l = registry.subscribe("l", [&](const Loaded&, const Member& member, Lookup<const Health> look) {
    log += look.find(member.leader) ? "loaded; " : "too early; ";
  });
  TemplateTree tree("squad");
  tree.set("man", Member{}).set("leader", Health{.value = 9}).set("leader", Place{});
  tree.refer("man", &Member::leader, "leader");
  registry.define(tree);
  const Entity squad = registry.spawn("squad");
  CHECK(log == "activated leader 9; loaded; ");
  // Components come and go at any time: a message each, and whoever cares follows.
  const auto added = registry.subscribe("added", [&](const Added<Armor>&, const Armor&) { log += "armed; "; });
  const auto removed = registry.subscribe("removed", [&](const Removed<Armor>&, const Armor&) { log += "disarmed; "; });
  const Entity leader = registry.find_child(squad, "leader");
  log.clear();
  registry.set(leader, Armor{});
  registry.remove<Armor>(leader);
  CHECK(log == "armed; disarmed; ");
  // A world that is read back is complete before anybody is told; it was activated in its first life.
  KeptRows rows;
  registry.save(rows);
  EntityRegistry loaded;
  int again = 0;
  const auto s = loaded.subscribe("a", [&](const Activated&, Entity) { ++again; });
  REQUIRE(loaded.load(rows));
  CHECK(loaded.entity_count() == 3);
  CHECK(again == 0);
}

TEST_CASE("nebula 21: who is removed works until the message that removes it is delivered") {
  EntityRegistry registry;
  std::string log;
  const auto first = registry.subscribe("1", [&](const Hit&, const Health&, Entity self, Outbox& out) {
    out.push(self, Note{.number = 1});
    out.destroy(self);
    out.push(self, Note{.number = 2});
  });
  const auto second = registry.subscribe("2", [&](const Hit&, const Health&, Entity self, Lookup<const Health> look) {
    log += look.alive(self) ? "alive " : "gone ";
  });
  const auto note = registry.subscribe("n", [&](const Note& n, const Health&) { log += std::to_string(n.number); });
  std::vector<Entity> all;
  for (int i = 0; i < 5; ++i) all.push_back(registry.create(Health{}));
  // A walk over all of them is not disturbed by those that it removes.
  int walked = 0;
  const auto pass = registry.subscribe("pass", [&](const Update&, const Health&, Entity self, Outbox& out) {
    ++walked;
    if (self.index % 2) out.destroy(self);
  });
  registry.push(all[0], Hit{});
  CHECK(log == "alive 1");
  CHECK_FALSE(registry.alive(all[0]));
  registry.push(Update{});
  CHECK(walked == 4);
  CHECK(registry.entity_count() == 2);
}

TEST_CASE("nebula 23: the same edits make the same world elsewhere, ids included; their inverses take them back") {
  EntityRegistry editor, game;
  Recorder seen;
  editor.add_sink(seen);
  const Entity town = editor.create("town");
  const Entity house = editor.create_under(town, "house", Health{.value = 5}, Member{.leader = town});
  editor.set(house, Health{.value = 6});
  editor.create_under(house, "door", Place{});
  editor.reparent(house, {});
  game.add_type<Health>();
  for (const auto& input : seen.inputs) game.push_batch(input.bytes);
  CHECK(game.hash() == editor.hash());
  CHECK(game.get<Member>(house).leader == town);  // no table from the one world's ids to the other's
  // Backwards: each edit's pre-image, in reverse order.
  const auto settled = [](EntityRegistry& registry, Entity e) {
    return std::pair(registry.get<Health>(e).value, registry.path(e));
  };
  const auto before = settled(editor, house);
  editor.set(house, Health{.value = 7});
  editor.rename(house, "ruin");
  editor.reparent(house, town);
  editor.reparent(house, {});
  editor.rename(house, "house");
  editor.set(house, Health{.value = 6});
  CHECK(settled(editor, house) == before);
  editor.remove_sink(seen);
}

TEST_CASE("nebula 24: several components are added in one move; one that goes is seen by those who clean up") {
  EntityRegistry registry;
  std::string log;
  const auto removed = registry.subscribe("removed", [&](const Removed<Health>&, const Health& health) {
    log += std::to_string(static_cast<int>(health.value)) + " ";
  });
  const Entity e = registry.create(Health{.value = 4});
  const auto archetypes = registry.storage().next_archetype();
  registry.set(e, Armor{}, Place{}, Member{}, Frozen{});
  CHECK(registry.storage().next_archetype() == archetypes + 1);  // no archetype in between
  CHECK(registry.components(e).size() == 5);
  registry.remove<Health>(e);
  registry.set(e, Health{.value = 5});
  registry.destroy(e);
  CHECK(log == "4 5 ");
  // Levels hold descriptions of their components, a table of texts, and columns.
  registry.create("named", Health{});
  KeptRows rows;
  registry.save(rows);
  std::size_t schemas = 0, texts = 0, columns = 0;
  for (const auto& [key, bytes] : rows.kept) {
    schemas += key.section == StateSection::schema;
    texts += key.section == StateSection::texts;
    columns += key.section == StateSection::columns && key.column == TypeTraits<Health>::id;
  }
  CHECK((schemas > 0 && texts > 0));
  CHECK(columns == 1);
}
