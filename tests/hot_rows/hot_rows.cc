// Ten kinds of work that games do most, each of 10,000 entities, for callgrind to count: run.py compares the counts with the stored ones.
// Each is done twice to warm up, then counted once.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;
using namespace game;

namespace {

constexpr std::uint32_t many = 10'000;

template <class Before, class Body>
void row(const char* name, Before before, Body body) {
  [[maybe_unused]] const std::string mark = std::string(name) + ' ' + std::to_string(many);
  for (int left = 3; left-- > 0;) {
    before();
    if (left == 0) CALLGRIND_START_INSTRUMENTATION;
    body();
    if (left == 0) {
      CALLGRIND_DUMP_STATS_AT(mark.c_str());
      CALLGRIND_STOP_INSTRUMENTATION;
    }
  }
  std::puts(name);
}

void hurt(const Damage& damage, Health& health) { health.value -= damage.amount; }
void move(const Update& update, Position& position, const Velocity& velocity) {
  position.at.x += velocity.by.x * update.dt;
  position.at.y += velocity.by.y * update.dt;
}
void follow(const Update& update, Velocity& velocity, Parent<const Position> squad) {
  velocity.by.x = squad->at.x * update.dt;
}

struct Sink final : InputSink {
  std::uint64_t inputs = 0;
  void on_input(const Envelope&, std::span<const std::byte>) override { ++inputs; }
  bool wants_receipts(InputKind) const noexcept override { return false; }
};

/// As a served world has it: somebody looks at the inputs.
struct World {
  Sink sink;
  EntityRegistry registry;
  Handlers handlers;
  std::vector<Entity> made;
  World() { registry.host().add_sink(sink); }
  ~World() { registry.host().remove_sink(sink); }
};

void messages() {
  World world;
  EntityRegistry& r = world.registry;
  world.made = r.create_many(many, Health{}, Armor{}, Position{});
  world.handlers.add(r.subscribe<hurt>("hurt"));
  const auto nothing = [] {};
  const auto push = [&] {
    for (const Entity e : world.made) r.push(e, Damage{.amount = 1});
  };
  row("messages/push", nothing, push);
  r.host().remove_sink(world.sink);
  row("messages/push_without_sink", nothing, push);
  r.host().add_sink(world.sink);
  row("messages/post", nothing, [&] {
    for (const Entity e : world.made) r.post(e, Damage{.amount = 1});
    r.flush();
  });
}

void passes() {
  World world;
  EntityRegistry& r = world.registry;
  world.made = r.create_many(many, Position{}, Velocity{});
  world.handlers.add(r.subscribe<move>("move"));
  row("passes/move", [] {}, [&] { r.push(Update{.dt = 1}); });
}

/// Squads of ten, whose rows are one behind the other, or anywhere.
void parents(const char* name, bool shuffled) {
  World world;
  EntityRegistry& r = world.registry;
  const std::vector<Entity> squads = r.create_many(many / 10, Position{}, Health{});
  std::vector<std::uint32_t> order(many);
  for (std::uint32_t i = 0; i < many; ++i) order[i] = i;
  std::mt19937 random(7);
  if (shuffled) std::shuffle(order.begin(), order.end(), random);
  for (const std::uint32_t i : order) r.create_under(squads[i / 10], {}, Velocity{}).or_stop();
  world.handlers.add(r.subscribe<follow>("follow"));
  row(name, [] {}, [&] { r.push(Update{.dt = 1}); });
}

void rows() {
  World world;
  EntityRegistry& r = world.registry;
  std::vector<Entity>& made = world.made;
  made.resize(many);
  const auto create = [&] {
    for (Entity& e : made) e = r.create(Health{}, Position{}, Velocity{});
  };
  const auto destroy = [&] {
    for (const Entity e : made) r.destroy(e);
  };
  const auto add = [&] {
    for (const Entity e : made) r.set(e, Armor{});
  };
  const auto remove = [&] {
    for (const Entity e : made) r.remove<Armor>(e);
  };
  row("rows/create", destroy, create);
  row(
      "rows/add",
      [&, first = true]() mutable {
        if (!first) remove();
        first = false;
      },
      add);
  row("rows/remove", add, remove);
  row(
      "rows/destroy",
      [&] {
        if (!r.alive(made.front())) create();
      },
      destroy);
}

}  // namespace

int main() {
  messages();
  passes();
  parents("passes/siblings", false);
  parents("passes/strangers", true);
  rows();
}
