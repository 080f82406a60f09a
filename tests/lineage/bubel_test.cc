#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/lineage/lineage.h"

namespace bubel_test {

using namespace muster;
using namespace lineage;

namespace {

/// The archetype that holds an entity.
const Archetype& archetype_of(const EntityRegistry& registry, Entity e) {
  return *registry.host().storage().find(e).chunk->archetype;
}

/// Writes `word` for every call.
template <class M>
Subscription logging(EntityRegistry& registry, std::string& log, const std::string& word, HandlerOptions options = {}) {
  return registry.subscribe(word, [&log, word](const M&, const Health&) { log += word; }, std::move(options));
}

}  // namespace

TEST_CASE("bubel 1: an entity's type is the set of its components: no order, no component twice") {
  EntityRegistry registry;
  const Entity a = registry.create(Health{}, Place{}, Frozen{});
  const Entity b = registry.create(Frozen{}, Health{}, Place{});
  const Entity c = registry.create(Place{});
  registry.set(c, Frozen{});
  registry.set(c, Health{.value = 1});
  CHECK(&archetype_of(registry, a) == &archetype_of(registry, b));
  CHECK(&archetype_of(registry, a) == &archetype_of(registry, c));
  registry.set(c, Health{.value = 2});  // it has one: the value is another, the type is not
  CHECK(registry.host().components(c).size() == 3);
  CHECK(registry.get<Health>(c).value == 2);
  CHECK(std::ranges::is_sorted(registry.host().components(a)));
}

TEST_CASE("bubel 2: each type's rows lie in chunks of their own: ids, then one aligned column per component") {
  EntityRegistry registry;
  const auto plain = registry.create_many(3000, Health{}, Place{});
  const auto armed = registry.create_many(3000, Health{}, Place{}, Armor{});
  std::set<const Chunk*> chunks;
  for (const auto* all : {&plain, &armed})
    for (std::size_t i = 0; i < all->size(); ++i) {
      const Entity e = (*all)[i];
      const Row row = registry.host().storage().find(e);
      const Chunk& chunk = *row.chunk;
      chunks.insert(&chunk);
      REQUIRE(chunk.ids()[row.row] == e);  // from a row to its id, and back
      const Archetype& archetype = *chunk.archetype;
      REQUIRE(archetype.has(TypeTraits<Armor>::id) == (all == &armed));
      const std::byte* end = reinterpret_cast<const std::byte*>(chunk.ids() + chunk.capacity);
      for (const std::uint16_t slot :
           {archetype.column(TypeTraits<Health>::id), archetype.column(TypeTraits<Place>::id)}) {
        const std::byte* data = chunk.slots()[slot].data;
        REQUIRE(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
        const std::byte* data_end = data + std::size_t{chunk.capacity} * archetype.slot_bytes[slot];
        REQUIRE((data >= end || data_end <= reinterpret_cast<const std::byte*>(chunk.ids())));
      }
      REQUIRE(reinterpret_cast<const std::byte*>(registry.find<Place>(e)) ==
              chunk.slots()[archetype.column(TypeTraits<Place>::id)].data + row.row * sizeof(Place));
    }
  CHECK(chunks.size() >= 6);
  for (const Chunk* chunk : chunks) CHECK(chunk->count <= chunk_rows_max);
}

TEST_CASE("bubel 3: an id is an index and a counter that grows with every destroy; looking it up is safe") {
  EntityRegistry registry;
  const Entity first = registry.create(Health{});
  const std::uint32_t generation = first.generation;
  registry.destroy(first);
  CHECK(registry.host().storage().ids().slot(first.index).generation == generation + 1);
  CHECK_FALSE(registry.alive(first));
  CHECK(registry.find<Health>(first) == nullptr);
  std::mt19937 random(3);
  for (int i = 0; i < 10'000; ++i) {  // whatever the bits are
    const Entity wild = Entity::from_bits(random() << 32 | random());
    REQUIRE_FALSE(registry.alive(wild));
    REQUIRE(registry.find<Health>(wild) == nullptr);
    REQUIRE(registry.push(wild, Hit{}).dead == 1);
  }
}

TEST_CASE("bubel 4: what a handler holds stays valid until it returns; afterwards the row may be elsewhere") {
  EntityRegistry registry;
  const Entity first = registry.create(Health{.value = 1}), last = registry.create(Health{.value = 2});
  const auto s =
      registry.subscribe("busy", [&](const Note&, Health& health, Entity self, Outbox& out, Spawner& spawner) {
        out.destroy(first);
        out.set(self, Armor{}, Place{});
        for (int i = 0; i < 5000; ++i) spawner.create(Health{});
        health.value += 10;  // nothing of it has happened yet
      });
  const Health* before = registry.find<Health>(last);
  registry.push(last, Note{});
  CHECK_FALSE(registry.alive(first));
  CHECK(registry.get<Health>(last).value == 12);
  CHECK(registry.find<Health>(last) != before);
  CHECK(registry.entity_count() == 5001);
}

TEST_CASE("bubel 5: adding or removing a component moves the entity to another type, after the pass that asked") {
  EntityRegistry registry;
  const auto all = registry.create_many(10, Health{.value = 3}, Place{});
  int seen = 0;
  bool moved_early = false;
  const auto s = registry.subscribe("change", [&](const Update&, const Health&, const Armor* armor, const Place* place,
                                                  Entity self, Outbox& out, Lookup<const Armor> look) {
    ++seen;
    moved_early = moved_early || armor || !place || look.find(all[0]);
    out.set(self, Armor{.factor = 4});
    out.remove<Place>(self);
  });
  const auto after =
      registry.subscribe("later", [&](const Update&, const Armor&) { moved_early = true; }, {.after = {"change"}});
  registry.push(Update{});
  CHECK(seen == 10);
  CHECK_FALSE(moved_early);
  for (const Entity e : all) {
    CHECK(registry.get<Health>(e).value == 3);  // taken along
    CHECK(registry.get<Armor>(e).factor == 4);
    CHECK_FALSE(registry.has<Place>(e));
  }
}

TEST_CASE("bubel 6: an entity that is removed gets what was sent before, and is whole when it gets it") {
  EntityRegistry registry;
  std::string log;
  const auto s = registry.subscribe("leave", [&](const Update&, const Health&, Entity self, Outbox& out) {
    out.set(self, Armor{.factor = 2});
    out.post(self, Note{.number = 1});
    out.destroy(self);
    out.post(self, Note{.number = 2});
  });
  const auto note = registry.subscribe("note", [&](const Note& n, const Health&, const Armor& armor) {
    log += std::to_string(n.number) + (armor.factor == 2 ? "whole " : "torn ");
  });
  registry.create_many(2, Health{});
  registry.push(Update{});
  CHECK(log == "1whole 1whole ");
  CHECK(registry.entity_count() == 0);
  CHECK(registry.host().counters().dead == 2);
}

TEST_CASE("bubel 7: a pass does not meet who is created during it, and no handler is called for nothing") {
  EntityRegistry registry;
  std::size_t rows = 0, empty = 0, calls = 0;
  std::vector<Entity> made;
  const auto spawn = registry.subscribe("spawn", [&](const Update&, const Health&, Spawner& spawner, Outbox& out) {
    made.push_back(spawner.create(Health{}));
    made.push_back(spawner.create(Health{}, Armor{}));  // a type with new entities only
    out.set(made.back(), Place{});                      // the id is good at once
  });
  const auto count = registry.subscribe("zcount", [&](const Update&, std::span<const Health> health) {
    ++calls;
    rows += health.size();
    empty += health.empty();
  });
  registry.push(Update{});
  CHECK(calls == 0);  // nobody is there
  registry.create_many(3, Health{});
  registry.push(Update{});
  CHECK(rows == 3);
  CHECK(registry.entity_count() == 9);
  registry.push(Update{});
  CHECK(rows == 12);
  for (const Entity e : made) registry.destroy(e);  // chunks that have become empty
  registry.push(Update{});
  CHECK(empty == 0);
}

TEST_CASE("bubel 7: threads create at the same time under ids of their own, which they use at once") {
  EntityRegistry registry;
  registry.add_type<Health>();
  constexpr std::uint32_t threads = 4, each = 50;
  const auto hit = registry.subscribe("hit", [](const Hit& h, Health& health) { health.value -= h.amount; });
  std::vector<std::thread> running;
  std::vector<Entity> first;
  for (std::uint32_t t = 0; t < threads; ++t) {
    first.push_back(registry.host().grant(each, t + 1));
    running.emplace_back([lane = registry.host().inbox().open_lane(t + 1), from = first.back(), t] {
      BatchBuilder builder;
      for (std::uint32_t i = 0; i < each; ++i) {
        const Entity e{from.index + i, from.generation};
        builder.append_rows(e, Create{}, Health{.value = static_cast<float>(t * 1000 + i)});
        builder.append(e, Hit{.amount = 1});
      }
      builder.for_each([&](BatchView batch) {
        while (!lane->put(batch.bytes())) std::this_thread::yield();
      });
    });
  }
  for (std::thread& thread : running) thread.join();
  registry.flush();
  CHECK(registry.entity_count() == threads * each);
  for (std::uint32_t t = 0; t < threads; ++t)
    for (std::uint32_t i = 0; i < each; ++i)
      REQUIRE(registry.get<Health>({first[t].index + i, 1}).value == static_cast<float>(t * 1000 + i) - 1);
}

TEST_CASE("bubel 8: values given at a spawn take the place of the template's, the rest is the template's or defaults") {
  EntityRegistry registry;
  TemplateTree tree("orc");
  tree.set("", Health{.value = 30}).set("", Place{});
  registry.define_template(tree);
  const Entity plain = registry.spawn("orc"), strong = registry.spawn("orc", {}, Health{.value = 90}, Armor{});
  CHECK(registry.get<Health>(plain).value == 30);
  CHECK(registry.get<Health>(strong).value == 90);
  CHECK(registry.get<Armor>(strong).factor == 1);
  CHECK(registry.get<Place>(strong).at.y == 2);
  CHECK_FALSE(registry.has<Armor>(plain));
  // A copy under another name.
  TemplateTree copy("copy");
  copy.merge(copy.root(), TemplateTree::read(*registry.host().template_definition("orc")));
  registry.define_template(copy);
  CHECK(registry.get<Health>(registry.spawn("copy")).value == 30);
}

TEST_CASE("bubel 9: components are required, optional or excluded") {
  EntityRegistry registry;
  std::string log;
  const auto s = registry.subscribe(
      "s", [&](const Note&, const Health&, const Armor* armor, Without<Frozen>) { log += armor ? 'A' : '-'; });
  const Entity health = registry.create(Health{}), armed = registry.create(Health{}, Armor{});
  const Entity frozen = registry.create(Health{}, Frozen{}), armor = registry.create(Armor{});
  for (const Entity e : {health, armed, frozen, armor}) registry.push(e, Note{});
  CHECK(log == "-A");
  registry.push(Note{});
  CHECK(log == "-A-A");
}

TEST_CASE("bubel 10: passes group systems, run as often as wanted, and inside one the order is the priority") {
  EntityRegistry registry;
  std::string log;
  const Subscription all[] = {
      logging<Update>(registry, log, "b", {.priority = 2}), logging<Update>(registry, log, "c", {.priority = 1}),
      logging<LateUpdate>(registry, log, "y", {.priority = 1}),
      logging<LateUpdate>(registry, log, "x", {.priority = 7}), logging<GpuUpdate>(registry, log, "g")};
  registry.create(Health{});
  for (int step = 0; step < 3; ++step) registry.push(Update{});  // physics, several times a frame
  registry.push(LateUpdate{});
  CHECK(log == "cbcbcbyx");
  log.clear();
  registry.push(LateUpdate{});  // a frame in which the other pass does not run at all
  registry.push(GpuUpdate{});
  CHECK(log == "yxg");
}

TEST_CASE("bubel 13: without components once per pass, and not at all where on_begin says no") {
  EntityRegistry registry;
  int once = 0, rows = 0;
  bool begin = true;
  const auto a = registry.subscribe("a", [&](const Update&) { ++once; });
  const auto b =
      registry.subscribe("b", [&](const Update&, const Health&) { ++rows; }, {.on_begin = [&] { return begin; }});
  registry.push(Update{});
  CHECK((once == 1 && rows == 0));
  registry.create_many(7, Health{});
  registry.push(Update{});
  CHECK((once == 2 && rows == 7));
  begin = false;
  registry.push(Update{});
  CHECK((once == 3 && rows == 7));
  begin = true;
  registry.push(Update{});
  CHECK(rows == 14);
}

TEST_CASE("bubel 14: what a system is told of its own life and of its entities' lives") {
  std::string log;
  struct System {  // made when it is installed, gone with its subscriptions
    std::string& log;
    Handlers handlers;
    System(EntityRegistry& registry, std::string& to) : log(to) {
      log += "create ";
      handlers.add(registry.subscribe("sys", *this, &System::begin, {.before = {"sys.rows"}}));
      handlers.add(registry.subscribe("sys.rows", *this, &System::update));
      handlers.add(registry.subscribe("sys.end", *this, &System::end, {.after = {"sys.rows"}}));
      handlers.add(registry.subscribe("sys", *this, &System::on_hit));
      handlers.add(registry.subscribe("sys", *this, &System::added));
      handlers.add(registry.subscribe("sys", *this, &System::removed));
      handlers.add(registry.subscribe("sys", *this, &System::changed));
      handlers.add(registry.subscribe("watch", *this, &System::enabled));
    }
    ~System() { log += "destroy"; }
    void begin(const Update&) { log += "begin "; }
    void update(const Update&, std::span<const Health> rows) { log += std::to_string(rows.size()) + "rows "; }
    void end(const Update&) { log += "end "; }
    void on_hit(const Hit&, const Health&) { log += "hit "; }
    void added(const Added<Health>&, const Health&) { log += "added "; }
    void removed(const Removed<Health>&, const Health&) { log += "removed "; }
    void changed(const Changed<Health>&, const Health&) { log += "changed "; }
    void enabled(const EnableHandler& enable) { log += enable.enabled ? "enable " : "disable "; }
  };
  EntityRegistry registry;
  {
    const System system(registry, log);
    const Entity e = registry.create(Health{});
    registry.set(e, Health{.value = 3});
    registry.push(Update{});
    registry.push(e, Hit{});
    registry.set_handler_enabled("sys", false);
    registry.push(e, Hit{});
    registry.set_handler_enabled("sys", true);
    registry.destroy(e);
  }
  CHECK(log == "create added changed begin 1rows end hit disable enable removed destroy");
}

TEST_CASE("bubel 15: an event is a type; who has the components gets it, and nobody knows who sent it") {
  EntityRegistry registry;
  std::string log;
  const auto a = registry.subscribe("a", [&](const Hit&, const Health&, Entity self) { log += registry.name(self); });
  const auto b = registry.subscribe("b", [&](const Hit&, const Armor&, Entity self) {
    log += "armor of ";
    log += registry.name(self);
  });
  const auto relay = registry.subscribe(
      "relay", [](const Note&, const Member& member, Outbox& out) { out.post(member.leader, Hit{}); });
  const Entity orc = registry.create("orc", Health{}, Armor{});
  const Entity man = registry.create("man", Member{.leader = orc});
  registry.push(orc, Hit{});  // from outside
  CHECK(log == "orcarmor of orc");
  log.clear();
  registry.push(man, Note{});  // from a handler
  CHECK(log == "orcarmor of orc");
  log.clear();
  std::thread([lane = registry.host().inbox().open_lane(3), orc] {  // from another thread
    BatchBuilder builder;
    builder.append(orc, Hit{});
    while (!lane->put(builder.bytes())) std::this_thread::yield();
  })
      .join();
  registry.flush();
  CHECK(log == "orcarmor of orc");
}

TEST_CASE("bubel 16: a handler may add and remove entities; what threads have queued comes at the flush") {
  EntityRegistry registry;
  const auto split =
      registry.subscribe("split", [](const Hit& hit, const Health& health, Entity self, Spawner& spawner, Outbox& out) {
        if (health.value > 1) {
          out.post(spawner.create(Health{.value = health.value / 2}), hit);
          out.post(spawner.create(Health{.value = health.value / 2}), hit);
        }
        out.destroy(self);
      });
  const Entity first = registry.create(Health{.value = 64});
  const std::vector lanes{registry.host().inbox().open_lane(1), registry.host().inbox().open_lane(2)};
  BatchBuilder builder;
  builder.append(first, Hit{});
  for (const auto& lane : lanes) REQUIRE(lane->put(builder.bytes()));
  CHECK(registry.alive(first));
  const Receipt receipt = registry.flush();
  CHECK(receipt.handled == 2);  // both reach it: what the first one asked for comes after
  CHECK(registry.entity_count() == 0);
  CHECK(registry.host().counters().refused == 0);
}

TEST_CASE("bubel 17: a system that comes back under its name has its place and state, and meets the types there are") {
  EntityRegistry registry;
  std::string log;
  const Entity e = registry.create(Health{});
  const auto a = logging<Note>(registry, log, "a");
  const auto c = logging<Note>(registry, log, "c");
  {
    const auto old = logging<Note>(registry, log, "b");
    registry.push(e, Note{});
    CHECK(log == "abc");
  }
  log.clear();
  // As after a plugin was loaded anew: other code, the same name.
  const auto again = registry.subscribe("b", [&](const Note&, const Health&) { log += 'B'; });
  registry.push(e, Note{});
  CHECK(log == "aBc");
  registry.set_handler_enabled("late", false);
  const auto late = registry.subscribe("late", [&](const Note&, const Health&) { log += 'l'; });
  log.clear();
  registry.push(e, Note{});
  CHECK(log == "aBc");
  registry.set_handler_enabled("late", true);
  registry.push(e, Note{});
  CHECK(log == "aBcaBcl");
}

TEST_CASE("bubel 18: components without data take no memory; everything is there by run-time ids as well") {
  EntityRegistry registry;
  const Entity plain = registry.create(Health{}), frozen = registry.create(Health{}, Frozen{}, Model{});
  CHECK(archetype_of(registry, plain).row_bytes == archetype_of(registry, frozen).row_bytes);
  CHECK(registry.has<Frozen>(frozen));

  // By ids alone: create, read, handle, follow, write, remove.
  const TypeId health = hash32("lineage.Health"), frozen_id = hash32("lineage.Frozen");
  const TypeDescriptor& note = *registry.types().find("lineage.Note");
  registry.add_type<Note>();
  int called = 0;
  const auto s =
      registry.subscribe("script",
                         DynamicShape{.message = note.id,
                                      .terms = {{.type = health, .access = Access::write},
                                                {.type = frozen_id, .presence = Presence::excluded, .value = false}}},
                         [&](const DynamicCall& call) {
                           ++called;
                           float value = 5;
                           std::memcpy(call.values[0], &value, sizeof value);
                           call.outbox.destroy(frozen);
                         });
  BatchBuilder builder;
  std::memset(builder.append(PayloadShape{note.id, note.size, note.align}, plain), 0, note.size);
  CHECK(registry.host().push_batch(builder.bytes()).handled == 1);
  CHECK(called == 1);
  CHECK_FALSE(registry.alive(frozen));
  float value = 0;
  std::memcpy(&value, registry.find(plain, health), sizeof value);
  CHECK(value == 5);
  SetField set{.component = health, .field = hash32("value"), .bytes = 4};
  value = 6;
  std::memcpy(set.value.data(), &value, sizeof value);
  CHECK(registry.push(plain, set).handled == 1);
  CHECK(registry.get<Health>(plain).value == 6);
  CHECK(registry.push(plain, Remove{.component = health}).handled == 1);
  CHECK(registry.host().components(plain).empty());
}

TEST_CASE(
    "bubel 19: an id leads to its value without a search, and walking reads values that lie one behind the other") {
  EntityRegistry registry;
  auto all = registry.create_many(200'000, Health{.value = 1}, Place{});
  std::ranges::shuffle(all, std::mt19937(5));
  const Storage& storage = registry.host().storage();
  // The speed of both is measured in bench/: alive, get, pass.
  const auto jumps = [](const std::vector<const Health*>& read) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < read.size(); ++i) count += read[i] != read[i - 1] + 1;
    return count;
  };
  std::vector<const Health*> by_id, in_order;
  for (const Entity e : all) {
    const Locator at = storage.ids().slots()[e.index].locator;
    const Chunk* const chunk = storage.chunk(at.chunk());
    const auto* const values =
        reinterpret_cast<const Health*>(chunk->slots()[chunk->archetype->column(TypeTraits<Health>::id)].data);
    REQUIRE(registry.find<Health>(e) == values + at.row());
    by_id.push_back(registry.find<Health>(e));
  }
  registry.each<Health>([&](const Health& health) { in_order.push_back(&health); });
  CHECK(jumps(in_order) < storage.chunk_numbers());
  CHECK(jumps(by_id) > all.size() / 2);
  std::ranges::sort(by_id);
  std::ranges::sort(in_order);
  CHECK(by_id == in_order);
}

}  // namespace bubel_test
