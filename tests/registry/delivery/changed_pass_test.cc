// Passes of messages that a handler changes or consumes: entity by entity, each with its own copy.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

std::string number(float value) { return std::to_string(static_cast<int>(value)); }

}  // namespace

TEST_CASE("a pass goes entity by entity, in row order, if a handler changes its message: the later handlers see that") {
  EntityRegistry registry;
  std::string log;
  const Entity town = registry.create("town", game::Health{.value = 1}, game::Armor{.factor = 0.5f});
  registry.create_under(town, "orc", game::Health{.value = 2}).or_stop();
  registry.create("wall", game::Health{.value = 3}).or_stop();
  Handlers handlers;
  handlers.add(registry.subscribe("a", [&](game::Damage& hit, const game::Armor& armor) {
    log += "a";
    hit.amount *= armor.factor;
  }));
  handlers.add(registry.subscribe("b", [&](const game::Damage& hit, const game::Health& health) {
    log += "b" + number(health.value) + ":" + number(hit.amount) + " ";
  }));
  const Receipt receipt = registry.push(game::Damage{.amount = 8});
  CHECK(receipt.handled == 1);
  CHECK(receipt.refused == 0);
  CHECK(log == "ab1:4 b3:8 b2:8 ");
}

TEST_CASE("a handler that changes a message and matches no entity leaves its passes as they are") {
  EntityRegistry registry;
  int called = 0;
  registry.create("orc", game::Health{}).or_stop();
  const auto other = registry.subscribe("counts", [&](const game::Damage&, const game::Health&) { ++called; });
  const auto foreign = registry.subscribe("plugin", [](game::Damage& hit, With<game::Frozen>) { hit.amount = 0; });
  CHECK(registry.push(game::Damage{}).handled == 1);
  CHECK(called == 1);
}

TEST_CASE("a handler that consumes a pass's message ends it for its entity alone") {
  EntityRegistry registry;
  std::string log;
  registry.create("a", game::Health{.value = 1}, game::Armor{}).or_stop();
  registry.create("b", game::Health{.value = 2}).or_stop();
  registry.create("c", game::Health{.value = 3}, game::Armor{}).or_stop();
  Handlers handlers;
  handlers.add(registry.subscribe("shield", [](const game::Damage&, const game::Armor&) { return Verdict::consume; },
                                  {.priority = -1}));
  handlers.add(registry.subscribe(
      "hurt", [&](const game::Damage&, const game::Health& health) { log += number(health.value); }));
  CHECK(registry.push(game::Damage{}).handled == 1);
  CHECK(log == "2");
}

TEST_CASE("a handler of a table's pass may consume it") {
  EntityRegistry registry;
  std::string log;
  registry.create("a", game::Health{.value = 1}, game::Armor{}).or_stop();
  registry.create("b", game::Health{.value = 2}).or_stop();
  Handlers handlers;
  handlers.add(registry.subscribe("deaf", [](const game::SayView&, const game::Armor&) { return Verdict::consume; }));
  handlers.add(registry.subscribe("ear", [&](const game::SayView& say, const game::Health& health) {
    log += std::string(say.text()) + number(health.value);
  }));
  CHECK(registry.push(game::Say{.text = "hi"}).handled == 1);
  CHECK(log == "hi2");
}

TEST_CASE("a handler without components is called once, at its place, and the entities' copies are made after it") {
  EntityRegistry registry;
  std::string log;
  registry.create("a", game::Health{.value = 1}, game::Armor{}).or_stop();
  registry.create("b", game::Health{.value = 2}).or_stop();
  Handlers handlers;
  handlers.add(registry.subscribe("1", [&](game::Damage& hit) {
    log += "once ";
    hit.amount += 10;
  }));
  handlers.add(registry.subscribe("2", [&](game::Damage& hit, const game::Armor&) { hit.amount += 100; }));
  handlers.add(registry.subscribe("3", [&](game::Damage& hit) {
    log += "once:" + number(hit.amount) + " ";
    hit.amount += 1000;
  }));
  handlers.add(registry.subscribe("4", [&](const game::Damage& hit, const game::Health& health) {
    log += number(health.value) + ":" + number(hit.amount) + " ";
  }));
  CHECK(registry.push(game::Damage{.amount = 1}).handled == 1);
  CHECK(log == "once once:11 1:111 2:1011 ");
}

TEST_CASE("what an entity consumed stays consumed behind a handler without components, which can end the whole pass") {
  EntityRegistry registry;
  std::string log;
  registry.create("a", game::Health{.value = 1}, game::Armor{}).or_stop();
  registry.create("b", game::Health{.value = 2}).or_stop();
  Handlers handlers;
  bool ends = false;
  handlers.add(registry.subscribe("1", [](const game::Damage&, const game::Armor&) { return Verdict::consume; }));
  handlers.add(registry.subscribe("2", [&](const game::Damage&) {
    log += "once ";
    return ends ? Verdict::consume : Verdict::proceed;
  }));
  handlers.add(registry.subscribe(
      "3", [&](const game::Damage&, const game::Health& health) { log += number(health.value) + " "; }));
  registry.push(game::Damage{});
  CHECK(log == "once 2 ");
  ends = true;
  log.clear();
  CHECK(registry.push(game::Damage{}).handled == 1);
  CHECK(log == "once ");
}

TEST_CASE("on_begin of a pass whose message a handler changes is asked once for each handler") {
  EntityRegistry registry;
  std::string log;
  registry.create_many(3, game::Health{});
  Handlers handlers;
  handlers.add(registry.subscribe("1", [](game::Damage& hit, const game::Health&) { hit.amount = 7; },
                                  {.on_begin = [&] { return log += "?", false; }}));
  handlers.add(registry.subscribe("2", [&](const game::Damage& hit, const game::Health&) { log += number(hit.amount); },
                                  {.on_begin = [&] { return log += "!", true; }}));
  registry.push(game::Damage{.amount = 1});
  CHECK(log == "?!111");
  CHECK(registry.host().counters().refused == 0);
}

TEST_CASE("a pass whose message a handler changes has the same result with one and with several workers") {
  std::vector<std::uint64_t> hashes;
  for (const std::uint32_t workers : {1u, 3u}) {
    ThreadPool pool(workers);
    EntityRegistry registry({.executor = workers > 1 ? &pool : nullptr, .pass_serial_below_ns = 0});
    Handlers handlers;
    handlers.add(registry.subscribe(
        "wear", [](game::Damage& hit, const game::Armor& armor) { hit.amount *= armor.factor; }, {.before = {"hurt"}}));
    handlers.add(registry.subscribe("hurt", [](const game::Damage& hit, game::Health& health,
                                               Parent<const game::Health*> up, Entity self, Outbox& out) {
      health.value -= hit.amount + (up ? up->value / 64 : 0);
      if (health.value < 0)
        out.destroy(self);
      else
        out.post(self, game::Heal{.amount = hit.amount / 2});
    }));
    handlers.add(
        registry.subscribe("heal", [](const game::Heal& heal, game::Health& health) { health.value += heal.amount; }));
    for (std::uint32_t i = 0; i < 300; ++i) {
      const Entity tower =
          registry.create(game::Health{.value = static_cast<float>(i % 90)}, game::Armor{.factor = 0.25f});
      registry.create_under(tower, "", game::Health{.value = static_cast<float>(i % 50)}).or_stop();
    }
    for (int i = 0; i < 5; ++i) {
      const Receipt receipt = registry.push(game::Damage{.amount = 8});
      REQUIRE(receipt.handled == 1);
    }
    hashes.push_back(registry.hash());
  }
  CHECK(hashes[0] == hashes[1]);
}
