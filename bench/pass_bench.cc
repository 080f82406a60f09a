// Passes: one broadcast message, a handler over every matching row.
#include "bench/support.h"

using namespace muster;
using namespace bench;

namespace {

void move(const Update& update, Position& position, const Velocity& velocity) {
  position.x += velocity.x * update.dt;
  position.y += velocity.y * update.dt;
}

template <std::uint32_t count>
void pass_limit(benchmark::State& state) {
  std::vector<Position> positions(count);
  std::vector<Velocity> velocities(count, Velocity{1, 2});
  for (auto _ : state) {
    Position* __restrict p = positions.data();
    const Velocity* __restrict v = velocities.data();
    for (std::uint32_t i = 0; i < count; ++i) {
      p[i].x += v[i].x * 0.1f;
      p[i].y += v[i].y * 0.1f;
    }
    benchmark::ClobberMemory();
  }
  items(state, count);
}
BENCHMARK(pass_limit<10'000>)->Name("pass_10k/limit");
BENCHMARK(pass_limit<1'000'000>)->Name("pass_1m/limit");

template <std::uint32_t count>
void pass(benchmark::State& state) {
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  registry.create_many(count, Position{}, Velocity{1, 2});
  const auto s = registry.subscribe<move>("move");
  for (auto _ : state) registry.push(Update{.dt = 0.1f});
  items(state, count);
  goal(state, 1.1);
}
BENCHMARK(pass<10'000>)->Name("pass_10k/muster");
BENCHMARK(pass<1'000'000>)->Name("pass_1m/muster");

void pass_32(benchmark::State& state) {
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  const auto some = [&]<class... Tags>(Tags... tags) {
    registry.create_many(1'000'000 / 32, Position{}, Velocity{1, 2}, tags...);
  };
  const auto with4 = [&](auto... tags) { some(tags...), some(tags..., T4{}); };
  const auto with3 = [&](auto... tags) { with4(tags...), with4(tags..., T3{}); };
  const auto with2 = [&](auto... tags) { with3(tags...), with3(tags..., T2{}); };
  const auto with1 = [&](auto... tags) { with2(tags...), with2(tags..., T1{}); };
  with1(), with1(T0{});
  const auto s = registry.subscribe<move>("move");
  for (auto _ : state) registry.push(Update{.dt = 0.1f});
  items(state, 1'000'000);
  goal(state, 1.2);
}
BENCHMARK(pass_32)->Name("pass_1m/32_archetypes");

void empty_pass(benchmark::State& state) {
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  registry.create_many(1000, Mass{});
  const auto s = registry.subscribe<move>("move");
  for (auto _ : state) registry.push(Update{.dt = 0.1f});
}
BENCHMARK(empty_pass)->Name("pass_of_nothing/muster");

// --- a parent's place to its children: six levels, ten children each down to a tenth of the wanted count ---

void follow(const Update&, WorldPlace& world, const Local& local, Parent<const WorldPlace*> up) {
  if (up) {
    world.x = up->x + local.x;
    world.y = up->y + local.y;
    world.z = up->z + local.z;
    world.angle = up->angle + local.angle;
  } else {
    world = {local.x, local.y, local.z, local.angle};
  }
}

constexpr std::uint32_t levels = 6, fan = 10;

void tree_limit(benchmark::State& state) {
  std::vector<Local> locals;
  std::vector<WorldPlace> worlds;
  std::vector<std::uint32_t> parents;
  std::uint32_t begin = 0;
  locals.resize(1, Local{1, 1, 1, 1}), worlds.resize(1), parents.resize(1, ~0u);
  for (std::uint32_t level = 1; level < levels; ++level) {
    const auto end = static_cast<std::uint32_t>(locals.size());
    for (std::uint32_t parent = begin; parent < end; ++parent)
      for (std::uint32_t i = 0; i < fan; ++i)
        locals.push_back({1, 1, 1, 1}), worlds.push_back({}), parents.push_back(parent);
    begin = end;
  }
  for (auto _ : state) {
    for (std::size_t i = 0; i < locals.size(); ++i) {
      if (parents[i] == ~0u) {
        worlds[i] = {locals[i].x, locals[i].y, locals[i].z, locals[i].angle};
        continue;
      }
      const WorldPlace& up = worlds[parents[i]];
      worlds[i] = {up.x + locals[i].x, up.y + locals[i].y, up.z + locals[i].z, up.angle + locals[i].angle};
    }
    benchmark::ClobberMemory();
  }
  items(state, locals.size());
}
BENCHMARK(tree_limit)->Name("tree/limit");

void tree(benchmark::State& state) {
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  std::vector<Entity> above{registry.create(Local{1, 1, 1, 1}, WorldPlace{})};
  std::uint64_t nodes = 1;
  for (std::uint32_t level = 1; level < levels; ++level) {
    std::vector<Entity> here;
    for (const Entity parent : above)
      for (std::uint32_t i = 0; i < fan; ++i)
        here.push_back(registry.create_under(parent, {}, Local{1, 1, 1, 1}, WorldPlace{}));
    nodes += here.size();
    above = std::move(here);
  }
  const auto s = registry.subscribe<follow>("follow");
  for (auto _ : state) registry.push(Update{.dt = 0.1f});
  items(state, nodes);
  goal(state, 4 / 1.5);
}
BENCHMARK(tree)->Name("tree/in_order");

}  // namespace
