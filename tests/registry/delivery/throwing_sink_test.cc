// A sink that cannot take an input throws: the input does not happen, whichever way it came in. Nothing is half told, nothing told
// twice, and a registry that never saw the refused inputs is in the same state.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"

namespace throwing_sink_test {

using namespace muster;
using namespace game;

namespace {

/// Keeps what it took, and refuses from a given input on, for so many.
struct Journal final : InputSink {
  struct Full {};
  bool receipts = false;
  int takes = 1 << 30;  ///< inputs, before it is full
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> kept;
  std::vector<std::uint64_t> withdrawn;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    if (takes == 0) throw Full{};
    --takes;
    kept.emplace_back(envelope.sequence, std::vector<std::byte>(batch.begin(), batch.end()));
  }
  void on_withdrawn(const Envelope& envelope) noexcept override {
    withdrawn.push_back(envelope.sequence);
    kept.pop_back();
    ++takes;
  }
  bool wants_receipts(InputKind) const noexcept override { return receipts; }
};

/// A world with handlers that post, create and die, and sinks before and behind the journal that may be full.
struct World {
  explicit World(bool shortcuts, bool several)
      : registry({.shortcuts = shortcuts}),
        handlers(
            registry.subscribe("hit",
                               [](const Damage& hit, Health& health, Entity self, Outbox& out) {
                                 health.value -= hit.amount;
                                 if (health.value <= 0) out.destroy(self);
                               }),
            registry.subscribe("spawn", [](const game::Spawn& spawn, const Health&, Entity self, Spawner& spawner) {
              for (std::uint32_t i = 0; i < spawn.children; ++i) spawner.create_under(self, "", Health{.value = 3});
            })) {
    if (several) registry.host().add_sink(first);
    registry.host().add_sink(journal);
    if (several) registry.host().add_sink(last);
    a = registry.create("a", Health{}, Armor{});
    b = registry.create("b", Health{.value = 5});
    TemplateTree tree("barrack");
    tree.set("", Health{.value = 9});
    registry.define_template(tree);
    TemplateTree yard("yard");
    yard.set("gate", Health{.value = 9}).set("gate/bolt", Count{}).set("well", Count{});
    registry.define_template(yard);
    // Some ids come from the queue of used ones, some are fresh.
    for (const Entity e : registry.create_many(1030, Count{})) registry.destroy(e);
    registry.create(Health{});  // learned by the direct ways
    registry.destroy(registry.create(Health{}, Count{}));
    registry.create_many(2, Count{});
    registry.set(a, Count{});
    registry.remove<Count>(a);
    registry.push(a, Heal{});
  }
  ~World() {
    registry.host().remove_sink(journal);
    registry.host().remove_sink(first);
    registry.host().remove_sink(last);
  }
  Journal first, journal, last;
  EntityRegistry registry;
  Handlers handlers;
  Entity a, b;
};

struct WayIn {
  std::string name;
  std::function<void(World&)> go;
};
std::vector<WayIn> ways_in() {
  return {
      {"push to one entity", [](World& w) { w.registry.push(w.a, Damage{.amount = 1}); }},
      {"push to a span", [](World& w) { w.registry.push(std::vector<Entity>{w.a, w.b}, Damage{.amount = 9}); }},
      {"push to the world", [](World& w) { w.registry.push(Update{.dt = 1}); }},
      {"push to a subtree", [](World& w) { w.registry.push_subtree(w.a, subtree_self, Damage{.amount = 1}); }},
      {"create", [](World& w) { w.registry.create(Health{}); }},
      {"create for the first time", [](World& w) { w.registry.create(Position{}, Armor{}); }},
      {"create with a name", [](World& w) { w.registry.create_under(w.a, "a", Health{}).or_stop(); }},
      {"create many", [](World& w) { w.registry.create_many(1200, Count{}); }},
      {"create many for the first time", [](World& w) { w.registry.create_many(1200, Velocity{}); }},
      {"set", [](World& w) { w.registry.set(w.a, Count{.hits = 3}); }},
      {"set for the first time", [](World& w) { w.registry.set(w.b, Velocity{}); }},
      {"remove", [](World& w) { w.registry.remove<Armor>(w.a); }},
      {"destroy", [](World& w) { w.registry.destroy(w.b); }},
      {"rename", [](World& w) { w.registry.rename(w.b, "a new name"); }},
      {"reparent", [](World& w) { w.registry.reparent(w.b, w.a); }},
      {"spawn",
       [](World& w) { w.registry.spawn("barrack", {.parent = w.a, .name = "a"}, Health{.value = 2}).or_stop(); }},
      {"merge", [](World& w) { w.registry.apply_template(w.a, "barrack"); }},
      {"merge that makes entities", [](World& w) { w.registry.apply_template(w.a, "yard"); }},
      {"define",
       [](World& w) {
         TemplateTree tree("tower");
         tree.set("", Health{.value = 1});
         w.registry.define_template(tree);
       }},
      {"intern", [](World& w) { w.registry.intern("a text"); }},
      {"grant", [](World& w) { w.registry.host().grant(10, 7); }},
      {"enable", [](World& w) { w.registry.set_handler_enabled("hit", false); }},
      {"push_batch",
       [](World& w) {
         BatchBuilder batches;
         batches.append(w.registry.host().storage().ids().peek(), Damage{});
         batches.append_world(Update{.dt = 1});
         w.registry.host().push_batch(batches.bytes());
       }},
      {"flush of posts of several types",
       [](World& w) {
         for (int i = 0; i < 3; ++i) {
           w.registry.post(w.a, Damage{.amount = 1});
           w.registry.post(w.a, game::Spawn{.children = 2});
           w.registry.post(Update{.dt = 1});
         }
         w.registry.flush();
       }},
      {"flush of lanes",
       [](World& w) {
         const auto lane = w.registry.host().inbox().open_lane(7), other = w.registry.host().inbox().open_lane(8);
         for (int i = 0; i < 2; ++i)
           for (const auto& one : {lane, other}) {
             BatchBuilder batch;
             batch.append(w.a, Damage{.amount = 1});
             REQUIRE(one->put(batch.bytes(), 5));
           }
         w.registry.flush();
       }},
      {"advance to a timer",
       [](World& w) {
         w.registry.post_at(w.registry.now_ns() + 5, w.a, Damage{.amount = 1});
         w.registry.advance(10);
       }},
      {"create while posts wait that spawn",
       [](World& w) {
         w.registry.post(w.a, game::Spawn{.children = 3});
         w.registry.create("late", Health{}).or_stop();
       }},
  };
}

}  // namespace

TEST_CASE("an input that a sink refuses does not happen, whichever way it comes in") {
  for (const bool shortcuts : {true, false})
    for (const bool several : {false, true})
      for (const WayIn& way : ways_in())
        for (int takes = 0; takes < 12; ++takes) {
          CAPTURE(way.name, shortcuts, several, takes);
          World usual(shortcuts, several), refused(shortcuts, several);
          way.go(usual);
          usual.registry.flush();
          refused.journal.takes = takes;
          const std::uint64_t sequence = refused.registry.sequence();
          bool threw = false;
          try {
            way.go(refused);
          } catch (const Journal::Full&) {
            threw = true;
          }
          refused.journal.takes = 1 << 30;
          // What was told was given its number once, and every sink has heard of the same inputs.
          CHECK(refused.registry.sequence() <= sequence + static_cast<std::uint64_t>(takes));
          if (!threw) {  // so many inputs were enough
            refused.registry.flush();
            CHECK(refused.registry.hash() == usual.registry.hash());
          } else if (refused.registry.sequence() == sequence) {
            // Nothing at all happened. What waits is told now, or never was more than the call that threw.
            World untouched(shortcuts, several);
            if (way.name.starts_with("flush") || way.name.starts_with("advance") ||
                way.name.starts_with("create while")) {
              refused.registry.flush();
            } else {
              CHECK(refused.registry.hash() == untouched.registry.hash());
              CHECK(refused.registry.host().storage().ids().peek() == untouched.registry.host().storage().ids().peek());
              way.go(refused);
              refused.registry.flush();
              CHECK(refused.registry.hash() == usual.registry.hash());
              CHECK((refused.journal.kept == usual.journal.kept));
            }
          }
          if (threw && way.name.starts_with("flush")) {
            refused.registry.flush();  // the rest
            CHECK(refused.registry.get<Health>(refused.a).value == usual.registry.get<Health>(usual.a).value);
            CHECK(refused.registry.host().counters().messages == usual.registry.host().counters().messages);
          }
          for (const Journal* other : {&refused.first, &refused.last})
            if (several) CHECK((other->kept == refused.journal.kept));
          std::uint64_t expected = 1;
          for (const auto& [number, bytes] : refused.journal.kept) CHECK(number == expected++);
          CHECK(refused.registry.sequence() == expected - 1);
        }
}

TEST_CASE("a sink before the one that throws hears that the input was withdrawn") {
  World world(true, true);
  const std::uint64_t sequence = world.registry.sequence();
  world.journal.takes = 0;
  CHECK_THROWS_AS(world.registry.push(world.a, Damage{.amount = 1}), Journal::Full);
  CHECK((world.first.withdrawn == std::vector<std::uint64_t>{sequence + 1}));
  CHECK(world.last.withdrawn.empty());
  CHECK(world.registry.get<Health>(world.a).value == Health{}.value);
}

}  // namespace throwing_sink_test
