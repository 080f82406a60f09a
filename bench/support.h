// What the benchmarks share: rows of the speed table and how they are measured, and what every registry measured here has
// switched on.
#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
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

#include "bench/bench.h"
#include "registry/entity_registry.h"
#include "registry/host.h"

namespace bench {

/// What a variant must reach: a ratio to the limit of its work, or to the limit that keeps what Muster promises (bench/promises.h), or
/// memory.
struct Goal {
  double ratio = 0, promised = 0, bytes = 0;
};
constexpr Goal no_goal{};
constexpr Goal ratio(double at_most) { return {.ratio = at_most}; }
/// To the variant `as_promised` of the same work, or `VARIANT_as_promised`.
constexpr Goal promised(double at_most) { return {.promised = at_most}; }

/// Processor time of this thread: what other programs take is not counted.
inline double thread_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// What is not to be done besides.
struct Nothing {
  double operator()() const noexcept { return 0; }
};

/// One variant being measured.
class Measure {
 public:
  Measure(benchmark::State& state, const std::string& name, Goal goal) : state_(state), name_(name), goal_(goal) {}

  /// `body` is timed and does `items` things at once; `before` runs ahead of each, untimed.
  template <class Before, class Body>
  void run(std::uint64_t items, Before before, Body body) {
    // Under callgrind, which looks on between start and stop only, two rounds warm up and the third is counted. One loop for
    // both, so that what is counted is the code that is timed.
    const bool counting = std::getenv("BENCH_INSTRUCTIONS") != nullptr;
    [[maybe_unused]] const std::string mark = name_ + ' ' + std::to_string(items);
    int left = 3;
    while (counting ? left-- > 0 : state_.KeepRunning()) {
      if constexpr (!std::is_same_v<Before, Nothing>) {
        if (!counting) state_.PauseTiming();
        before();
        if (!counting) state_.ResumeTiming();
      }
      if (counting && left == 0) CALLGRIND_START_INSTRUMENTATION;
      body();
      if (counting && left == 0) {
        CALLGRIND_DUMP_STATS_AT(mark.c_str());
        CALLGRIND_STOP_INSTRUMENTATION;
      }
    }
    if (counting) return state_.SkipWithError("counted");
    report(items);
  }
  template <class Body>
  void run(std::uint64_t items, Body body) {
    run(items, Nothing{}, body);
  }
  /// `body` and its limit in turns, some ten milliseconds each: memory that many programs share is as fast for the one
  /// as for the other. What is reported is the median of the ratios. Needs a row that says `in_turns`.
  template <class Limit, class Body>
  void run_beside(std::uint64_t items, Limit limit, Body body) {
    if (std::getenv("BENCH_INSTRUCTIONS")) return run(items, body);
    const std::uint64_t times = std::max<std::uint64_t>(20'000'000 / items, 1);
    std::vector<double> ratios;
    while (state_.KeepRunning()) {
      const double begin = thread_ns();
      for (std::uint64_t i = 0; i < times; ++i) limit();
      const double between = thread_ns();
      for (std::uint64_t i = 0; i < times; ++i) body();
      const double ns = thread_ns() - between;
      state_.SetIterationTime(ns * 1e-9);
      ratios.push_back(ns / (between - begin));
    }
    report_ratio(ratios);
    report(items * times);
  }
  /// The same for work that goes on: `before` runs ahead of each turn, untimed, and a turn is one `limit` and one `body`. `besides`: what
  /// `body` took that this thread did not do. ns.
  template <class Before, class Limit, class Body, class Besides = Nothing>
  void run_beside(std::uint64_t items, Before before, Limit limit, Body body, Besides besides = {}) {
    if (std::getenv("BENCH_INSTRUCTIONS")) return run(items, before, body);
    std::vector<double> ratios;
    while (state_.KeepRunning()) {
      before();
      const double begin = thread_ns();
      limit();
      const double between = thread_ns();
      body();
      const double ns = thread_ns() - between + besides();
      state_.SetIterationTime(ns * 1e-9);
      ratios.push_back(ns / (between - begin));
    }
    report_ratio(ratios);
    report(items);
  }
  /// Says nothing in this run.
  void skip() { state_.SkipWithError("counted elsewhere"); }
  /// Memory instead of time.
  void bytes(double per_item) {
    for (auto _ : state_) {
    }
    state_.counters["bytes"] = per_item;
    if (goal_.bytes > 0) state_.counters["goal_bytes"] = goal_.bytes;
  }

 private:
  void report_ratio(std::vector<double>& ratios) {
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    state_.counters["ratio"] = *middle;
  }
  void report(std::uint64_t items) {
    state_.SetItemsProcessed(static_cast<std::int64_t>(static_cast<std::uint64_t>(state_.iterations()) * items));
    if (goal_.ratio > 0) state_.counters["goal"] = goal_.ratio;
    if (goal_.promised > 0) state_.counters["goal_promised"] = goal_.promised;
  }
  benchmark::State& state_;
  const std::string& name_;
  Goal goal_;
};

enum class Turns : bool { alone, in_turns };
/// Registers a variant: `name` is WORK/VARIANT; the variant `limit` is what the others of the same work are divided by,
/// except those that run in turns with it.
struct Entry {
  Entry(const std::string& name, Goal goal, void (*measure)(Measure&), Turns turns = Turns::alone) {
    auto* const row = benchmark::RegisterBenchmark(name.c_str(), [name, goal, measure](benchmark::State& state) {
      Measure one(state, name, goal);
      measure(one);
    });
    if (turns == Turns::in_turns) row->UseManualTime();
  }
};

/// A served world's features: an input sink (so that the seal is paid for), versions, and a reader of the past.
struct Features final : muster::InputSink, muster::ColumnPreserver {
  std::uint64_t inputs = 0, bytes = 0, kept = 0;
  void on_input(const muster::Envelope&, std::span<const std::byte> batch) override {
    ++inputs;
    bytes += batch.size();
  }
  bool wants_receipts(muster::InputKind) const noexcept override { return false; }
  void before_write(const muster::Chunk&, std::uint32_t) override { ++kept; }
  void before_recycle(const muster::Chunk&) override {}
};
struct World {
  Features features;
  muster::EntityRegistry registry;
  World() {
    registry.host().add_sink(features);
    registry.host().add_preserver(features);
  }
  ~World() { registry.host().remove_preserver(features); }
  /// As after a checkpoint: every column's next write is its first.
  void checkpoint() { registry.host().begin_version(); }
};

/// Made once per program and kept: to build a large world again for every repetition would take most of the time.
template <class T>
T& kept() {
  static T one;
  return one;
}

inline std::vector<std::uint32_t> shuffled(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  std::mt19937 random(7);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// For benchmarks without a goal (arena_bench.cc).
inline void items(benchmark::State& state, std::uint64_t per_iteration) {
  state.SetItemsProcessed(static_cast<std::int64_t>(static_cast<std::uint64_t>(state.iterations()) * per_iteration));
}

}  // namespace bench
