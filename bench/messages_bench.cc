// Messages to one entity each: at once and posted.
#include "bench/support.h"

using namespace muster;
using namespace bench;

namespace {

/// Ten thousand entities fit the cache, a million do not.
struct Targets {
  EntityRegistry registry;
  CountingSink sink;
  std::vector<Entity> entities;
  Targets(std::uint32_t count, bool random) {
    registry.add_sink(sink);
    entities = registry.create_many(count, Position{}, Velocity{}, Mass{});
    if (random) {
      const std::vector<Entity> in_order = entities;
      const auto order = shuffled(count);
      for (std::uint32_t i = 0; i < count; ++i) entities[i] = in_order[order[i]];
    }
  }
};
struct PlainTargets {
  std::vector<PlainSlot> slots;
  std::vector<Mass> masses;
  std::vector<Entity> entities;
  PlainTargets(std::uint32_t count, bool random) : slots(count), masses(count), entities(count) {
    const auto order = shuffled(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      slots[i] = {1, i};
      entities[i] = {random ? order[i] : i, 1};
    }
  }
};

void add(Mass& mass, const Hit& hit) { mass.value += hit.amount; }
using Call = void (*)(Mass&, const Hit&);

void on_hit(const Hit& hit, Mass& mass) { mass.value += hit.amount; }
void on_push1(const Push1& hit, Mass& mass) { mass.value += hit.amount; }
void on_push2(const Push2& hit, Mass& mass) { mass.value -= hit.amount; }
void on_push3(const Push3& hit, Mass& mass) { mass.value *= hit.amount; }

// --- at once ---

template <bool random>
void at_once_limit(benchmark::State& state) {
  PlainTargets plain(10'000, random);
  Call call = &add;
  benchmark::DoNotOptimize(call);
  for (auto _ : state)
    for (const Entity e : plain.entities) {
      const PlainSlot slot = plain.slots[e.index];
      if (slot.generation == e.generation) call(plain.masses[slot.row], Hit{1});
    }
  items(state, plain.entities.size());
}
BENCHMARK(at_once_limit<false>)->Name("push_in_order/limit");
BENCHMARK(at_once_limit<true>)->Name("push_random/limit");

template <bool random, bool sink>
void at_once(benchmark::State& state) {
  Targets targets(10'000, random);
  if (!sink) targets.registry.remove_sink(targets.sink);
  const auto s = targets.registry.subscribe<on_hit>("hit");
  for (auto _ : state)
    for (const Entity e : targets.entities) targets.registry.push(e, Hit{1});
  items(state, targets.entities.size());
  goal(state, random ? 4 : 3.5);
}
BENCHMARK(at_once<false, true>)->Name("push_in_order/muster");
BENCHMARK(at_once<false, false>)->Name("push_in_order/muster_no_sink");
BENCHMARK(at_once<true, true>)->Name("push_random/muster");

// --- posted ---

struct PlainRecord {
  Entity target;
  Hit hit;
  std::uint32_t pad;
};

template <std::uint32_t count, bool random>
void posted_limit(benchmark::State& state) {
  PlainTargets plain(count, random);
  std::vector<PlainRecord> queue;
  for (auto _ : state) {
    queue.clear();
    for (const Entity e : plain.entities) queue.push_back({e, Hit{1}, 0});
    for (const PlainRecord& record : queue) {
      const PlainSlot slot = plain.slots[record.target.index];
      if (slot.generation == record.target.generation) plain.masses[slot.row].value += record.hit.amount;
    }
    benchmark::ClobberMemory();
  }
  items(state, count);
}
BENCHMARK(posted_limit<10'000, false>)->Name("posted_10k/limit");
BENCHMARK(posted_limit<1'000'000, false>)->Name("posted_1m/limit");
BENCHMARK(posted_limit<1'000'000, true>)->Name("posted_1m_random/limit");

template <std::uint32_t count, bool random>
void posted(benchmark::State& state) {
  Targets targets(count, random);
  const auto s = targets.registry.subscribe<on_hit>("hit");
  for (auto _ : state) {
    for (const Entity e : targets.entities) targets.registry.post(e, Hit{1});
    targets.registry.flush();
  }
  items(state, count);
  goal(state, random ? 0.9 : 3.5 / 2.3);
}
BENCHMARK(posted<10'000, false>)->Name("posted_10k/muster");
BENCHMARK(posted<1'000'000, false>)->Name("posted_1m/muster");
BENCHMARK(posted<1'000'000, true>)->Name("posted_1m_random/muster");

/// The four types come in a random order, which the limit keeps with a record stream and a jump per record.
void mixed_limit(benchmark::State& state) {
  constexpr std::uint32_t count = 100'000;
  PlainTargets plain(10'000, true);
  struct Record {
    Entity target;
    std::uint32_t type;
    float amount;
  };
  const auto order = shuffled(count);
  std::vector<Record> queue;
  Call calls[4] = {&add, [](Mass& m, const Hit& h) { m.value += h.amount; },
                   [](Mass& m, const Hit& h) { m.value -= h.amount; },
                   [](Mass& m, const Hit& h) { m.value *= h.amount; }};
  benchmark::DoNotOptimize(calls);
  for (auto _ : state) {
    queue.clear();
    for (std::uint32_t i = 0; i < count; ++i) queue.push_back({plain.entities[i % 10'000], order[i] & 3, 1});
    for (const Record& record : queue) {
      const PlainSlot slot = plain.slots[record.target.index];
      if (slot.generation == record.target.generation) calls[record.type](plain.masses[slot.row], Hit{record.amount});
    }
    benchmark::ClobberMemory();
  }
  items(state, count);
}
BENCHMARK(mixed_limit)->Name("posted_mixed/limit");

void mixed(benchmark::State& state) {
  constexpr std::uint32_t count = 100'000;
  Targets targets(10'000, true);
  auto& r = targets.registry;
  const Handlers handlers(r.subscribe<on_hit>("hit"), r.subscribe<on_push1>("push1"), r.subscribe<on_push2>("push2"),
                          r.subscribe<on_push3>("push3"));
  const auto order = shuffled(count);
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const Entity e = targets.entities[i % 10'000];
      switch (order[i] & 3) {
        case 0: r.post(e, Hit{1}); break;
        case 1: r.post(e, Push1{1}); break;
        case 2: r.post(e, Push2{1}); break;
        default: r.post(e, Push3{1}); break;
      }
    }
    r.flush();
  }
  items(state, count);
  goal(state, 1.2);
}
BENCHMARK(mixed)->Name("posted_mixed/muster");

void ten_handlers(benchmark::State& state) {
  Targets targets(10'000, false);
  Handlers handlers;
  for (int i = 0; i < 10; ++i)
    handlers.add(targets.registry.subscribe("h" + std::to_string(i), [](const Hit& hit, const Mass& mass) {
      benchmark::DoNotOptimize(hit.amount + mass.value);
    }));
  for (auto _ : state) {
    for (const Entity e : targets.entities) targets.registry.post(e, Hit{1});
    targets.registry.flush();
  }
  items(state, targets.entities.size() * 10);
}
BENCHMARK(ten_handlers)->Name("posted_10k/ten_handlers");

void nobody(benchmark::State& state) {
  Targets targets(10'000, false);
  for (auto _ : state) {
    for (const Entity e : targets.entities) targets.registry.post(e, Nobody{1});
    targets.registry.flush();
  }
  items(state, targets.entities.size());
}
BENCHMARK(nobody)->Name("posted_10k/nobody");

}  // namespace
