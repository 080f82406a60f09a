// HandlerOptions::skip_when_repeated: sounds and effects are not heard again when ticks are done
// again.
#include <catch2/catch.hpp>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/handlers/handler_order.h"
#include "registry/host.h"
#include "registry/moments/moments.h"
#include "tests/registry/game.h"

namespace skipped_when_repeated_test {

using namespace muster;
using Catch::Contains;

namespace {

void hurt(const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }
constexpr HandlerOptions skipped() { return {.skip_when_repeated = true}; }

}  // namespace

TEST_CASE("a handler with skip_when_repeated is not called while inputs are quiet, and is called again afterward") {
  EntityRegistry r;
  int sounds = 0, passes = 0, begins = 0;
  const auto hurts = r.subscribe("hurt", hurt);
  const auto sound = r.subscribe("sound", [&](const game::Damage&, const game::Health&) { ++sounds; }, skipped());
  const auto pass = r.subscribe("pass", [&](const game::Ping&, const game::Health&) { ++passes; },
                                {.on_begin =
                                     [&] {
                                       ++begins;
                                       return true;
                                     },
                                 .skip_when_repeated = true});
  std::vector<Entity> orcs = r.create_many(100, game::Health{.value = 100});
  const auto tick = [&] {
    r.push(orcs[3], game::Damage{.amount = 1});  // straight to the handlers
    for (const Entity orc : orcs) r.post(orc, game::Damage{.amount = 1});
    r.push(std::span<const Entity>(orcs), game::Damage{.amount = 1});
    r.push(game::Ping{});
  };
  tick();
  CHECK((sounds == 201 && passes == 100 && begins == 1));
  const auto health = r.get<game::Health>(orcs[3]).value;
  {
    const QuietInputs quiet(r);
    tick();
    const QuietInputs nested(r);
    tick();
  }
  CHECK((sounds == 201 && passes == 100 && begins == 1));
  CHECK(r.get<game::Health>(orcs[3]).value == health - 6);
  tick();
  CHECK((sounds == 402 && passes == 200 && begins == 2));
}

TEST_CASE("the state and the counters are the same, whether or not handlers are skipped") {
  const auto run = [](bool quiet, std::uint32_t workers) {
    ThreadPool pool(workers);
    EntityRegistry r({.executor = &pool, .pass_serial_below_ns = 0});
    const auto hurts = r.subscribe("hurt", hurt);
    const auto sound = r.subscribe("sound", [](const game::Damage&, const game::Armor&) {}, skipped());
    const auto other = r.subscribe("other", [](const game::Heal&, const game::Armor&) {}, skipped());
    std::vector<Entity> all = r.create_many(50, game::Health{.value = 100});
    for (const Entity e : r.create_many(50, game::Armor{})) all.push_back(e);
    std::optional<QuietInputs> quietly;
    if (quiet) quietly.emplace(r);
    r.destroy(all[70]);
    for (const Entity e : all) {
      r.post(e, game::Damage{.amount = 1});
      r.post(e, game::Heal{.amount = 1});
    }
    r.flush();
    r.push(game::Damage{.amount = 2});
    r.push(game::Heal{.amount = 2});
    r.push(all[60], game::Heal{.amount = 2});
    const RegistryCounters& counters = r.host().counters();
    return std::tuple(r.hash(), counters.messages, counters.unhandled, counters.dead);
  };
  CHECK(run(true, 1) == run(false, 1));
  CHECK(run(true, 2) == run(false, 2));
}

TEST_CASE("a handler that is subscribed while inputs are quiet is skipped until they are not") {
  EntityRegistry r;
  int sounds = 0;
  const Entity orc = r.create(game::Health{});
  std::optional<QuietInputs> quiet(std::in_place, r);
  const auto sound = r.subscribe("sound", [&](const game::Damage&, const game::Health&) { ++sounds; }, skipped());
  r.push(orc, game::Damage{});
  CHECK(sounds == 0);
  quiet.reset();
  r.push(orc, game::Damage{});
  CHECK(sounds == 1);
}

TEST_CASE("a handler that does more than read cannot be skipped") {
  EntityRegistry r;
  CHECK_THROWS_WITH(
      (void)r.subscribe("game.hurt", hurt, skipped()),
      Contains("handler \"game.hurt\" of game.Damage writes a component") && Contains("skip_when_repeated"));
  CHECK_THROWS_WITH((void)r.subscribe(
                        "game.post", [](const game::Damage&, Outbox&) {}, skipped()),
                    Contains("takes an Outbox or a Spawner"));
  CHECK_THROWS_WITH((void)r.subscribe(
                        "game.change", [](game::Damage&, const game::Health&) {}, skipped()),
                    Contains("changes or consumes the message"));
  CHECK(r.host().handlers().handlers().empty());
}

}  // namespace skipped_when_repeated_test
