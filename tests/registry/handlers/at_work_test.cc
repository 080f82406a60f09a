// Which handler is being called, and for whom, as others see it meanwhile.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

namespace at_work_test {

using namespace muster;

namespace {

std::string text(const std::optional<AtWork>& work) {
  if (!work) return "nobody";
  return std::to_string(work->sequence) + " " + work->handler + " " + work->message + " " +
         std::to_string(work->entity.index) + " x" + std::to_string(work->entities);
}

}  // namespace

TEST_CASE("the handler that is being called can be asked for, and the entity it is called for, whatever calls it") {
  const bool shortcuts = GENERATE(true, false);
  CAPTURE(shortcuts);
  EntityRegistry registry({.shortcuts = shortcuts});
  std::vector<std::string> seen;
  const auto look = [&] { seen.push_back(text(registry.host().at_work())); };
  Handlers handlers{registry.subscribe("hit", [&](const game::Damage&, game::Health&) { look(); }),
                    registry.subscribe("ping", [&](const game::Ping&, game::Health&) { look(); })};
  Entity e[8];
  for (Entity& each : e) each = registry.create(game::Health{});
  const auto id = [&](int i) { return std::to_string(e[i].index); };
  CHECK(text(registry.host().at_work()) == "nobody");
  // What was seen of the last calls, in any order; `back`: so many inputs ended behind the one that they were in.
  const auto sees = [&](std::uint64_t back, const std::vector<std::string>& calls) {
    std::vector<std::string> whole;
    for (const std::string& call : calls) whole.push_back(std::to_string(registry.sequence() - back) + " " + call);
    std::ranges::sort(whole);
    std::ranges::sort(seen);
    CHECK(seen == whole);
    seen.clear();
    CHECK(text(registry.host().at_work()) == "nobody");
  };
  for (const int i : {1, 5, 5, 2}) {
    registry.push(e[i], game::Damage{});
    sees(0, {"hit game.Damage " + id(i) + " x1"});
  }
  registry.push(game::Ping{});  // a pass over one chunk
  sees(0, std::vector(8, "ping game.Ping " + id(0) + " x8"));
  registry.push(e[3], game::Damage{});
  sees(0, {"hit game.Damage " + id(3) + " x1"});
  registry.push(std::span<const Entity>(e, 2), game::Damage{});
  sees(0, {"hit game.Damage " + id(0) + " x1", "hit game.Damage " + id(1) + " x1"});
  for (const Entity each : e) registry.post(each, game::Damage{});
  registry.flush();
  sees(1, std::vector(8, "hit game.Damage " + id(0) + " x8"));
  registry.post(e[6], game::Damage{});
  registry.post(e[3], game::Damage{});
  registry.flush();
  sees(1, {"hit game.Damage " + id(6) + " x1", "hit game.Damage " + id(3) + " x1"});
  registry.push(e[4], game::Damage{});
  sees(0, {"hit game.Damage " + id(4) + " x1"});
  SECTION("handlers that take turns, and one that changes the message") {
    handlers.add(registry.subscribe("armor", [&](game::Damage& hit, const game::Health&) { hit.amount = 0, look(); },
                                    {.before = {"hit"}}));
    for (const int i : {7, 1}) {
      registry.push(e[i], game::Damage{});
      sees(0, {"armor game.Damage " + id(i) + " x1", "hit game.Damage " + id(i) + " x1"});
    }
    registry.push(e[2], game::Ping{});
    sees(0, {"ping game.Ping " + id(2) + " x1"});
  }
  SECTION("a handler that asks for nobody, and one that is asked whether it begins") {
    handlers.add(registry.subscribe("", [&](const game::Damage&) { look(); }));
    handlers.add(registry.subscribe("begins", [](const game::Damage&, game::Health&) {},
                                    {.on_begin = [&] { return look(), false; }}));
    registry.push(game::Damage{});
    std::vector<std::string> calls(8, "hit game.Damage " + id(0) + " x8");
    calls.insert(calls.end(), {" game.Damage 0 x1", "begins game.Damage 0 x1"});
    sees(0, calls);
  }
  SECTION("what a handler posts, and who follows a change") {
    handlers.add(registry.subscribe("begin", [&](const game::Heal&, const game::Health&, Outbox& out) {
      look();
      out.post(e[5], game::Ping{});
    }));
    handlers.add(registry.subscribe("changed", [&](const Changed<game::Health>&, const game::Health&) { look(); }));
    for (int again = 0; again < 2; ++again) {
      registry.push(e[2], game::Heal{});
      sees(0, {"begin game.Heal " + id(2) + " x1", "ping game.Ping " + id(5) + " x1"});
    }
    registry.set(e[1], game::Health{.value = 1});
    sees(0, {"changed Changed<game.Health> " + id(1) + " x1"});
  }
  SECTION("a handler that has ended") {
    handlers = {};
    registry.push(e[1], game::Damage{});
    sees(0, {});
  }
}

TEST_CASE("handlers that workers run can be asked for too") {
  ThreadPool pool(2);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  std::mutex mutex;
  std::vector<AtWork> seen;
  const Handlers handlers{registry.subscribe("ping", [&](const game::Ping&, game::Health& health) {
    health.value += 1;
    const auto now = registry.host().at_work();
    const std::lock_guard lock(mutex);
    seen.push_back(now.value_or(AtWork{}));
  })};
  for (int i = 0; i < 5000; ++i) (void)registry.create(game::Health{});
  registry.push(game::Ping{});
  REQUIRE(seen.size() == 5000);
  bool fits = true;
  for (const AtWork& each : seen)
    fits = fits && each.sequence == registry.sequence() && each.handler == "ping" && each.message == "game.Ping" &&
           registry.alive(each.entity) && each.entities >= 1 && each.entities <= 5000;
  CHECK(fits);
  CHECK(text(registry.host().at_work()) == "nobody");
}

TEST_CASE("who looks from another thread sees handlers that there are, and changes nothing") {
  std::uint64_t hashes[2] = {};
  for (const bool looks : {false, true}) {
    EntityRegistry registry;
    std::atomic<bool> over = false;
    std::set<std::string> handlers, messages;
    std::thread looker([&] {
      while (looks && !over)
        if (const auto work = registry.host().at_work()) {
          handlers.insert(work->handler);
          messages.insert(work->message);
        }
    });
    const Handlers kept{
        registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
        registry.subscribe("heal", [](const game::Heal&, const game::Health&, Outbox& out, Entity e) {
          out.post(e, game::Damage{});
        })};
    std::vector<Entity> e;
    for (int i = 0; i < 40; ++i) e.push_back(registry.create("e" + std::to_string(i), game::Health{}));
    for (std::size_t i = 0; i < 2000; ++i) {
      const Subscription passing =
          registry.subscribe("passing", [](const game::Ping&, game::Health& health) { health.value += 1; });
      registry.push(e[i % 40], game::Damage{});
      registry.push(game::Ping{});
      registry.push(e[i * 7 % 40], game::Heal{});
      for (std::size_t j = 0; j < i % 9; ++j) registry.post(e[(i + j) % 40], game::Damage{});
      registry.flush();
      registry.push(std::span<const Entity>(e).first(i % 5), game::Damage{});
    }
    over = true;
    looker.join();
    for (const std::string& name : handlers) CHECK(std::set<std::string>{"", "hit", "heal", "passing"}.contains(name));
    for (const std::string& name : messages)
      CHECK(std::set<std::string>{"", "game.Damage", "game.Heal", "game.Ping"}.contains(name));
    hashes[looks] = registry.hash();
  }
  CHECK(hashes[0] == hashes[1]);
}

}  // namespace at_work_test
