// Messages to one entity each: at once and posted.
#include "bench/handlers.h"
#include "bench/plain_rows.h"
#include "bench/support.h"
#include "registry/host.h"

using namespace muster;
using namespace bench;

namespace {

/// Ten thousand entities fit the cache, a million do not.
template <std::uint32_t count, bool random>
struct Targets : World {
  std::vector<Entity> entities;
  Targets() {
    entities = registry.create_many(count, Position{}, Velocity{}, Mass{}, Extra{});
    if (random) {
      const std::vector<Entity> in_order = entities;
      const auto order = shuffled(count);
      for (std::uint32_t i = 0; i < count; ++i) entities[i] = in_order[order[i]];
    }
    checkpoint();
  }
};
void add(Mass& mass, const Hit& hit) { mass.value += hit.amount; }
using Call = void (*)(Mass&, const Hit&);

// All four change the same component: their order can be told.
void on_push1(const Push1& push, Mass& mass) { mass.value += push.amount; }
void on_push2(const Push2& push, Mass& mass) { mass.value -= push.amount; }
void on_push3(const Push3& push, Mass& mass) { mass.value *= push.amount; }
// Each its own: their order cannot be told.

// --- at once ---

template <bool random>
void push_limit(Measure& measure) {
  auto& plain = kept<PlainTargets<10'000, random>>();
  Call call = &add;
  benchmark::DoNotOptimize(call);
  measure.run(plain.entities.size(), [&] {
    for (const Entity e : plain.entities) {
      const PlainSlot slot = plain.slots[e.index];
      if (slot.generation == e.generation) call(plain.masses[slot.row], Hit{1});
    }
  });
}
template <bool random, bool sink>
void push(Measure& measure) {
  auto& targets = kept<Targets<10'000, random>>();
  EntityRegistry& registry = targets.registry;
  if (!sink) registry.host().remove_sink(targets.features);
  const auto s = registry.subscribe<on_hit>("hit");
  measure.run(targets.entities.size(), [&] {
    targets.checkpoint();
    for (const Entity e : targets.entities) registry.push(e, Hit{1});
  });
  if (!sink) registry.host().add_sink(targets.features);
}
const Entry push_in_order_limit_row("push_in_order/limit", no_goal, push_limit<false>);
const Entry push_in_order_row("push_in_order/muster", promised(1.5), push<false, true>);
const Entry push_in_order_no_sink_row("push_in_order/no_sink", no_goal, push<false, false>);
const Entry push_random_limit_row("push_random/limit", no_goal, push_limit<true>);
const Entry push_random_row("push_random/muster", promised(1.5), push<true, true>);

// --- posted ---

/// A stream of records: append, then check each id and find its row.
template <std::uint32_t count, bool random>
void posted_limit(Measure& measure) {
  auto& plain = kept<PlainTargets<count, random>>();
  Stream queue(count);
  measure.run(count, [&] {
    queue.clear();
    for (const Entity e : plain.entities) queue.push({e, Hit{1}, 0});
    const PlainSlot* slots = plain.slots.data();
    Mass* masses = plain.masses.data();
    for (const PlainRecord& record : queue.all()) {
      const PlainSlot slot = slots[record.target.index];
      if (slot.generation == record.target.generation) masses[slot.row].value += record.hit.amount;
    }
    benchmark::ClobberMemory();
  });
}
/// Who sends knows the rows, and nobody dies: no ids, no check.
void posted_limit_spans(Measure& measure) {
  auto& plain = kept<PlainTargets<10'000, false>>();
  std::vector<std::uint32_t> rows(10'000);
  std::vector<float> amounts(10'000);
  measure.run(10'000, [&] {
    for (std::uint32_t i = 0; i < 10'000; ++i) {
      rows[i] = plain.entities[i].index;
      amounts[i] = 1;
    }
    benchmark::ClobberMemory();
    for (std::uint32_t i = 0; i < 10'000; ++i) plain.masses[rows[i]].value += amounts[i];
    benchmark::ClobberMemory();
  });
}
template <std::uint32_t count, bool random>
void posted(Measure& measure) {
  auto& targets = kept<Targets<count, random>>();
  const auto s = targets.registry.template subscribe<on_hit>("hit");
  measure.run(count, [&] {
    targets.checkpoint();
    for (const Entity e : targets.entities) targets.registry.post(e, Hit{1});
    targets.registry.flush();
  });
}
const Entry posted_10k_limit_row("posted_10k/limit", no_goal, posted_limit<10'000, false>);
const Entry posted_10k_limit_spans_row("posted_10k/spans", no_goal, posted_limit_spans);
const Entry posted_10k_row("posted_10k/muster", promised(1), posted<10'000, false>);
const Entry posted_1m_limit_row("posted_1m/limit", no_goal, posted_limit<1'000'000, false>);
const Entry posted_1m_row("posted_1m/muster", promised(1), posted<1'000'000, false>);
const Entry posted_1m_random_limit_row("posted_1m_random/limit", no_goal, posted_limit<1'000'000, true>);
const Entry posted_1m_random_row("posted_1m_random/muster", promised(1), posted<1'000'000, true>);

// --- four types in a random order ---

constexpr std::uint32_t mixed_count = 100'000;

template <class Post>
void post_mixed(const std::vector<Entity>& entities, const std::vector<std::uint32_t>& order, Post post) {
  for (std::uint32_t i = 0; i < mixed_count; ++i) {
    const Entity e = entities[i % 10'000];
    switch (order[i] & 3) {
      case 0: post(e, Hit{1}); break;
      case 1: post(e, Push1{1}); break;
      case 2: post(e, Push2{1}); break;
      default: post(e, Push3{1}); break;
    }
  }
}

/// A record stream and a jump per record. `own_places`: each type is posted from its own place in the code, as programs
/// do; otherwise the type is a number that is stored, and posting has no branch at all.
template <bool own_places>
void mixed_limit(Measure& measure) {
  auto& plain = kept<PlainTargets<10'000, true>>();
  struct Record {
    Entity target;
    std::uint32_t type;
    float amount;
  };
  const auto order = shuffled(mixed_count);
  std::vector<Record> queue;
  queue.reserve(mixed_count);
  Call calls[4] = {&add, [](Mass& m, const Hit& h) { m.value += h.amount; },
                   [](Mass& m, const Hit& h) { m.value -= h.amount; },
                   [](Mass& m, const Hit& h) { m.value *= h.amount; }};
  benchmark::DoNotOptimize(calls);
  measure.run(mixed_count, [&] {
    queue.clear();
    if constexpr (own_places) {
      const auto put = [&]<class M>(std::uint32_t type, Entity e, const M& message) {
        queue.push_back({e, type, message.amount});
        benchmark::ClobberMemory();  // keeps the compiler from making one place out of four
      };
      for (std::uint32_t i = 0; i < mixed_count; ++i) {
        const Entity e = plain.entities[i % 10'000];
        switch (order[i] & 3) {
          case 0: put(0, e, Hit{1}); break;
          case 1: put(1, e, Push1{1}); break;
          case 2: put(2, e, Push2{1}); break;
          default: put(3, e, Push3{1}); break;
        }
      }
    } else {
      for (std::uint32_t i = 0; i < mixed_count; ++i) queue.push_back({plain.entities[i % 10'000], order[i] & 3, 1});
    }
    for (const Record& record : queue) {
      const PlainSlot slot = plain.slots[record.target.index];
      if (slot.generation == record.target.generation) calls[record.type](plain.masses[slot.row], Hit{record.amount});
    }
    benchmark::ClobberMemory();
  });
}
void mixed(Measure& measure) {
  auto& targets = kept<Targets<10'000, true>>();
  EntityRegistry& r = targets.registry;
  Handlers handlers(r.subscribe<on_hit>("hit"));
  handlers.add(r.subscribe<on_push1>("push1"));
  handlers.add(r.subscribe<on_push2>("push2"));
  handlers.add(r.subscribe<on_push3>("push3"));
  const auto order = shuffled(mixed_count);
  measure.run(mixed_count, [&] {
    targets.checkpoint();
    post_mixed(targets.entities, order, [&](Entity e, const auto& message) { r.post(e, message); });
    r.flush();
  });
}
const Entry mixed_limit_row("posted_mixed/limit", no_goal, mixed_limit<true>);
const Entry mixed_one_place_row("posted_mixed/limit_no_branch", no_goal, mixed_limit<false>);
const Entry mixed_row("posted_mixed/in_order", promised(1.5), mixed);

// --- to many handlers, to none ---

void ten_handlers_limit(Measure& measure) {
  auto& plain = kept<PlainTargets<10'000, false>>();
  Stream queue(10'000);
  measure.run(100'000, [&] {
    queue.clear();
    for (const Entity e : plain.entities) queue.push({e, Hit{1}, 0});
    for (int handler = 0; handler < 10; ++handler)
      for (const PlainRecord& record : queue.all()) {
        const PlainSlot slot = plain.slots[record.target.index];
        if (slot.generation == record.target.generation)
          benchmark::DoNotOptimize(plain.masses[slot.row].value + record.hit.amount);
      }
  });
}
void ten_handlers(Measure& measure) {
  auto& targets = kept<Targets<10'000, false>>();
  Handlers handlers;
  for (int i = 0; i < 10; ++i)
    handlers.add(targets.registry.subscribe("h" + std::to_string(i), [](const Hit& hit, const Mass& mass) {
      benchmark::DoNotOptimize(hit.amount + mass.value);
    }));
  measure.run(100'000, [&] {
    targets.checkpoint();
    for (const Entity e : targets.entities) targets.registry.post(e, Hit{1});
    targets.registry.flush();
  });
}
const Entry ten_handlers_limit_row("posted_to_10/limit", no_goal, ten_handlers_limit);
const Entry ten_handlers_row("posted_to_10/muster", ratio(1.6), ten_handlers);

void nobody_limit(Measure& measure) {
  auto& plain = kept<PlainTargets<10'000, false>>();
  Stream queue(10'000);
  measure.run(10'000, [&] {
    queue.clear();
    for (const Entity e : plain.entities) queue.push({e, Hit{1}, 0});
    std::uint32_t alive = 0;
    for (const PlainRecord& record : queue.all())
      alive += plain.slots[record.target.index].generation == record.target.generation;
    benchmark::DoNotOptimize(alive);
  });
}
void nobody(Measure& measure) {
  auto& targets = kept<Targets<10'000, false>>();
  measure.run(10'000, [&] {
    targets.checkpoint();
    for (const Entity e : targets.entities) targets.registry.post(e, Nobody{1});
    targets.registry.flush();
  });
}
const Entry nobody_limit_row("posted_to_nobody/limit", no_goal, nobody_limit);
const Entry nobody_row("posted_to_nobody/muster", ratio(1.8), nobody);

}  // namespace
