#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;
using Catch::Contains;

namespace {

/// Subscribes a handler that writes its own name into `log`.
Subscription logging(EntityRegistry& registry, std::string& log, const std::string& name, HandlerOptions options = {}) {
  return registry.subscribe(
      name, [&log, name](const game::Damage&, const game::Health&) { log += name; }, std::move(options));
}

}  // namespace

TEST_CASE("handlers run by priority, then by name, whatever the order of subscription") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  std::string log;
  const Subscription all[] = {logging(registry, log, "c"), logging(registry, log, "a"),
                              logging(registry, log, "z", {.priority = -1}), logging(registry, log, "b"),
                              logging(registry, log, "0", {.priority = 1})};
  registry.push(orc, game::Damage{});
  CHECK(log == "zabc0");
}

TEST_CASE("before and after come first, and names that do not exist are ignored") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  std::string log;
  const Subscription all[] = {logging(registry, log, "a", {.priority = -5, .after = {"c"}}),
                              logging(registry, log, "b", {.before = {"nobody"}}),
                              logging(registry, log, "c", {.priority = 9}),
                              logging(registry, log, "d", {.priority = 10, .before = {"c"}})};
  registry.push(orc, game::Damage{});
  CHECK(log == "bdca");
}

TEST_CASE("unnamed handlers run in the order they were subscribed") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  std::string log;
  const auto one = registry.subscribe("", [&](const game::Damage&, const game::Health&) { log += "1"; });
  const auto two = registry.subscribe("", [&](const game::Damage&, const game::Health&) { log += "2"; });
  registry.push(orc, game::Damage{});
  CHECK(log == "12");
}

TEST_CASE("unnamed handlers of a smaller part run first, whenever they were subscribed") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  std::string log;
  registry.host().begin_part(2);
  const auto last = registry.subscribe("", [&](const game::Damage&, const game::Health&) { log += "2"; });
  registry.host().begin_part(1);
  const auto first = registry.subscribe("", [&](const game::Damage&, const game::Health&) { log += "1"; });
  const auto second = registry.subscribe("", [&](const game::Damage&, const game::Health&) { log += "+"; });
  registry.push(orc, game::Damage{});
  CHECK(log == "1+2");
}

TEST_CASE("a contradiction throws at subscription, naming the circle, and changes nothing") {
  EntityRegistry registry;
  const Entity orc = registry.create("orc", game::Health{});
  std::string log;
  const auto a = logging(registry, log, "a", {.before = {"b"}});
  const auto b = logging(registry, log, "b");
  CHECK_THROWS_AS(logging(registry, log, "c", {.before = {"a"}, .after = {"b"}}), SetupError);
  CHECK_THROWS_WITH(logging(registry, log, "c", {.before = {"a"}, .after = {"b"}}),
                    Contains("circular") && Contains("a") && Contains("b") && Contains("c"));
  CHECK_THROWS_AS(logging(registry, log, "d", {.before = {"d"}}).end(), SetupError);
  registry.push(orc, game::Damage{});
  CHECK(log == "ab");
  CHECK(registry.host().handlers().handlers().size() == 2);
  // The name is free: nothing of the failed ones stayed.
  const auto c = logging(registry, log, "c");
  log.clear();
  registry.push(orc, game::Damage{});
  CHECK(log == "abc");
}

TEST_CASE("a name is taken once per message type") {
  EntityRegistry registry;
  std::string log;
  const auto a = logging(registry, log, "a");
  CHECK_THROWS_WITH(logging(registry, log, "a"), Contains("game.Damage") && Contains("\"a\""));
  CHECK_NOTHROW(registry.subscribe("a", [](const game::Heal&, const game::Health&) {}));
}

TEST_CASE("the handlers after one that changes the message see the change, target by target") {
  EntityRegistry registry;
  const Entity a = registry.create("a", game::Health{}, game::Armor{.factor = 0.5f});
  const Entity b = registry.create("b", game::Health{});
  const auto first = registry.subscribe(
      "armor", [](game::Damage& hit, const game::Armor& armor) { hit.amount *= armor.factor; }, {.before = {"health"}});
  const auto second =
      registry.subscribe("health", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; });
  const Entity both[] = {a, b};
  registry.push(std::span<const Entity>(both), game::Damage{.amount = 20});
  CHECK(registry.get<game::Health>(a).value == 90);
  CHECK(registry.get<game::Health>(b).value == 80);
  registry.post(a, game::Damage{.amount = 20});
  registry.post(b, game::Damage{.amount = 20});
  registry.flush();
  CHECK(registry.get<game::Health>(a).value == 80);
  CHECK(registry.get<game::Health>(b).value == 60);
}

TEST_CASE("a consumed message ends for that target alone") {
  EntityRegistry registry;
  const Entity shielded = registry.create("shielded", game::Health{}, game::Armor{});
  const Entity bare = registry.create("bare", game::Health{});
  const auto shield = registry.subscribe("a", [](const game::Damage&, const game::Armor&) { return Verdict::consume; });
  const auto health = registry.subscribe("b", [](const game::Damage& hit, game::Health& h) { h.value -= hit.amount; });
  const Entity both[] = {shielded, bare};
  CHECK(registry.push(std::span<const Entity>(both), game::Damage{.amount = 5}).handled == 2);
  CHECK(registry.get<game::Health>(shielded).value == 100);
  CHECK(registry.get<game::Health>(bare).value == 95);
}

TEST_CASE("With, Without and optional parameters decide where a handler runs") {
  EntityRegistry registry;
  std::string log;
  const auto with = registry.subscribe("1", [&](const game::Heal&, With<game::Frozen>) { log += "w"; });
  const auto without = registry.subscribe("2", [&](const game::Heal&, Without<game::Frozen>) { log += "o"; });
  const auto maybe = registry.subscribe(
      "3", [&](const game::Heal&, const game::Health*, const game::Armor* armor) { log += armor ? "A" : "-"; });
  const Entity frozen = registry.create(game::Frozen{}, game::Armor{});
  const Entity plain = registry.create(game::Health{});
  registry.push(frozen, game::Heal{});
  CHECK(log == "wA");
  log.clear();
  registry.push(plain, game::Heal{});
  CHECK(log == "o-");
  log.clear();
  registry.set(plain, game::Frozen{});
  registry.push(plain, game::Heal{});
  CHECK(log == "w-");
  CHECK(registry.has<game::Frozen>(plain));
}

TEST_CASE("bubel 9: a filter is asked once per archetype") {
  EntityRegistry registry;
  int asked = 0;
  std::string log;
  HandlerOptions options;
  options.filter = [&](const Archetype& archetype) {
    ++asked;
    return !archetype.has(TypeTraits<game::Frozen>::id);
  };
  const auto s = registry.subscribe("f", [&](const game::Heal&, const game::Health&) { log += "x"; }, options);
  const Entity free = registry.create(game::Health{}), frozen = registry.create(game::Health{}, game::Frozen{});
  const int after = asked;
  for (int i = 0; i < 5; ++i) {
    CHECK(registry.push(free, game::Heal{}).handled == 1);
    CHECK(registry.push(frozen, game::Heal{}).unhandled == 1);
  }
  CHECK(asked == after);
  CHECK(log == "xxxxx");
}

TEST_CASE("bubel 13: on_begin may skip a pass") {
  EntityRegistry registry;
  registry.create(game::Health{});
  bool run = false;
  int calls = 0;
  HandlerOptions options;
  options.on_begin = [&] { return run; };
  const auto s = registry.subscribe("p", [&](const Update&, const game::Health&) { ++calls; }, options);
  registry.push(Update{});
  CHECK(calls == 0);
  run = true;
  registry.push(Update{});
  CHECK(calls == 1);
}

TEST_CASE("whole rows come as spans of equal length") {
  EntityRegistry registry;
  for (int i = 0; i < 3000; ++i) registry.create(game::Health{.value = 1});
  std::size_t rows = 0, calls = 0;
  const auto s =
      registry.subscribe("sum", [&](const Update&, std::span<game::Health> health, std::span<const Entity> ids) {
        REQUIRE(health.size() == ids.size());
        for (game::Health& h : health) h.value += 1;
        rows += ids.size();
        ++calls;
      });
  registry.push(Update{});
  CHECK(rows == 3000);
  CHECK(calls < 100);
  double sum = 0;
  registry.each<const game::Health>([&](const game::Health& h) { sum += h.value; });
  CHECK(sum == 6000);
}

TEST_CASE("Lookup reads any entity by id") {
  EntityRegistry registry;
  const Entity target = registry.create("target", game::Health{.value = 42});
  const Entity asker = registry.create("asker", game::Member{.squad = target});
  float seen = 0;
  const auto s =
      registry.subscribe("ask", [&](const game::Heal&, const game::Member& member, Lookup<const game::Health> look) {
        const game::Health* health = look.find(member.squad);
        seen = health ? health->value : -1;
        CHECK(look.alive(member.squad) == (health != nullptr));
      });
  registry.push(asker, game::Heal{});
  CHECK(seen == 42);
  registry.destroy(target);
  registry.push(asker, game::Heal{});
  CHECK(seen == -1);
}
