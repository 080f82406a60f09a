#include <catch2/catch.hpp>

#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

namespace refusals_test {

using namespace muster;

namespace {

template <class M>
Receipt push_foreign(EntityRegistry& registry, Entity target, const M& message) {
  BatchBuilder builder;
  builder.append(target, message);
  return registry.host().push_batch(builder.front().bytes(), {.session = 7});
}

/// Everything that decides the future but the sequence number, which a refused input takes too.
struct Seen {
  std::uint32_t archetypes;
  std::size_t texts;
  std::uint64_t entities;
  friend bool operator==(const Seen&, const Seen&) = default;
};
Seen look(const EntityRegistry& registry) {
  return {registry.host().storage().next_archetype(), registry.host().texts().size(), registry.entity_count()};
}

}  // namespace

TEST_CASE("a refused Set makes no archetype") {
  EntityRegistry registry;
  registry.add_type<game::Armor>();
  const Entity orc = registry.create("orc", game::Health{});
  const Seen before = look(registry);
  for (const SetMode mode : {SetMode::replace, SetMode::add}) {
    BatchBuilder builder;
    builder.append_rows(orc, Set{.mode = mode}, game::Health{}, game::Armor{});
    const Receipt receipt = registry.host().push_batch(builder.front().bytes(), {.session = 7});
    CHECK(receipt.refused == 1);
    CHECK(look(registry) == before);
  }
}

TEST_CASE("of several batches the receipt has the first refusal, whatever comes behind it") {
  EntityRegistry registry;
  registry.add_type<game::Armor>();
  const Entity orc = registry.create("orc", game::Health{});
  const auto set = [&](SetMode mode, const auto& value) {
    BatchBuilder one;
    one.append_rows(orc, Set{.mode = mode}, value);
    return std::vector<std::byte>(one.bytes().begin(), one.bytes().end());
  };
  std::vector<std::byte> all;
  for (const std::vector<std::byte>& one :
       {set(SetMode::add, game::Health{}), set(SetMode::replace, game::Armor{}), set(SetMode::replace, game::Health{})})
    all.insert(all.end(), one.begin(), one.end());
  const Receipt receipt = registry.host().push_batch(all);
  CHECK(receipt.refused == 2);
  CHECK(receipt.handled == 1);
  CHECK(receipt.refusal.code == RefusalCode::component_there);
  CHECK(receipt.refusal.type == TypeTraits<game::Health>::id);
}

TEST_CASE("a Create of several entities makes no archetype where it is refused for all of them") {
  for (const bool watched : {false, true}) {  // somebody who takes Create: then it goes entity by entity
    EntityRegistry registry;
    registry.add_type<game::Armor>();
    const Entity orc = registry.create("orc", game::Health{});
    const Subscription watcher = watched ? registry.subscribe("watcher", [](const Create&, Entity) {}) : Subscription();
    const Seen before = look(registry);
    const std::vector<Entity> strangers = {orc, Entity{900, 1}, Entity{0, 0}};
    BatchBuilder builder;
    builder.append_rows_shared(strangers, Create{}, game::Armor{});
    for (const std::uint64_t session : {0, 7}) {
      const Receipt receipt = registry.host().push_batch(builder.bytes(), {.session = session});
      CHECK(receipt.refused == strangers.size());
      CHECK(receipt.refusal.code == RefusalCode::id_not_granted);
      CHECK(receipt.refusal.entity == orc);
      CHECK(look(registry) == before);
    }
  }
}

TEST_CASE("a refused Create keeps no text of the suffix it would have taken") {
  EntityRegistry registry;
  const Entity first = registry.host().grant(1, 7);
  registry.create("orc", game::Health{}).or_stop();
  const Seen before = look(registry);
  BatchBuilder builder;
  builder.append_rows(first, Create{.name = text_of("orc"), .clash = NameClash::suffix}, Name{});
  const Receipt receipt = registry.host().push_batch(builder.front().bytes(), {.session = 7});
  CHECK(receipt.refused == 1);
  CHECK(receipt.refusal.code == RefusalCode::kept_by_registry);
  CHECK(look(registry) == before);
}

TEST_CASE("SetField writes a whole array and one element of it") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Slots{});
  SetField all{.component = TypeTraits<game::Slots>::id, .field = hash32("counts"), .bytes = 8};
  for (std::size_t i = 0; i < 8; ++i) all.value[i] = static_cast<std::uint8_t>(i);
  REQUIRE(registry.push(orc, all).handled == 1);
  CHECK(registry.get<game::Slots>(orc).counts[3] == 0x0706);
  SetField one{.component = TypeTraits<game::Slots>::id, .field = hash32("counts[2]"), .bytes = 2};
  one.value[0] = 9;
  REQUIRE(registry.push(orc, one).handled == 1);
  CHECK(registry.get<game::Slots>(orc).counts[2] == 9);
  CHECK(registry.get<game::Slots>(orc).counts[3] == 0x0706);
}

TEST_CASE("a structure message to the world or to a line of entities is refused") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  const Receipt world = registry.push(Destroy{});
  CHECK(world.refused == 1);
  CHECK(world.handled == 0);
  CHECK(world.refusal.code == RefusalCode::wrong_targets);
  CHECK(world.refusal.type == TypeTraits<Destroy>::id);
  const Receipt line = registry.push_subtree(orc, subtree_self | subtree_descendants, Destroy{});
  CHECK(line.refused == 1);
  CHECK(line.refusal.code == RefusalCode::wrong_targets);
  CHECK(registry.alive(orc));
}

TEST_CASE("a handler that changes a structure message changes its target's copy alone") {
  EntityRegistry registry;
  std::vector<std::uint32_t> seen;
  const auto a = registry.subscribe("a", [&](Destroy& message) { ++message.reserved; });
  const auto b = registry.subscribe("b", [&](const Destroy& message) { seen.push_back(message.reserved); });
  const Entity parent = registry.create("parent");
  registry.create_under(parent, "child").or_stop();
  BatchBuilder builder;
  builder.append(parent, Destroy{});
  const std::vector<std::byte> bytes(builder.front().bytes().begin(), builder.front().bytes().end());
  registry.host().push_batch(builder.front().bytes());
  CHECK(seen == std::vector<std::uint32_t>{1, 1});
  CHECK(std::ranges::equal(bytes, builder.front().bytes()));
}

TEST_CASE("a stranger does not choose a timer's number") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  BatchBuilder inner;
  inner.append(orc, game::Damage{});
  const auto timed = [&](std::uint64_t timer) {
    BatchBuilder builder;
    builder.append_timed(100, timer, inner.front());
    return registry.host().push_batch(builder.front().bytes(), {.session = 7});
  };
  CHECK(timed(1000).refused == 1);
  CHECK(timed(0).handled == 1);
  const TimerId next = registry.post_at(100, orc, game::Damage{});
  CHECK(next == 2);
}

TEST_CASE("two timers never have one number") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  const TimerId timer = registry.post_at(100, orc, game::Damage{});
  registry.flush();
  BatchBuilder inner, builder;
  inner.append(orc, game::Damage{});
  builder.append_timed(50, timer, inner.front());
  const Receipt receipt = registry.host().push_batch(builder.front().bytes());
  CHECK(receipt.refused == 1);
  CHECK(receipt.refusal.code == RefusalCode::timer_chosen);
  registry.cancel(timer);
  CHECK(registry.host().timers().empty());
}

TEST_CASE("a grant hands out indices that nobody has, whatever waits before it") {
  EntityRegistry registry;
  std::vector<Entity> spawned;
  const auto s = registry.subscribe("spawn", [&](const game::Spawn& message, Spawner& spawner) {
    for (std::uint32_t i = 0; i < message.children; ++i) spawned.push_back(spawner.create());
  });
  const Entity orc = registry.create("orc");
  registry.post(orc, game::Spawn{.children = 3});
  const Entity first = registry.host().grant(4, 7);
  REQUIRE(spawned.size() == 3);
  for (const Entity e : spawned) CHECK(e.index < first.index);
  CHECK(push_foreign(registry, first, Create{}).handled == 1);
}

TEST_CASE("when a handler ends, the others run in the order they would have had without it") {
  EntityRegistry registry;
  std::string order;
  const auto log = [&](const char* name) { return [&order, name](const game::Ping&) { order += name; }; };
  const auto a = registry.subscribe("a", log("a"), {.after = {"c"}});
  const auto b = registry.subscribe("b", log("b"));
  auto c = registry.subscribe("c", log("c"), {.after = {"b"}});
  const Entity e = registry.create("e");
  registry.push(e, game::Ping{});
  CHECK(order == "bca");
  c.end();
  order.clear();
  registry.push(e, game::Ping{});
  CHECK(order == "ab");
}

TEST_CASE("a push to nobody is no input: what is posted waits on, in one batch") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  const std::uint64_t before = registry.sequence();
  registry.post(orc, game::Damage{});
  CHECK(registry.push(std::span<const Entity>(), game::Damage{}).handled == 0);
  registry.post(orc, game::Damage{});
  registry.flush();
  CHECK(registry.sequence() == before + 2);  // one batch of two posts, and the flush
}

TEST_CASE("an entity is not put before itself") {
  EntityRegistry registry;
  const Entity hall = registry.create(), orc = registry.create_under(hall, "orc");
  registry.create_under(hall, "elf").or_stop();
  CHECK(registry.push(orc, Reparent{.parent = hall, .before = orc}).refused == 1);
  CHECK(registry.child_count(hall) == 2);
}

TEST_CASE("a refused Create gives its id back") {
  EntityRegistry registry;
  const Entity gone = registry.create();
  registry.destroy(gone);
  const std::size_t free = registry.host().storage().ids().free_queue().size();
  const std::size_t indices = registry.host().storage().ids().indices();
  CHECK_FALSE(registry.create_under(gone, "orc"));
  CHECK(registry.host().storage().ids().free_queue().size() + registry.host().storage().ids().indices() >=
        free + indices);
  CHECK(registry.host().storage().ids().free_queue().size() ==
        free + registry.host().storage().ids().indices() - indices);
}

TEST_CASE("the hash tells which handlers are off") {
  EntityRegistry one, other;
  for (EntityRegistry* registry : {&one, &other})
    for (const char* name : {"first", "second"}) registry->intern(name);
  REQUIRE(one.hash() == other.hash());
  one.set_handler_enabled("first", false);
  other.set_handler_enabled("second", false);
  CHECK(one.hash() != other.hash());
}

TEST_CASE("the hash tells which number the next timer gets") {
  EntityRegistry one, other;
  for (EntityRegistry* registry : {&one, &other}) {
    const Entity e = registry->create("e", game::Health{});
    const TimerId timer = registry->post_at(1000, e, game::Ping{});
    registry->flush();
    registry->cancel(timer);
  }
  REQUIRE(one.hash() == other.hash());
  for (EntityRegistry* registry : {&one, &other}) {
    const Entity e = registry->find_path("e");
    if (registry == &one)
      registry->post_at(0, e, game::Ping{});  // due already
    else
      registry->post(e, game::Ping{});
    registry->flush();
  }
  REQUIRE(one.sequence() == other.sequence());
  CHECK(one.hash() != other.hash());
}

}  // namespace refusals_test
