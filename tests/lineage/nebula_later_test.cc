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
#include "tests/lineage/lineage.h"
#include "tests/lineage/parts.h"
#include "tests/lineage/recorder.h"

namespace nebula_later_test {

using namespace muster;
using namespace lineage;
using Catch::Contains;

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
    out.post(self, teleport.move);  // whoever wants the parent's handlers too says so
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
  registry.host().push_batch(builder.bytes());
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
  builder.for_each([&](BatchView batch) { registry.host().push_batch(batch.bytes()); });
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
  const auto lane = registry.host().inbox().open_lane(1);
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
  registry.host().add_sink(seen);
  const auto lane = registry.host().inbox().open_lane(5);  // on this thread
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
  registry.host().remove_sink(seen);
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
  registry.host().add_sink(seen);
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
  registry.host().push_batch(builder.bytes());
  CHECK(std::ranges::equal(kept, builder.bytes()));
  const Entity second = registry.create(Health{});
  const std::vector<Entity> both{orc, second};
  log.clear();
  registry.push(std::span<const Entity>(both), Hit{.amount = 5});  // a copy for each
  CHECK(log == "0:5 0:5 1:6 1:6 2:7 2:7 ");
  registry.host().remove_sink(seen);
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
  registry.define_template(tree);
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
    out.post(self, Note{.number = 1});
    out.destroy(self);
    out.post(self, Note{.number = 2});
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
  editor.host().add_sink(seen);
  const Entity town = editor.create("town");
  const Entity house = editor.create_under(town, "house", Health{.value = 5}, Member{.leader = town});
  editor.set(house, Health{.value = 6});
  editor.create_under(house, "door", Place{}).or_stop();
  editor.reparent(house, {});
  game.add_type<Health>();
  for (const auto& input : seen.inputs) game.host().push_batch(input.bytes);
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
  editor.host().remove_sink(seen);
}

TEST_CASE("nebula 24: several components are added in one move; one that goes is seen by those who clean up") {
  EntityRegistry registry;
  std::string log;
  const auto removed = registry.subscribe("removed", [&](const Removed<Health>&, const Health& health) {
    log += std::to_string(static_cast<int>(health.value)) + " ";
  });
  const Entity e = registry.create(Health{.value = 4});
  const auto archetypes = registry.host().storage().next_archetype();
  registry.set(e, Armor{}, Place{}, Member{}, Frozen{});
  CHECK(registry.host().storage().next_archetype() == archetypes + 1);  // no archetype in between
  CHECK(registry.host().components(e).size() == 5);
  registry.remove<Health>(e);
  registry.set(e, Health{.value = 5});
  registry.destroy(e);
  CHECK(log == "4 5 ");
  // Levels hold descriptions of their components, a table of texts, and columns.
  registry.create("named", Health{}).or_stop();
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

}  // namespace nebula_later_test
