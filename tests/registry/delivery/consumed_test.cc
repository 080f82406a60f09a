// Verdict::consume ends one target's delivery, whatever the message is and however it is sent.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

/// A tree of three with a shield in the middle, and one beside it.
struct Tree {
  EntityRegistry registry;
  Entity top, shielded, leaf, other;
  std::string log;
  Handlers handlers;

  Tree() {
    registry.add_type<game::Say>();
    top = registry.create("top", game::Health{});
    shielded = registry.create_under(top, "shielded", game::Health{}, game::Armor{});
    leaf = registry.create_under(shielded, "leaf", game::Health{});
    other = registry.create_under(top, "other", game::Health{});
  }
  void note(const char* who, Entity e) { log += std::string(who) + ":" + std::string(registry.name(e)) + " "; }
  /// The log of what one input came to.
  template <class F>
  std::string of(F input) {
    log.clear();
    input();
    return log;
  }
  Receipt say(std::vector<Entity> targets, std::uint64_t parts, bool post = false) {
    BatchBuilder builder;
    for (const Entity e : targets)
      builder.append_table(TypeTraits<game::Say>::id, e, encode(game::Say{.text = "x"}), parts);
    REQUIRE(builder.batches() == 1);
    if (!post) return registry.host().push_batch(builder.bytes());
    registry.host().post_batch(builder.bytes());
    return registry.flush();
  }
};

constexpr std::uint64_t line = subtree_ancestors | subtree_self | subtree_descendants;

}  // namespace

TEST_CASE("a consumed table ends for that target alone: to one, to several in a batch, to a subtree, to a line") {
  Tree t;
  t.handlers.add(t.registry.subscribe("a", [&](const game::SayView&, const game::Armor&, Entity e) {
    t.note("a", e);
    return Verdict::consume;
  }));
  t.handlers.add(
      t.registry.subscribe("b", [&](const game::SayView&, const game::Health&, Entity e) { t.note("b", e); }));
  for (const bool post : {false, true}) {
    CAPTURE(post);
    Receipt receipt;
    CHECK(t.of([&] { receipt = t.say({t.shielded}, 0, post); }) == "a:shielded ");
    if (!post) CHECK(receipt.handled == 1);
    CHECK(t.of([&] { t.say({t.leaf}, 0, post); }) == "b:leaf ");
    CHECK(t.of([&] { t.say({t.top, t.shielded, t.leaf, t.shielded, t.other}, 0, post); }) ==
          "b:top a:shielded b:leaf a:shielded b:other ");
    // With several targets handlers run one after another, each over all of them that are left.
    CHECK(t.of([&] { receipt = t.say({t.top}, subtree_self | subtree_descendants, post); }) ==
          "a:shielded b:top b:leaf b:other ");
    if (!post) CHECK(receipt.handled == 4);
    CHECK(t.of([&] { t.say({t.shielded}, line, post); }) == "a:shielded b:top b:leaf ");
    CHECK(t.of([&] { t.say({t.leaf}, subtree_ancestors, post); }) == "a:shielded b:top ");
    CHECK(t.of([&] { t.say({t.shielded}, subtree_self, post); }) == "a:shielded ");
    CHECK(t.of([&] { t.say({t.shielded, t.top}, subtree_self | subtree_descendants, post); }) ==
          "a:shielded b:leaf a:shielded b:top b:leaf b:other ");
  }
}

TEST_CASE("a consumed struct ends for that target alone: to one, to a span, to a subtree, to a line") {
  Tree t;
  t.handlers.add(t.registry.subscribe("a", [&](const game::Damage&, const game::Armor&, Entity e) {
    t.note("a", e);
    return Verdict::consume;
  }));
  t.handlers.add(
      t.registry.subscribe("b", [&](const game::Damage&, const game::Health&, Entity e) { t.note("b", e); }));
  const std::vector<Entity> all{t.top, t.shielded, t.leaf, t.shielded, t.other};
  CHECK(t.of([&] { CHECK(t.registry.push(t.shielded, game::Damage{}).handled == 1); }) == "a:shielded ");
  CHECK(t.of([&] { CHECK(t.registry.push(std::span<const Entity>(all), game::Damage{}).handled == 5); }) ==
        "a:shielded a:shielded b:top b:leaf b:other ");
  CHECK(t.of([&] { t.registry.push_subtree(t.top, subtree_self | subtree_descendants, game::Damage{}); }) ==
        "a:shielded b:top b:leaf b:other ");
  CHECK(t.of([&] { t.registry.push_subtree(t.shielded, line, game::Damage{}); }) == "a:shielded b:top b:leaf ");
  CHECK(t.of([&] {
    for (const Entity e : all) t.registry.post(e, game::Damage{});
    t.registry.flush();
  }) == "b:top a:shielded b:leaf a:shielded b:other ");
}

TEST_CASE("a table that one handler consumes now and then is consumed for those targets alone") {
  Tree t;
  t.handlers.add(t.registry.subscribe("a", [&](const game::SayView&, const game::Health& health) {
    return health.value > 50 ? Verdict::consume : Verdict::proceed;
  }));
  t.handlers.add(t.registry.subscribe("b", [&](const game::SayView&, const game::Health&, Entity e) {
    t.note("b", e);
    return Verdict::consume;
  }));
  t.handlers.add(
      t.registry.subscribe("c", [&](const game::SayView&, const game::Health&, Entity e) { t.note("c", e); }));
  t.registry.set(t.leaf, game::Health{.value = 10});
  t.registry.set(t.other, game::Health{.value = 20});
  CHECK(t.of([&] { t.say({t.top}, subtree_self | subtree_descendants); }) == "b:leaf b:other ");
  CHECK(t.of([&] { t.say({t.top, t.leaf, t.other}, 0); }) == "b:leaf b:other ");
}
