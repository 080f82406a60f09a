// Passes on two workers beside the same pass on one, which is the limit here. Measured is processor time, so that other
// programs on the machine do not count: what the registry's thread worked besides its share, and a worker's mean share. `larger`
// is the same with the larger share: workers take tasks as they come, so it is far from the mean only where somebody else
// had a processor meanwhile.
#include <cmath>
#include <optional>

#include "bench/measuring_pool.h"
#include "bench/support.h"
#include "registry/host.h"
#include "registry/profile.h"

namespace workers_bench {

using namespace muster;
using namespace bench;

namespace {

void light(const Update& update, Position& position, const Velocity& velocity) {
  position.x += velocity.x * update.dt;
  position.y += velocity.y * update.dt;
}
void heavy(const Update& update, Position& position, const Velocity& velocity) {
  float x = position.x, y = position.y;
  for (int i = 0; i < 8; ++i) {
    x = std::sqrt(x * x + velocity.x * update.dt);
    y = std::sqrt(y * y + velocity.y * update.dt) / (1 + x);
  }
  position.x = x;
  position.y = y;
}
void bones(const Update&, WorldPlace& world, const Local& local, Parent<const WorldPlace*> up) {
  const float angle = (up ? up->angle : 0) + local.angle;
  world.x = (up ? up->x : 0) + std::cos(angle) * local.x;
  world.y = (up ? up->y : 0) + std::sin(angle) * local.x;
  world.z = (up ? up->z : 0) + local.z;
  world.angle = angle;
}

template <std::uint32_t count>
struct Crowd : World {
  Crowd() { registry.create_many(count, Position{1, 1}, Velocity{1, 2}); }
};
struct Skeletons : World {
  static constexpr std::uint32_t chains = 1000, length = 20;
  Skeletons() {
    for (std::uint32_t i = 0; i < chains; ++i) {
      Entity up;
      for (std::uint32_t k = 0; k < length; ++k) up = registry.create_under(up, {}, Local{1, 1, 1, 0.1f}, WorldPlace{});
    }
  }
};

/// A registry rests from spreading passes that several workers made slower, which they do where other programs have the
/// processors. With `only_spread` such passes do not count, and the registry is made to judge anew.
template <class Where, auto handler, std::uint32_t rows, std::uint32_t workers, bool only_spread,
          bool one_thread = false>
void measure(benchmark::State& state) {
  if (std::getenv("BENCH_INSTRUCTIONS")) return state.SkipWithError("counted elsewhere");
  EntityRegistry& registry = kept<Where>().registry;
  MeasuringPool pool(workers, one_thread);
  registry.host().set_executor(&pool);
  {
    std::optional<Subscription> s;
    const auto subscribe = [&] {
      s.reset();
      s.emplace(registry.subscribe<handler>("measured"));
      for (int warm = 0; warm < 3; ++warm) registry.push(Update{.dt = 0.1f});
    };
    subscribe();
    double mean = 0, larger = 0, spread = 0;
    for (auto _ : state) {
      for (int tries = 0; tries < 4; ++tries) {
        const std::uint64_t before = registry.profile().pass_counters().spread;
        pool.extra(), pool.larger();
        const double begin = thread_ns();
        registry.push(Update{.dt = 0.1f});
        const double pushing = thread_ns() - begin, ns = pushing + pool.extra();
        const bool was_spread = registry.profile().pass_counters().spread > before;
        if (only_spread && !was_spread && tries < 3) {
          subscribe();
          continue;
        }
        state.SetIterationTime(ns * 1e-9);
        mean += ns;
        larger += pushing + pool.larger();
        spread += was_spread;
        break;
      }
    }
    if (workers > 1) state.counters["larger"] = larger / mean;
    if (workers > 1) state.counters["spread"] = spread / static_cast<double>(state.iterations());
  }
  registry.host().set_executor(nullptr);
  items(state, rows);
}

template <class Where, auto handler, std::uint32_t rows, bool only_spread = false>
struct Rows {
  Rows(const char* work, double goal) {
    const std::string name = work;
    const auto add = [&](const char* variant, void (*measured)(benchmark::State&), double wanted) {
      benchmark::RegisterBenchmark((name + '/' + variant).c_str(), [measured, wanted](benchmark::State& state) {
        measured(state);
        if (wanted > 0) state.counters["goal"] = wanted;
      })->UseManualTime();
    };
    add("limit", measure<Where, handler, rows, 1, false>, 0);
    add("2_workers", measure<Where, handler, rows, 2, only_spread>, goal);
    // What it costs to cut a pass into tasks, and to merge what they pushed.
    add("cut_but_on_one", measure<Where, handler, rows, 2, only_spread, true>, 0);
  }
};
const Rows<Crowd<10'000>, light, 10'000> light_rows("light_10k", 1.05);
const Rows<Crowd<1'000'000>, light, 1'000'000> light_1m_rows("light_1m", 1.05);
const Rows<Crowd<1'000'000>, heavy, 1'000'000, true> heavy_rows("heavy_1m", 1 / 1.8);
const Rows<Skeletons, bones, Skeletons::chains * Skeletons::length> bones_rows("bones_1000x20", 0);

}  // namespace
}  // namespace workers_bench
