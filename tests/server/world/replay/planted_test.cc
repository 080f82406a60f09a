// Handlers with hidden state are named down to the handler and the component, live and in a replay.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/world/replay/replay.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

namespace planted_test {

using namespace muster;

namespace {

std::uint16_t low(std::uint64_t number) { return static_cast<std::uint16_t>(number); }
std::uint64_t of_address(const void* at) { return reinterpret_cast<std::uintptr_t>(at) >> 4; }
std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// A handler that hides something.
struct Plant {
  std::string component;  ///< the one whose values differ; empty if rows differ instead
  std::function<Subscription(EntityRegistry&, const std::string& name)> subscribe;
  /// False if the value is the same when a tick is done twice in one registry.
  bool in_place = true;
};

template <class F>
Plant plant(std::string component, F handler, HandlerOptions options = {}, bool in_place = true) {
  return {std::move(component),
          [=](EntityRegistry& r, const std::string& name) { return r.subscribe(name, handler, options); }, in_place};
}

std::uint64_t shared_count = 0;
thread_local std::uint64_t thread_count = 0;

std::map<std::string, Plant> plants() {
  std::map<std::string, Plant> all;
  all["clock"] = plant("game.Position",
                       [](const Update&, game::Position& at) { at.at.y = static_cast<float>(now_ns() % 1'000'003); });
  all["time of day"] = plant("game.Count", [](const Update&, game::Count& count) {
    count.hits = static_cast<std::uint32_t>(std::chrono::system_clock::now().time_since_epoch().count());
  });
  all["time between calls"] = plant("game.Velocity", [](const Update&, game::Velocity& v) {
    static std::uint64_t last = now_ns();
    const std::uint64_t now = now_ns();
    v.by.y = static_cast<float>(now - last);
    last = now;
  });
  all["random device"] = plant("game.Count", [](const Update&, game::Count& count) {
    static std::random_device device;
    count.hits ^= device();
  });
  all["random numbers of the process"] = plant("game.Slots", [](const Update&, game::Slots& slots) {
    static std::mt19937 random(5);
    slots.counts[1] = low(random());
  });
  all["static counter"] = plant("game.Count", [](const Update&, game::Count& count) {
    static std::uint32_t calls = 0;
    count.hits += ++calls;
  });
  all["global variable"] =
      plant("game.Slots", [](const Update&, game::Slots& slots) { slots.counts[2] = low(++shared_count); });
  all["variable of the thread"] =
      plant("game.Slots", [](const Update&, game::Slots& slots) { slots.counts[3] = low(++thread_count); });
  all["captured variable"] = plant("game.Velocity", [wind = std::make_shared<float>(0.f)](
                                                        const Update&, game::Velocity& v) { v.by.z = *wind += 1; });
  all["cache that fills up"] = plant("game.Health", [](const game::Damage& hit, game::Health& health) {
    static std::map<float, int> seen;
    health.value -= static_cast<float>(seen[hit.amount]++) * 0.25f;
  });
  all["done once"] = plant("game.Slots", [done = std::make_shared<bool>(false)](const Update&, game::Slots& slots) {
    if (!std::exchange(*done, true)) slots.counts[1] = 9;
  });
  all["unordered map"] = plant("game.Slots", [](const Update&, game::Slots& slots) {
    static std::unordered_map<std::uint64_t, std::uint64_t> numbers;
    const std::uint64_t number = numbers.size() + 1;
    numbers[number * 7919] = number;
    slots.counts[2] = low(numbers.begin()->second);
  });
  all["set of addresses"] = plant("game.Slots", [](const Update&, game::Slots& slots) {
    static std::set<std::unique_ptr<std::uint64_t>> numbers;
    numbers.insert(std::make_unique<std::uint64_t>(numbers.size()));
    slots.counts[0] = low(**numbers.rbegin() + 31 * numbers.size());
  });
  all["address of an allocation"] = plant("game.Count", [](const Update&, game::Count& count) {
    static std::vector<std::unique_ptr<int>> kept;
    kept.push_back(std::make_unique<int>(1));
    count.hits ^= static_cast<std::uint32_t>(of_address(kept.back().get()));
  });
  all["address of a component"] = plant(
      "game.Count",
      [](const Update&, game::Count& count) { count.hits ^= static_cast<std::uint32_t>(of_address(&count)); }, {},
      false);
  all["padding"] = plant("game.Member", [garbage = std::make_shared<std::uint8_t>(0)](const Update&, game::Member& m) {
    // As if a struct with members alone had been copied from the stack.
    std::memset(reinterpret_cast<std::byte*>(&m) + 3, ++*garbage, 1);
  });
  all["posted value"] = plant("game.Health", [](const Update&, const game::Count&, Entity self, Outbox& out) {
    out.post(self, game::Heal{.amount = static_cast<float>(now_ns() % 1000) / 1000});
  });
  all["entities made at random"] = plant("", [](const Update&, Spawner& spawner) {
    static int calls = 0;
    if (++calls % 2 == 1) spawner.create(game::Armor{});
  });
  all["components removed at random"] = plant("", [](const Update&, const game::Slots&, Entity self, Outbox& out) {
    static int calls = 0;
    if (++calls % 29 == 0) out.remove<game::Slots>(self);
  });
  all["timers of any length"] =
      plant("", [](const Update&, Outbox& out) { out.post_after(1'000'000'000 + now_ns() % 1'000'000, game::Ping{}); });
  all["passes that begin by chance"] =
      plant("game.Slots", [](const Update&, game::Slots& slots) { ++slots.counts[0]; },
            {.on_begin = [calls = std::make_shared<int>(0)] { return ++*calls % 2 == 1; }});
  return all;
}

/// Handlers that hide nothing, some before and some after the plant.
Handlers install_game(EntityRegistry& r) {
  Handlers own;
  own.add(r.subscribe(
      "a.move", [](const Update& now, game::Position& at, const game::Velocity& v) { at.at.x += v.by.x * now.dt; }));
  own.add(r.subscribe("a.bleed", [](const Update&, const game::Health& h, Entity self, Outbox& out) {
    if (h.value > 50) out.post(self, game::Damage{.amount = 1});
  }));
  own.add(r.subscribe("a.hurt", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }));
  own.add(r.subscribe("a.heal", [](const game::Heal& heal, game::Health& health) { health.value += heal.amount; }));
  own.add(r.subscribe("z.count", [](const Update&, game::Count& count, const game::Slots& slots) {
    count.hits += 1 + slots.counts[0];
  }));
  own.add(r.subscribe("z.drift", [](const Update&, game::Position& at, const game::Count& count) {
    at.at.z += static_cast<float>(count.hits % 7);
  }));
  return own;
}

void fill(EntityRegistry& r) {
  for (int i = 0; i < 10; ++i)
    r.create("orc" + std::to_string(i), game::Health{.value = 60.f + static_cast<float>(i)}, game::Position{},
             game::Velocity{.by = {1, 0, 0}}, game::Count{}, game::Member{}, game::Slots{})
        .or_stop();
}

void push_tick(EntityRegistry& r) {
  r.push(Update{.dt = 1.f / 60});
  r.push(r.find_path("/orc5"), game::Damage{.amount = 2});
}

/// Checks that the difference names the plant.
void check_named(const SyncDifference& found, const std::string& name, const Plant& plant) {
  INFO(name << ": " << found.text());
  const std::string quoted = "\"plant." + name + "\"";
  // An act that happens once is not repeated in place, so only suspects can be named.
  const bool is_named = found.handler == quoted || found.suspects == std::vector<std::string>{quoted};
  CHECK(is_named);
  if (!plant.component.empty()) {
    CHECK(found.component == plant.component);
    CHECK(found.first != found.second);
    CHECK(found.path.find("/orc") != std::string::npos);
  }
}

/// A world of 30 ticks, in some of which a session edits.
void record(const std::string& path, const World::Install& install) {
  World world(path, install, {.hz = 20'000, .code = "game 1", .durability = Durability::each_flush, .autosave = {}});
  fill(world.registry());
  world.save();
  const auto lane = world.registry().host().inbox().open_lane(7);
  for (int i = 0; i < 30; ++i) {
    REQUIRE(world.next_frame());
    push_tick(world.registry());
    if (i % 10 != 9) continue;
    BatchBuilder edit;
    edit.append(world.registry().find_path("/orc1"), game::Damage{.amount = 3});
    REQUIRE(lane->put(edit.bytes(), 1));
  }
}

}  // namespace

TEST_CASE("every planted difference is named while the game runs") {
  for (const auto& [name, plant] : plants()) {
    if (!plant.in_place) continue;
    std::vector<SyncDifference> found;
    EntityRegistry r({.on_sync_difference = [&](const SyncDifference& each) { found.push_back(each); }});
    Handlers own = install_game(r);
    own.add(plant.subscribe(r, "plant." + name));
    fill(r);
    for (int i = 0; i < 12; ++i) {
      r.advance(16'000'000);
      push_tick(r);
    }
    INFO(name);
    REQUIRE_FALSE(found.empty());
    check_named(found.front(), name, plant);
  }
}

TEST_CASE("every planted difference is named by a checked replay") {
  for (const auto& [name, plant] : plants()) {
    const test::Folder folder(test::memory_disk());
    const World::Install install = [&](EntityRegistry& r) {
      Handlers own = install_game(r);
      own.add(plant.subscribe(r, "plant." + name));
      return own;
    };
    record(folder / "w.muster", install);
    const auto slice = read_slice_or_world(folder / "w.muster");
    REQUIRE(slice);
    // A process of its own would have new variables.
    const auto again = plants();
    const auto report = replay("w.muster", *slice,
                               [&](EntityRegistry& r) {
                                 Handlers own = install_game(r);
                                 own.add(again.at(name).subscribe(r, "plant." + name));
                                 return own;
                               },
                               {.code = "game 1", .check = true});
    INFO(name << (report ? "" : report.error().what()));
    REQUIRE(report);
    REQUIRE_FALSE(report->differences.empty());
    check_named(report->differences.front().found, name, plant);
    CHECK(report->differences.front().tick > 0);
  }
}

TEST_CASE("a game that hides nothing has no differences, with any number of workers") {
  const test::Folder folder(test::memory_disk());
  record(folder / "w.muster", install_game);
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  std::optional<std::uint64_t> hash;
  for (const std::uint32_t workers : {1u, 2u}) {
    const auto report = replay("w.muster", *slice, install_game, {.code = "game 1", .check = true, .workers = workers});
    REQUIRE(report);
    CHECK(report->differences.empty());
    CHECK(report->not_compared.empty());
    CHECK(report->ticks == 30);
    CHECK(report->twice.inputs > 60);
    CHECK(report->hash == hash.value_or(report->hash));
    hash = report->hash;
  }
  World world(folder / "w.muster", install_game, {.hz = 20'000, .code = "game 1"});
  CHECK(world.registry().hash() == hash);
}

}  // namespace planted_test
