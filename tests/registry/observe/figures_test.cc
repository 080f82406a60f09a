#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/observe/figures.h"
#include "registry/observe/trace.h"
#include "registry/profile.h"
#include "tests/registry/game.h"

namespace figures_test {

using namespace muster;

namespace {

HandlerFigures of_handler(const EntityRegistry& registry, std::string_view name) {
  for (const HandlerFigures& figures : registry.profile().handler_figures())
    if (figures.name == name) return figures;
  return {};
}

template <class M>
MessageFigures of_message(const EntityRegistry& registry) {
  for (const MessageFigures& figures : registry.profile().message_figures())
    if (figures.type == TypeTraits<M>::id) return figures;
  return {};
}

struct Counts {
  std::uint64_t calls, rows;
  friend bool operator==(const Counts&, const Counts&) = default;
};
Counts counts(const EntityRegistry& registry, std::string_view name) {
  const HandlerFigures figures = of_handler(registry, name);
  return {figures.calls, figures.rows};
}

void hit(const game::Damage& damage, game::Health& health) { health.value -= damage.amount; }

}  // namespace

TEST_CASE("a registry that was never observed has no figures, and one that no longer is keeps them") {
  EntityRegistry registry;
  const auto s = registry.subscribe<hit>("hit");
  const Entity orc = registry.create("orc", game::Health{});
  registry.push(orc, game::Damage{});
  CHECK(registry.profile().handler_figures().empty());
  CHECK(registry.profile().message_figures().empty());
  CHECK(!registry.profile().observing());
  registry.profile().observe(true);
  CHECK(registry.profile().observing());
  registry.push(orc, game::Damage{});
  registry.profile().observe(false);
  registry.push(orc, game::Damage{});
  CHECK(counts(registry, "hit") == Counts{1, 1});
  CHECK(of_message<game::Damage>(registry).pushed == 1);
  registry.profile().observe(true);  // from zero
  CHECK(registry.profile().handler_figures().empty());
}

TEST_CASE("figures of messages to one entity: pushed, handled, unhandled, dropped") {
  EntityRegistry registry;
  const auto s = registry.subscribe<hit>("hit");
  const Entity orc = registry.create(game::Health{}), stone = registry.create(game::Armor{}),
               gone = registry.create(game::Health{});
  registry.destroy(gone);
  registry.profile().observe(true);
  registry.push(orc, game::Damage{});
  registry.push(stone, game::Damage{});
  registry.push(gone, game::Damage{});
  for (int i = 0; i < 5; ++i) registry.post(orc, game::Damage{});
  registry.post(stone, game::Damage{});
  registry.post(gone, game::Damage{});
  registry.post(gone, game::Damage{});
  registry.flush();
  const MessageFigures figures = of_message<game::Damage>(registry);
  CHECK(figures.name == "game.Damage");
  CHECK(figures.pushed == 11);
  CHECK(figures.caused == 0);
  CHECK(figures.handled == 6);
  CHECK(figures.unhandled == 2);
  CHECK(figures.dead == 3);
  CHECK(figures.refused == 0);
  CHECK(counts(registry, "hit") == Counts{2, 6});  // the first push, and the run of posts
  CHECK(of_handler(registry, "hit").message == TypeTraits<game::Damage>::id);
  CHECK(registry.get<game::Health>(orc).value == 100 - 6);
}

TEST_CASE("figures have what the receipt of each call has, also where one batch is of many targets") {
  EntityRegistry registry;
  const auto s = registry.subscribe<hit>("hit");
  std::vector<Entity> targets;
  for (int i = 0; i < 3; ++i) targets.push_back(registry.create(game::Health{}));
  for (int i = 0; i < 4; ++i) targets.push_back(registry.create(game::Armor{}));
  for (int i = 0; i < 5; ++i) targets.push_back(registry.create());
  for (std::size_t i = 7; i < 12; ++i) registry.destroy(targets[i]);
  registry.profile().observe(true);
  const auto check = [&](const Receipt& receipt, const MessageFigures& figures) {
    CHECK(figures.handled == receipt.handled);
    CHECK(figures.unhandled == receipt.unhandled);
    CHECK(figures.refused == receipt.refused);
    CHECK(figures.dead == receipt.dead);
  };
  BatchBuilder damage, armor;
  for (const Entity e : targets) damage.append(e, game::Damage{});
  for (const Entity e : targets) armor.append(e, Remove{.component = TypeTraits<game::Armor>::id});
  const Receipt damaged = registry.host().push_batch(damage.bytes());
  CHECK((damaged.handled == 3 && damaged.unhandled == 4 && damaged.dead == 5));
  check(damaged, of_message<game::Damage>(registry));
  const Receipt removed = registry.host().push_batch(armor.bytes());
  CHECK((removed.handled == 4 && removed.refused == 3 && removed.dead == 5));
  check(removed, of_message<Remove>(registry));
}

TEST_CASE("figures of handlers that take turns message by message count each for itself") {
  EntityRegistry registry;
  const auto armor = registry.subscribe(
      "armor", [](game::Damage& damage, const game::Armor& a) { damage.amount *= a.factor; }, {.before = {"hit"}});
  const auto s = registry.subscribe<hit>("hit");
  const Entity orc = registry.create(game::Health{}), knight = registry.create(game::Health{}, game::Armor{0.5f});
  registry.profile().observe(true);
  for (int i = 0; i < 50; ++i) {
    registry.post(orc, game::Damage{});
    registry.post(knight, game::Damage{});
  }
  registry.flush();
  CHECK(counts(registry, "armor") == Counts{1, 50});
  CHECK(counts(registry, "hit") == Counts{1, 100});
  CHECK(of_handler(registry, "hit").ns > 0);
}

TEST_CASE("figures of passes, spans, subtrees and of what handlers post") {
  EntityRegistry registry;
  const auto tick = registry.subscribe(
      "tick", [](const Update&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Heal{}); });
  const auto once = registry.subscribe("once", [](const Update&) {});
  const auto heal = registry.subscribe("heal", [](const game::Heal&, game::Health& health) { health.value += 1; });
  const auto s = registry.subscribe<hit>("hit");
  std::vector<Entity> all = registry.create_many(2500, game::Health{});
  const Entity top = registry.create_under({}, "top", game::Health{});
  registry.create_under(top, "below", game::Health{}).or_stop();
  registry.profile().observe(true);
  for (int i = 0; i < 3; ++i) registry.push(Update{.dt = 1});
  CHECK(counts(registry, "tick") == Counts{3, 3 * 2502});
  CHECK(counts(registry, "once") == Counts{3, 3});
  CHECK(counts(registry, "heal") == Counts{3, 3 * 2502});
  CHECK(of_message<Update>(registry).pushed == 3);
  CHECK(of_message<Update>(registry).handled == 3);
  CHECK(of_message<game::Heal>(registry).pushed == 0);
  CHECK(of_message<game::Heal>(registry).caused == 3 * 2502);
  CHECK(of_message<game::Heal>(registry).handled == 3 * 2502);
  registry.push(std::span<const Entity>(all).first(100), game::Damage{});
  registry.push_subtree(top, subtree_self | subtree_descendants, game::Damage{});
  CHECK(counts(registry, "hit") == Counts{2, 102});
  CHECK(of_message<game::Damage>(registry).pushed == 2);
  CHECK(of_message<game::Damage>(registry).handled == 102);
}

TEST_CASE("messages to one entity are timed behind a pass as they are before it") {
  EntityRegistry registry;
  const auto tick = registry.subscribe("tick", [](const Update&, const game::Health&) {});
  const auto s = registry.subscribe<hit>("hit");
  const Entity orc = registry.create(game::Health{});
  registry.profile().observe(true);
  registry.push(Update{.dt = 1});
  CHECK(of_handler(registry, "hit").ns == 0);
  registry.push(orc, game::Damage{});
  CHECK(of_handler(registry, "hit").ns > 0);
}

TEST_CASE("figures of structure messages and of who follows changes") {
  EntityRegistry registry;
  std::size_t changes = 0;
  const auto changed =
      registry.subscribe("changed", [&](const Changed<game::Health>&, const game::Health&) { ++changes; });
  const auto s = registry.subscribe<hit>("hit");
  registry.profile().observe(true);
  const Entity orc = registry.create("orc", game::Health{});
  registry.push(orc, game::Damage{});
  registry.destroy(orc);
  registry.destroy(orc);
  CHECK(changes == 1);
  CHECK(counts(registry, "hit") == Counts{1, 1});
  CHECK(counts(registry, "changed") == Counts{1, 1});
  CHECK(of_message<Create>(registry).handled == 1);
  CHECK(of_message<Destroy>(registry).handled == 1);
  CHECK(of_message<Destroy>(registry).dead == 1);
  CHECK(of_message<ComponentChanged>(registry).caused == 1);
}

TEST_CASE("figures of a cascade that is cut short: what is carried over is counted each time") {
  EntityRegistry registry({.cascade_messages_max = 4});
  const Entity orc = registry.create(game::Health{});
  const auto many = registry.subscribe("many", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    for (int i = 0; i < 10; ++i) out.post(self, game::Ping{});
  });
  const auto ping = registry.subscribe("ping", [](const game::Ping&, const game::Health&) {});
  registry.profile().observe(true);
  CHECK(registry.push(orc, game::Heal{}).cut_short);
  CHECK(of_message<game::Ping>(registry).caused == 4);
  CHECK(of_message<game::Ping>(registry).carried == 6);
  registry.flush();  // four that were left behind, then two under a budget of their own
  CHECK(of_message<game::Ping>(registry).caused == 10);
  CHECK(of_message<game::Ping>(registry).carried == 6 + 2);
  CHECK(counts(registry, "ping").rows == 10);
}

TEST_CASE("figures of posts are the same with and without shortcuts") {
  const auto figures = [](bool shortcuts) {
    EntityRegistry registry({.shortcuts = shortcuts});
    const auto s = registry.subscribe<hit>("hit");
    const auto up = registry.subscribe("up", [](const game::Heal&, game::Armor& armor) { armor.factor += 1; });
    const Entity orc = registry.create(game::Health{}, game::Armor{});
    const Entity gone = registry.create();
    registry.destroy(gone);
    registry.profile().observe(true);
    for (int i = 0; i < 100; ++i) {
      registry.post(orc, game::Damage{});
      registry.post(i % 4 ? orc : gone, game::Heal{});
    }
    registry.flush();
    std::vector<std::uint64_t> all;
    for (const MessageFigures& f : registry.profile().message_figures())
      all.insert(all.end(), {f.pushed, f.caused, f.handled, f.unhandled, f.dead, f.refused});
    for (const HandlerFigures& f : registry.profile().handler_figures()) all.push_back(f.rows);
    return all;
  };
  CHECK(figures(true) == figures(false));
  CHECK(figures(true) == std::vector<std::uint64_t>{100, 0, 100, 0, 0, 0, 100, 0, 75, 0, 25, 0, 100, 75});
}

TEST_CASE("observing changes nothing: hashes, sequences and saved rows are those of a registry that is not observed") {
  const auto run = [](bool observed, Trace* trace) {
    EntityRegistry registry({.cascade_messages_max = 100});
    registry.profile().set_trace(trace);
    registry.profile().observe(observed);
    const auto tick = registry.subscribe(
        "tick", [](const Update&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Damage{}); });
    const auto armor =
        registry.subscribe("armor", [](game::Damage& damage, const game::Armor& a) { damage.amount *= a.factor; });
    const auto s =
        registry.subscribe("hit", [](const game::Damage& damage, game::Health& health, Entity self, Outbox& out) {
          health.value -= damage.amount;
          if (health.value < 95) out.destroy(self);
        });
    registry.create_many(30, game::Health{});
    registry.create_many(30, game::Health{}, game::Armor{0.5f});
    std::vector<std::uint64_t> hashes;
    for (int i = 0; i < 20; ++i) {
      registry.push(Update{.dt = 1});
      hashes.push_back(registry.hash());
    }
    hashes.push_back(registry.sequence());
    return hashes;
  };
  Trace trace;
  const auto plain = run(false, nullptr);
  CHECK(run(true, nullptr) == plain);
  CHECK(run(true, &trace) == plain);
}

TEST_CASE("figures of a pass on several workers have the counts of one") {
  const auto figures = [](std::uint32_t workers) {
    ThreadPool pool(workers);
    EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
    const auto tick = registry.subscribe(
        "tick", [](const Update&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Heal{}); });
    const auto armor = registry.subscribe("armor", [](const Update&, game::Armor& a) { a.factor += 1; });
    const auto once = registry.subscribe("once", [](const Update&) {});
    const auto heal = registry.subscribe("heal", [](const game::Heal&, game::Health& health) { health.value += 1; });
    registry.create_many(3000, game::Health{});
    registry.create_many(2000, game::Health{}, game::Armor{});
    registry.profile().observe(true);
    for (int i = 0; i < 4; ++i) registry.push(Update{.dt = 1});
    if (workers > 1) CHECK(registry.profile().pass_counters().spread == 4);
    std::vector<std::uint64_t> all;
    for (const HandlerFigures& f : registry.profile().handler_figures()) all.insert(all.end(), {f.calls, f.rows});
    return all;
  };
  CHECK(figures(1) == std::vector<std::uint64_t>{4, 20000, 4, 8000, 4, 4, 4, 20000});
  CHECK(figures(2) == figures(1));
  CHECK(figures(3) == figures(1));
}

}  // namespace figures_test
