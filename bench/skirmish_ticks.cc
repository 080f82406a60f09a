// What a tick of the demo costs: a battle of its own, no server, no file.
//
//   skirmish_ticks [UNITS [TICKS [DISTANCE [WORKERS]]]]   100000 units, 1200 ticks (20 s of the world), lines 90 m apart
//
// Prints the processor time to deploy, and, of each fifth of the ticks, median and worst, with the messages delivered per tick.
// With several workers it is the time of all their processors together; what became of passes is printed too.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "examples/skirmish/skirmish.h"
#include "registry/entity_registry.h"
#include "registry/thread_pool.h"
#include "schema/skirmish.h"

namespace {

/// Processor time, not wall time: other programs on the machine do not count.
double ms_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) * 1000 / static_cast<double>(CLOCKS_PER_SEC);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, long otherwise) { return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise; };
  const auto units = static_cast<std::uint32_t>(std::clamp(number(1, 100'000), 16l, 1'800'000l));
  const long ticks = std::max(number(2, 1200), 5l);
  const auto distance = static_cast<float>(number(3, 90));

  const auto workers = static_cast<std::uint32_t>(std::clamp(number(4, 1), 1l, 64l));

  muster::ThreadPool pool(workers);
  muster::EntityRegistry registry({.executor = &pool});
  const muster::Handlers handlers = skirmish::install(registry);
  skirmish::define_squads(registry);
  auto start = std::clock();
  // A squad is an entity, each of its eight units two; the two armies have two towers each at least.
  registry.push(skirmish::Deploy{.entities = 2 + 4 + (units + 15) / 16 * 2 * 17, .distance = distance});
  std::printf("%u units, %llu entities deployed in %.1f ms\n", units,
              static_cast<unsigned long long>(registry.entity_count()), ms_since(start));
  for (int part = 0; part < 5; ++part) {
    std::vector<double> ms;
    const std::uint64_t messages = registry.counters().messages;
    for (long i = 0; i < ticks / 5; ++i) {
      start = std::clock();
      registry.advance(1'000'000'000 / 60);
      registry.push(muster::Update{.dt = 1.0f / 60});
      ms.push_back(ms_since(start));
    }
    std::ranges::sort(ms);
    std::uint32_t lost = 0;
    registry.each<skirmish::Army>([&](const skirmish::Army& army) { lost += army.lost; });
    std::printf(
        "ticks %5ld..%5ld  median %7.3f ms  99%% %7.3f ms  worst %7.3f ms  %7.0f messages per tick  %u units lost\n",
        part * (ticks / 5), (part + 1) * (ticks / 5) - 1, ms[ms.size() / 2], ms[ms.size() * 99 / 100], ms.back(),
        static_cast<double>(registry.counters().messages - messages) / static_cast<double>(ms.size()), lost);
  }
  const muster::PassCounters& passes = registry.pass_counters();
  if (workers > 1)
    std::printf("%llu passes on several workers in %llu tasks, %llu on one\n",
                static_cast<unsigned long long>(passes.spread), static_cast<unsigned long long>(passes.tasks),
                static_cast<unsigned long long>(passes.alone));
}
