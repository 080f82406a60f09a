#include <catch2/catch.hpp>
#include <memory>
#include <optional>

#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "tests/registry/game.h"

namespace subscription_test {

using namespace muster;

namespace {

class Physics {
 public:
  void on_hit(const game::Damage& hit, game::Health& health) {
    health.value -= hit.amount;
    ++hits_;
  }
  void look(const game::Heal&, const game::Health&) const { ++looks_; }
  int hits() const { return hits_; }
  int looks() const { return looks_; }

 private:
  int hits_ = 0;
  mutable int looks_ = 0;
};

void halve(const game::Heal&, game::Health& health) { health.value /= 2; }
void nothing(const game::Heal&, const game::Health&) noexcept {}

}  // namespace

TEST_CASE("a subsystem's member functions are handlers") {
  EntityRegistry registry;
  Physics physics;
  const auto hit = registry.subscribe("physics.hit", physics, &Physics::on_hit);
  const auto look = registry.subscribe("physics.look", std::as_const(physics), &Physics::look);
  const Entity orc = registry.create(game::Health{.value = 10});
  registry.push(orc, game::Damage{.amount = 4});
  registry.push(orc, game::Heal{});
  CHECK(physics.hits() == 1);
  CHECK(physics.looks() == 1);
  CHECK(registry.get<game::Health>(orc).value == 6);
}

TEST_CASE("functions, pointers to them and callable objects are handlers") {
  EntityRegistry registry;
  struct Counter {
    int* calls;
    void operator()(const game::Heal&, const game::Health&) { ++*calls; }
  };
  int calls = 0;
  const auto a = registry.subscribe("a", halve);
  const auto b = registry.subscribe("b", &halve);
  const auto n = registry.subscribe("n", nothing);
  const auto c = registry.subscribe("c", Counter{&calls});
  const auto d = registry.subscribe(
      "d", [n = std::make_unique<int>(0), &calls](const game::Heal&, const game::Health&) { calls += 10 + ++*n; });
  const Entity orc = registry.create(game::Health{.value = 8});
  registry.push(orc, game::Heal{});
  CHECK(registry.get<game::Health>(orc).value == 2);
  CHECK(calls == 12);
}

TEST_CASE("a handler ends with its subscription") {
  EntityRegistry registry;
  const Entity orc = registry.create(game::Health{.value = 8});
  {
    const auto s = registry.subscribe("halve", halve);
    CHECK(registry.push(orc, game::Heal{}).handled == 1);
  }
  CHECK(registry.push(orc, game::Heal{}).unhandled == 1);
  Subscription kept;
  CHECK_FALSE(kept);
  {
    Subscription s = registry.subscribe("halve", halve);
    kept = std::move(s);
    CHECK_FALSE(s);  // NOLINT(bugprone-use-after-move): moved-from is empty by contract
  }
  CHECK(kept);
  CHECK(registry.push(orc, game::Heal{}).handled == 1);
  kept = registry.subscribe("other", halve);  // the old one ends when it is replaced
  CHECK(registry.host().handlers().handlers().size() == 1);
  kept.end();
  kept.end();
  CHECK_FALSE(kept);
  CHECK(registry.push(orc, game::Heal{}).unhandled == 1);
  CHECK(registry.get<game::Health>(orc).value == 2);
}

TEST_CASE("Handlers ends all of a plugin's subscriptions together") {
  EntityRegistry registry;
  const Entity orc = registry.create(game::Health{.value = 8});
  std::optional<Handlers> plugin(std::in_place, registry.subscribe("a", halve), registry.subscribe("b", halve));
  Handlers more;
  more.add(registry.subscribe("c", halve));
  plugin->add(std::move(more));
  CHECK(plugin->size() == 3);
  registry.push(orc, game::Heal{});
  CHECK(registry.get<game::Health>(orc).value == 1);
  plugin.reset();
  CHECK(registry.push(orc, game::Heal{}).unhandled == 1);
}

TEST_CASE("a subscription may outlive its registry") {
  Subscription s;
  {
    EntityRegistry registry;
    s = registry.subscribe("halve", halve);
    CHECK(s);
  }
  CHECK(s);
  s.end();
  CHECK_FALSE(s);
}

TEST_CASE("handlers know archetypes that come later, and those that were there") {
  EntityRegistry registry;
  const Entity before = registry.create(game::Health{.value = 8});
  const auto s = registry.subscribe("halve", halve);
  const Entity after = registry.create(game::Health{.value = 8}, game::Armor{});
  CHECK(registry.push(before, game::Heal{}).handled == 1);
  CHECK(registry.push(after, game::Heal{}).handled == 1);
  registry.remove<game::Armor>(after);
  CHECK(registry.push(after, game::Heal{}).handled == 1);
  registry.remove<game::Health>(after);
  CHECK(registry.push(after, game::Heal{}).unhandled == 1);
}

TEST_CASE(
    "a handler that writes names is refused: a world in which one was no text, or a sibling's, would never open") {
  EntityRegistry registry;
  CHECK_THROWS_WITH(
      (void)registry.subscribe("scribbler", [](const game::Damage&, Name&) {}),
      "handler \"scribbler\" writes muster.Name, which siblings and saved state depend on; use Rename to change names");
  CHECK_THROWS_AS(
      (void)registry.subscribe("script",
                               DynamicShape{.message = TypeTraits<game::Damage>::id,
                                            .terms = {{.type = TypeTraits<Name>::id, .access = Access::write}}},
                               [](const DynamicCall&) {}),
      SetupError);
  const auto reads = registry.subscribe("reader", [](const game::Damage&, const Name&) {});
  CHECK(registry.host().handlers().handlers().size() == 1);
}

TEST_CASE("a handler that comes while others are disabled has its place among those that are called") {
  EntityRegistry registry;
  const Entity orc = registry.create(game::Health{});
  std::string log;
  const auto subscribe = [&](const char* name) {
    return registry.subscribe(name, [&log, name](const game::Damage&, const game::Health&) { log += name; });
  };
  const auto a = subscribe("a"), b = subscribe("b"), d = subscribe("d"), f = subscribe("f");
  for (const char* name : {"a", "d"}) registry.set_handler_enabled(name, false);
  const auto c = subscribe("c"), e = subscribe("e");
  registry.push(orc, game::Damage{});
  CHECK(log == "bcef");
  log.clear();
  for (const char* name : {"a", "d"}) registry.set_handler_enabled(name, true);
  registry.push(orc, game::Damage{});
  CHECK(log == "abcdef");
}

}  // namespace subscription_test
