#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

/// Every Ping with hops left pushes one with a hop less; each writes its number.
Subscription bouncing(EntityRegistry& registry, std::string& log) {
  return registry.subscribe("bounce", [&log](const game::Ping& ping, const game::Health&, Entity self, Outbox& out) {
    log += std::to_string(ping.hops) + " ";
    if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
  });
}

}  // namespace

TEST_CASE("what handlers post goes to the end of the queue, in message, handler and row order") {
  EntityRegistry registry;
  std::string log;
  const Entity a = registry.create("a", game::Health{}), b = registry.create("b", game::Health{});
  const auto first =
      registry.subscribe("1", [&](const game::Heal& heal, const game::Health&, Entity self, Outbox& out) {
        log += "h";
        out.post(self, game::Ping{.hops = static_cast<std::uint32_t>(heal.amount) * 10 + 1});
      });
  const auto second =
      registry.subscribe("2", [&](const game::Heal& heal, const game::Health&, Entity self, Outbox& out) {
        log += "i";
        out.post(self, game::Ping{.hops = static_cast<std::uint32_t>(heal.amount) * 10 + 2});
      });
  const auto ping =
      registry.subscribe("p", [&](const game::Ping& p, const game::Health&) { log += " " + std::to_string(p.hops); });
  registry.post(a, game::Heal{.amount = 1});
  registry.post(b, game::Heal{.amount = 2});
  registry.flush();
  CHECK(log == "hihi 11 12 21 22");
}

TEST_CASE("structure changes of a handler take effect after all handlers of the message") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  bool alive_later = false, born = false;
  Entity child;
  const auto first =
      registry.subscribe("1", [&](const game::Heal&, const game::Health&, Entity self, Outbox& out, Spawner& spawner) {
        out.destroy(self);
        child = spawner.create(game::Health{.value = 1});
        out.post(child, game::Ping{});
      });
  const auto second = registry.subscribe(
      "2", [&](const game::Heal&, const game::Health& health, Lookup<const game::Health> look, Entity self) {
        alive_later = look.alive(self) && health.value == 100 && !look.alive(child);
      });
  const auto third = registry.subscribe("3", [&](const game::Ping&, const game::Health& h) { born = h.value == 1; });
  registry.push(orc, game::Heal{});
  CHECK(alive_later);
  CHECK(born);
  CHECK_FALSE(registry.alive(orc));
  CHECK(registry.alive(child));
}

TEST_CASE("messages to an entity that dies on the way are dropped and counted, earlier ones arrive") {
  EntityRegistry registry;
  int pings = 0;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("s", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    out.post(self, game::Ping{});
    out.destroy(self);
    out.post(self, game::Ping{});
  });
  const auto p = registry.subscribe("p", [&](const game::Ping&, const game::Health&) { ++pings; });
  registry.push(orc, game::Heal{});
  CHECK(pings == 1);
  CHECK(registry.host().counters().dead == 1);
}

TEST_CASE("a cascade that meets its bound is cut short and delivered first at the next input") {
  EntityRegistry registry({.cascade_messages_max = 3});
  std::string log;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = bouncing(registry, log);
  const auto t = registry.subscribe("t", [&](const game::Heal&, const game::Health&) { log += "heal "; });
  const Receipt receipt = registry.push(orc, game::Ping{.hops = 5});
  CHECK(receipt.cut_short);
  CHECK(log == "5 4 3 2 ");
  CHECK(registry.host().counters().carried == 1);
  CHECK_FALSE(registry.push(orc, game::Heal{}).cut_short);
  CHECK(log == "5 4 3 2 1 0 heal ");
  CHECK(registry.host().counters().overtaken == 0);
}

TEST_CASE("the first cascade that is cut short is warned of, with its message, its handlers and the option") {
  std::vector<std::string> said;
  EntityRegistry registry(
      {.cascade_messages_max = 3, .on_warning = [&](const std::string& sentence) { said.push_back(sentence); }});
  const Entity orc = registry.create("orc", game::Health{});
  const auto echo = registry.subscribe(
      "game.echo", [](const game::Ping& ping, const game::Health&, Entity self, Outbox& out) { out.post(self, ping); });
  const auto look = registry.subscribe("game.look", [](const game::Ping&, const game::Health&) {});
  CHECK(registry.push(orc, game::Ping{}).cut_short);
  CHECK(
      said ==
      std::vector<std::string>{
          "a cascade was cut short after 3 messages (RegistryOptions::cascade_messages_max); the rest, "
          "starting with game.Ping, waits for the next input. \"game.echo\" handles game.Ping and posts messages: does "
          "it ever stop?"});
  CHECK(registry.push(orc, game::Ping{}).cut_short);
  CHECK(said.size() == 1);
}

TEST_CASE("a cascade that is cut short by its bytes is warned of with that option") {
  std::vector<std::string> said;
  EntityRegistry registry(
      {.cascade_bytes_max = 100, .on_warning = [&](const std::string& sentence) { said.push_back(sentence); }});
  const Entity orc = registry.create("orc", game::Health{});
  const auto heal = registry.subscribe("", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    for (int i = 0; i < 100; ++i) out.post(self, game::Ping{});
  });
  CHECK(registry.push(orc, game::Heal{}).cut_short);
  REQUIRE(said.size() == 1);
  CHECK(said[0] ==
        "a cascade was cut short after 100 bytes (RegistryOptions::cascade_bytes_max); the rest, "
        "starting with game.Ping, waits for the next input");
}

TEST_CASE("what exceeds its second budget too goes behind the new message, and is counted") {
  EntityRegistry registry({.cascade_messages_max = 2});
  std::string log;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = bouncing(registry, log);
  const auto t = registry.subscribe("t", [&](const game::Heal&, const game::Health&) { log += "heal "; });
  CHECK(registry.push(orc, game::Ping{.hops = 7}).cut_short);
  CHECK(log == "7 6 5 ");
  CHECK(registry.push(orc, game::Heal{}).cut_short);
  CHECK(log == "7 6 5 4 3 heal 2 1 ");
  CHECK(registry.host().counters().overtaken == 1);
  CHECK_FALSE(registry.flush().cut_short);
  CHECK(log == "7 6 5 4 3 heal 2 1 0 ");
  CHECK_FALSE(registry.flush().cut_short);
}

TEST_CASE("a bound falls inside a batch of many messages without losing or doubling one") {
  EntityRegistry registry({.cascade_messages_max = 7});
  std::uint32_t pings = 0;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("s", [](const game::Spawn& spawn, const game::Health&, Entity self, Outbox& out) {
    for (std::uint32_t i = 0; i < spawn.children; ++i) out.post(self, game::Ping{.hops = i});
  });
  const auto p = registry.subscribe("p", [&](const game::Ping& ping, const game::Health&) {
    CHECK(ping.hops == pings);
    ++pings;
  });
  Receipt receipt = registry.push(orc, game::Spawn{.children = 30});
  int inputs = 1;
  for (; receipt.cut_short; ++inputs) receipt = registry.flush();
  CHECK(pings == 30);
  CHECK(inputs > 1);
}

TEST_CASE("usagi 16: an endless cascade ends at the bound of each input") {
  EntityRegistry registry({.cascade_messages_max = 100});
  std::uint64_t pings = 0;
  const Entity orc = registry.create("orc", game::Health{});
  const auto s = registry.subscribe("s", [&](const game::Ping&, const game::Health&, Entity self, Outbox& out) {
    ++pings;
    out.post(self, game::Ping{});
    out.post(self, game::Ping{});
  });
  CHECK(registry.push(orc, game::Ping{}).cut_short);
  CHECK(pings == 101);
  CHECK(registry.push(orc, game::Heal{}).cut_short);
  CHECK(pings == 301);
}

TEST_CASE("a handler that spawns much for each message of a run finds the entities of the others") {
  EntityRegistry registry;
  const auto spawn = registry.subscribe("spawn", [](const game::Heal&, game::Health& health, Spawner& spawner) {
    health.value += 1;
    for (int i = 0; i < 3000; ++i) spawner.create();  // the table of ids grows more than once
  });
  const std::vector<Entity> all = registry.create_many(40, game::Health{});
  for (const Entity e : all) registry.post(e, game::Heal{});
  CHECK(registry.flush().handled == 40);
  for (const Entity e : all) CHECK(registry.get<game::Health>(e).value == 101);
  CHECK(registry.entity_count() == 40 + 40 * 3000);
}

TEST_CASE(
    "a cascade is bounded in bytes too, wherever its batches end, and what is over is delivered at the next input") {
  // Eight pushes of 4 bytes each; whether causes are recorded moves the batches, not the bound.
  for (const bool causes : {false, true})
    for (std::uint64_t bytes = 1; bytes < 40; ++bytes) {
      CAPTURE(causes, bytes);
      EntityRegistry registry({.cascade_bytes_max = bytes, .on_warning = [](const std::string&) {}});
      registry.profile().record_causes(causes);
      std::string log;
      const Entity e = registry.create("e", game::Health{});
      const auto s = bouncing(registry, log);
      CHECK(registry.push(e, game::Ping{.hops = 8}).cut_short == (bytes <= 28));
      const std::uint64_t fit = std::min<std::uint64_t>(8, (bytes + sizeof(game::Ping) - 1) / sizeof(game::Ping));
      CHECK(log == std::string("8 7 6 5 4 3 2 1 0 ").substr(0, 2 + 2 * fit));
      for (int i = 0; i < 40; ++i) registry.flush();
      CHECK(log == "8 7 6 5 4 3 2 1 0 ");
    }
}

TEST_CASE("tables count by their own lengths in a cascade's bytes") {
  EntityRegistry registry({.cascade_bytes_max = 1000});
  int heard = 0;
  const Entity e = registry.create("e", game::Health{});
  const auto say = registry.subscribe("say", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    for (int i = 0; i < 10; ++i) out.post(self, game::Say{.text = std::string(340, 'x')});
  });
  const auto hear = registry.subscribe("hear", [&](const game::SayView&, const game::Health&) { ++heard; });
  CHECK(registry.push(e, game::Heal{}).cut_short);
  CHECK(heard == 3);  // the third goes over the bound
  registry.flush();   // what was left behind under a budget of its own, then more under the flush's
  CHECK(heard == 9);
}

TEST_CASE("memory of a storm of messages is given back when it is over") {
  EntityRegistry registry;
  registry.create("e", game::Health{}).or_stop();
  const auto storm = registry.subscribe("storm", [](const Update&, const game::Health&, Entity self, Outbox& out) {
    for (std::uint32_t i = 0; i < 6'000'000; ++i) out.post(self, game::Ping{.hops = i});
  });
  registry.push(Update{});
  CHECK(registry.host().memory_waiting() <= 20u << 20);
}

TEST_CASE("a queue that is empty keeps little memory after one burst, and enough for the next if bursts go on") {
  constexpr std::size_t little = 5u << 20, much = 40u << 20;
  EntityRegistry registry;
  const Entity e = registry.create("e", game::Health{});
  const std::vector<Entity> many(8'000'000, e);
  const auto waiting = [&] { return registry.host().memory_waiting(); };
  const auto storm = registry.subscribe("storm", [](const game::Spawn& of, Entity self, Outbox& out) {
    for (std::uint32_t i = 0; i < of.children; ++i) out.post(self, game::Ping{.hops = i});
  });
  const std::vector<std::function<void()>> bursts{
      [&] {
        for (std::uint32_t i = 0; i < 3'000'000; ++i) registry.post(e, game::Ping{.hops = i});
        CHECK(waiting() > much);
        registry.flush();
      },
      [&] { registry.push(e, game::Spawn{.children = 3'000'000}); },
      [&] { registry.push(std::span<const Entity>(many), game::Ping{}); },
      [&] { registry.post(std::span<const Entity>(many), game::Ping{}), registry.flush(); },
      [&] { registry.push(e, game::Say{.text = std::string(60u << 20, 'x')}); },
  };
  const std::vector<std::function<void()>> ticks{
      [&] { registry.post(e, game::Ping{}), registry.flush(); },
      [&] { registry.push(e, game::Spawn{.children = 2}); },
      [&] { registry.push(std::span<const Entity>(&e, 1), game::Ping{}); },
      [&] { registry.post(std::span<const Entity>(&e, 1), game::Ping{}), registry.flush(); },
      [&] { registry.push(e, game::Say{.text = "x"}); },
  };
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    CAPTURE(i);
    bursts[i]();
    CHECK(waiting() < 3 * little);
    bursts[i]();
    CHECK(waiting() > much);
    ticks[i]();
    ticks[i]();
    CHECK(waiting() < 3 * little);
  }
}

TEST_CASE("a batch of tables that was cut goes on at the table where it ended") {
  EntityRegistry registry({.cascade_messages_max = 2});
  std::string log;
  const Entity orc = registry.create("orc", game::Health{});
  const auto talks = registry.subscribe("talks", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    for (const char* text : {"one", "fourteen", "", "two", "three"}) {
      game::Say say;
      say.text = text;
      out.post(self, say);
    }
  });
  const auto ear = registry.subscribe(
      "ear", [&](const game::SayView& say, const game::Health&) { log += std::string(say.text()) + ";"; });
  CHECK(registry.push(orc, game::Heal{}).cut_short);
  CHECK(log == "one;fourteen;");
  registry.flush();
  CHECK(log == "one;fourteen;;two;three;");
}

TEST_CASE("a message to a span counts once for a cascade's bound, however many it reaches") {
  EntityRegistry registry({.cascade_messages_max = 3});
  const std::vector<Entity> all = registry.create_many(10, game::Health{});
  int pings = 0;
  const auto calls = registry.subscribe("calls", [&](const game::Heal&, const game::Health&, Outbox& out) {
    for (int i = 0; i < 3; ++i) out.post(std::span<const Entity>(all), game::Ping{});
  });
  const auto ping = registry.subscribe("ping", [&](const game::Ping&, const game::Health&) { ++pings; });
  CHECK_FALSE(registry.push(all[0], game::Heal{}).cut_short);
  CHECK(pings == 30);
}
