// Ids and rows: create, alive, destroy, add a component.
#include "bench/support.h"
#include "registry/template_tree.h"

using namespace muster;
using namespace bench;

namespace {

constexpr std::uint32_t many = 100'000;

void create_id_limit(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<std::uint32_t> generations;
    generations.reserve(many);
    for (std::uint32_t i = 0; i < many; ++i) {
      generations.push_back(1);
      benchmark::DoNotOptimize(Entity{i, 1});
    }
    benchmark::ClobberMemory();
  }
  items(state, many);
}
BENCHMARK(create_id_limit)->Name("create_id/limit");

void create_id_bulk(benchmark::State& state) {
  CountingSink sink;
  for (auto _ : state) {
    state.PauseTiming();
    auto registry = std::make_unique<EntityRegistry>();
    registry->add_sink(sink);
    state.ResumeTiming();
    benchmark::DoNotOptimize(registry->create_many(many));
    state.PauseTiming();
    registry.reset();
    state.ResumeTiming();
  }
  items(state, many);
  goal(state, 2);
}
BENCHMARK(create_id_bulk)->Name("create_id/bulk");

void create_id_one(benchmark::State& state) {
  CountingSink sink;
  for (auto _ : state) {
    state.PauseTiming();
    auto registry = std::make_unique<EntityRegistry>();
    registry->add_sink(sink);
    state.ResumeTiming();
    for (std::uint32_t i = 0; i < many; ++i) benchmark::DoNotOptimize(registry->create());
    state.PauseTiming();
    registry.reset();
    state.ResumeTiming();
  }
  items(state, many);
  goal(state, 8);
}
BENCHMARK(create_id_one)->Name("create_id/one_by_one");

struct PlainRows {
  std::vector<PlainSlot> slots;
  std::vector<Entity> ids;
  std::vector<Position> positions;
  std::vector<Velocity> velocities;
  std::vector<Mass> masses;
};

void create3_limit(benchmark::State& state) {
  PlainRows rows;
  for (auto _ : state) {
    rows.slots.clear(), rows.ids.clear(), rows.positions.clear(), rows.velocities.clear(), rows.masses.clear();
    for (std::uint32_t i = 0; i < many; ++i) {
      rows.slots.push_back({1, i});
      rows.ids.push_back({i, 1});
      rows.positions.push_back({1, 2, 3, 4});
      rows.velocities.push_back({1, 2});
      rows.masses.push_back({1, 2});
    }
    benchmark::ClobberMemory();
  }
  items(state, many);
}
BENCHMARK(create3_limit)->Name("create3/limit");

/// Creates and destroys in turn, so that chunks are warm.
template <bool bulk>
void create3(benchmark::State& state) {
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  std::vector<Entity> made(many);
  for (auto _ : state) {
    if constexpr (bulk) {
      made = registry.create_many(many, Position{1, 2, 3, 4}, Velocity{1, 2}, Mass{1, 2});
    } else {
      for (Entity& e : made) e = registry.create(Position{1, 2, 3, 4}, Velocity{1, 2}, Mass{1, 2});
    }
    state.PauseTiming();
    registry.push(std::span<const Entity>(made), Destroy{});
    state.ResumeTiming();
  }
  items(state, many);
  goal(state, bulk ? 2 : 12 / 2.6);
}
BENCHMARK(create3<false>)->Name("create3/one_by_one");
BENCHMARK(create3<true>)->Name("create3/bulk");

/// Trees of ten, each one message.
void create3_template(benchmark::State& state) {
  constexpr std::uint32_t nodes = 10;
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  TemplateTree tree("ten");
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::string path = i == 0 ? "" : "n" + std::to_string(i);
    tree.set(path, Position{1, 2, 3, 4}).set(path, Velocity{1, 2}).set(path, Mass{1, 2});
  }
  registry.define(tree);
  std::vector<Entity> roots(many / nodes);
  for (auto _ : state) {
    for (Entity& e : roots) e = registry.spawn("ten");
    state.PauseTiming();
    registry.push(std::span<const Entity>(roots), Destroy{});
    state.ResumeTiming();
  }
  items(state, many);
}
BENCHMARK(create3_template)->Name("create3/template");

void destroy3_limit(benchmark::State& state) {
  PlainRows rows;
  for (auto _ : state) {
    state.PauseTiming();
    rows.slots.clear(), rows.ids.clear(), rows.positions.clear(), rows.velocities.clear(), rows.masses.clear();
    for (std::uint32_t i = 0; i < many; ++i) {
      rows.slots.push_back({1, i});
      rows.ids.push_back({i, 1});
      rows.positions.push_back({1, 2, 3, 4});
      rows.velocities.push_back({1, 2});
      rows.masses.push_back({1, 2});
    }
    state.ResumeTiming();
    for (std::uint32_t i = 0; i < many; ++i) {
      PlainSlot& slot = rows.slots[i];
      if (slot.generation != 1) continue;
      const std::uint32_t row = slot.row, last = static_cast<std::uint32_t>(rows.ids.size() - 1);
      rows.slots[rows.ids[last].index].row = row;
      rows.ids[row] = rows.ids[last];
      rows.positions[row] = rows.positions[last];
      rows.velocities[row] = rows.velocities[last];
      rows.masses[row] = rows.masses[last];
      rows.ids.pop_back(), rows.positions.pop_back(), rows.velocities.pop_back(), rows.masses.pop_back();
      ++slot.generation;
    }
    benchmark::ClobberMemory();
  }
  items(state, many);
}
BENCHMARK(destroy3_limit)->Name("destroy3/limit");

template <bool bulk>
void destroy3(benchmark::State& state) {
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<Entity> made = registry.create_many(many, Position{1, 2, 3, 4}, Velocity{1, 2}, Mass{1, 2});
    state.ResumeTiming();
    if constexpr (bulk)
      registry.push(std::span<const Entity>(made), Destroy{});
    else
      for (const Entity e : made) registry.destroy(e);
  }
  items(state, many);
}
BENCHMARK(destroy3<false>)->Name("destroy3/one_by_one");
BENCHMARK(destroy3<true>)->Name("destroy3/bulk");

void add4(benchmark::State& state) {
  EntityRegistry registry;
  CountingSink sink;
  registry.add_sink(sink);
  const std::vector<Entity> made = registry.create_many(many, Position{1, 2, 3, 4}, Velocity{1, 2}, Mass{1, 2});
  for (auto _ : state) {
    for (const Entity e : made) registry.set(e, Extra{7});
    state.PauseTiming();
    registry.push(std::span<const Entity>(made), Remove{.component = TypeTraits<Extra>::id});
    state.ResumeTiming();
  }
  items(state, many);
}
BENCHMARK(add4)->Name("destroy3/add_a_4th");

template <bool random>
void alive_limit(benchmark::State& state) {
  std::vector<PlainSlot> slots(many, PlainSlot{1, 0});
  std::vector<Entity> asked(many);
  const auto order = shuffled(many);
  for (std::uint32_t i = 0; i < many; ++i) asked[i] = {random ? order[i] : i, 1};
  for (auto _ : state) {
    std::uint32_t sum = 0;
    for (const Entity e : asked) sum += e.index < slots.size() && slots[e.index].generation == e.generation;
    benchmark::DoNotOptimize(sum);
  }
  items(state, many);
}
BENCHMARK(alive_limit<false>)->Name("alive_in_order/limit");
BENCHMARK(alive_limit<true>)->Name("alive_random/limit");

template <bool random>
void alive(benchmark::State& state) {
  EntityRegistry registry;
  const std::vector<Entity> made = registry.create_many(many);
  std::vector<Entity> asked(many);
  const auto order = shuffled(many);
  for (std::uint32_t i = 0; i < many; ++i) asked[i] = made[random ? order[i] : i];
  for (auto _ : state) {
    std::uint32_t sum = 0;
    for (const Entity e : asked) sum += registry.alive(e);
    benchmark::DoNotOptimize(sum);
  }
  items(state, many);
  goal(state, 1.5);
}
BENCHMARK(alive<false>)->Name("alive_in_order/muster");
BENCHMARK(alive<true>)->Name("alive_random/muster");

}  // namespace
