#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "messages/judge/verifier.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/lineage/allocations.h"
#include "tests/lineage/lineage.h"
#include "tests/lineage/parts.h"
#include "tests/lineage/recorder.h"

namespace nebula_test {

using namespace muster;
using namespace lineage;
using Catch::Contains;

namespace {

/// Two subsystems that know nothing: not each other, not the registry.
struct Engine {
  float speed = 2;
  float step(float dt) const { return speed * dt; }
};
struct Screen {
  std::vector<float> drawn;
  void draw(float x) { drawn.push_back(x); }
};

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
  registry.define_template(tree);
  const auto hit = registry.subscribe("hit", [](const Hit& h, Health& health, Entity self, Outbox& out) {
    health.value -= h.amount;
    if (h.hard) out.post(self, Note{});
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
  CHECK(registry.host().components(e).size() == part_count);
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
  STATIC_REQUIRE(std::is_same_v<decltype(registry.host().components(orc)), std::span<const TypeId>>);
  registry.host().add_sink(seen);
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
  registry.host().remove_sink(seen);
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
  registry.host().add_sink(seen);
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
  registry.host().remove_sink(seen);
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
    out.post(self, Note{.number = 2});
  });
  const auto note = registry.subscribe("note", [](const Note& n, Health& health, Entity self, Outbox& out) {
    health.value -= 10;
    if (n.number > 0) out.post(self, Note{.number = n.number - 1});
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
  STATIC_REQUIRE(MessageType<Hit>);
  STATIC_REQUIRE_FALSE(MessageType<Health>);  // a component
  STATIC_REQUIRE_FALSE(MessageType<Vec3>);    // a part of others
  STATIC_REQUIRE_FALSE(MessageType<int>);
  STATIC_REQUIRE(std::is_aggregate_v<Hit>);  // plain fields instead of setters and getters
}

TEST_CASE("nebula 12: the state is a stream of bytes that is written and read back whole") {
  EntityRegistry registry;
  const Entity top = registry.create("top", Health{.value = 3}, Member{});
  registry.create_under(top, "below", Frozen{}, Place{}).or_stop();
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

}  // namespace nebula_test
