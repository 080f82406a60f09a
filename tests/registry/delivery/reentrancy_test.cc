#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"

using namespace muster;
using Catch::Contains;
using test::last_words;

namespace {

/// Pushes one Damage into a registry whose only handler does `what` to that registry.
template <class What>
std::string inside_a_handler(What what) {
  return last_words([&] {
    EntityRegistry registry;
    const Entity orc = registry.create("orc", game::Health{});
    const auto s = registry.subscribe("game.meddler", [&](const game::Damage&, game::Health&) { what(registry, orc); });
    registry.push(orc, game::Damage{});
  });
}

const auto names_the_meddler = Contains(
    "the registry was used inside a handler (\"game.meddler\"); a handler reads through its parameters and changes the "
    "world through "
    "its Outbox, which also subscribes and ends handlers: Outbox::subscribe, Outbox::end");

}  // namespace

TEST_CASE("nebula 21: using the registry inside a handler stops the program and names the handler") {
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { r.push(e, game::Damage{}); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { r.push(Update{}); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { r.post(e, game::Damage{}); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { r.post_at(1, e, game::Damage{}); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { r.flush(); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { r.advance(1); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { r.create(game::Health{}); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { r.destroy(e); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { r.set(e, game::Armor{}); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { r.rename(e, "new"); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { r.host().grant(1, 1); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) {
               const auto inner = r.subscribe("inner", [](const game::Damage&, game::Health&) {});
             }),
             names_the_meddler);
}

TEST_CASE("reading through the registry inside a handler stops the program too") {
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { (void)r.get<game::Health>(e); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { (void)r.find<game::Armor>(e); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { (void)r.has<game::Armor>(e); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { (void)r.find(e, TypeTraits<game::Health>::id); }),
             names_the_meddler);
  CHECK_THAT(
      inside_a_handler([](EntityRegistry& r, Entity) { r.each<const game::Health>([](const game::Health&) {}); }),
      names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { r.each<>([](Entity) {}); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { (void)r.find_path("orc"); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) { (void)r.host().components(e); }), names_the_meddler);
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity) { (void)r.hash(); }), names_the_meddler);
  // What no message changes before its handlers have returned may be asked.
  CHECK_THAT(inside_a_handler([](EntityRegistry& r, Entity e) {
               if (r.alive(e) && r.name(e) == "orc" && r.path(e) == "/orc" && !r.parent(e)) throw 1;
             }),
             Contains("threw"));
}

TEST_CASE("a run of posted messages names the handler too") {
  CHECK_THAT(last_words([] {
               EntityRegistry registry;
               const Entity orc = registry.create("orc", game::Health{});
               const auto s = registry.subscribe(
                   "game.meddler", [&](const game::Damage&, game::Health&) { registry.push(orc, game::Heal{}); });
               for (int i = 0; i < 10; ++i) registry.post(orc, game::Damage{});
               registry.flush();
             }),
             names_the_meddler);
}

TEST_CASE("a pass names the handler too") {
  CHECK_THAT(last_words([] {
               EntityRegistry registry;
               const auto s = registry.subscribe("game.meddler", [&](const Update&) { registry.flush(); });
               registry.push(Update{});
             }),
             names_the_meddler);
}

TEST_CASE("a sink that uses the registry stops the program") {
  struct Meddler : InputSink {
    EntityRegistry* registry = nullptr;
    void on_input(const Envelope&, std::span<const std::byte>) override { registry->flush(); }
  };
  CHECK_THAT(last_words([] {
               EntityRegistry registry;
               Meddler meddler;
               meddler.registry = &registry;
               registry.host().add_sink(meddler);
               registry.push(Update{});
             }),
             Contains("the registry was used inside a handler"));
}

TEST_CASE("an exception in a handler stops the program, naming handler and message") {
  const auto throwing = [](auto thrower) {
    return last_words([&] {
      EntityRegistry registry;
      const Entity orc = registry.create("orc", game::Health{});
      const auto s = registry.subscribe("game.thrower", thrower);
      registry.push(orc, game::Damage{});
    });
  };
  CHECK_THAT(throwing([](const game::Damage&, game::Health&) { throw std::runtime_error("out of mana"); }),
             Contains("\"game.thrower\"") && Contains("game.Damage") && Contains("out of mana"));
  CHECK_THAT(throwing([](const game::Damage&, game::Health&) { throw 42; }),
             Contains("\"game.thrower\"") && Contains("game.Damage"));
}

TEST_CASE("an exception in a handler's on_begin stops the program as well") {
  CHECK_THAT(last_words([] {
               EntityRegistry registry;
               const auto s = registry.subscribe("game.starter", [](const Update&) {},
                                                 {.on_begin = []() -> bool { throw std::runtime_error("not today"); }});
               registry.push(Update{});
             }),
             Contains("\"game.starter\"") && Contains("muster.Update") && Contains("not today"));
}

TEST_CASE("get of a component that is not there stops the program") {
  CHECK_THAT(last_words([] {
               EntityRegistry registry;
               const Entity orc = registry.create("orc", game::Health{});
               (void)registry.get<game::Armor>(orc);
             }),
             Contains("entity #1:1 (/orc) has no game.Armor"));
}

TEST_CASE(
    "who makes rows come, go or move while reading them stops the program; values may change, and posts may wait") {
  const auto while_reading = [](auto what) {
    return last_words([&] {
      EntityRegistry registry;
      std::vector<Entity> all = registry.create_many(3000, game::Health{.value = 1});
      registry.each<const game::Health>([&](Entity e, const game::Health&) { what(registry, e); });
    });
  };
  const auto says_so = Contains("moved during the loop");
  CHECK_THAT(while_reading([](EntityRegistry& r, Entity) { r.create(game::Health{}); }), says_so);
  CHECK_THAT(while_reading([](EntityRegistry& r, Entity e) { r.destroy(e); }), says_so);
  CHECK_THAT(while_reading([](EntityRegistry& r, Entity e) { r.set(e, game::Armor{}); }), says_so);
  CHECK_THAT(while_reading([](EntityRegistry& r, Entity e) { r.remove<game::Health>(e); }), says_so);
  CHECK_THAT(while_reading([](EntityRegistry& r, Entity e) { r.reparent(e, Entity{1, 1}); }), says_so);

  EntityRegistry registry;
  const auto s =
      registry.subscribe("heal", [](const game::Heal& heal, game::Health& health) { health.value += heal.amount; });
  registry.create_many(3000, game::Health{.value = 1});
  registry.each<const game::Health>([&](Entity e, const game::Health&) {
    registry.push(e, game::Heal{.amount = 1});
    registry.post(e, game::Heal{.amount = 2});
  });
  registry.flush();
  registry.each<const game::Health>([&](const game::Health& health) { REQUIRE(health.value == 4); });
}
