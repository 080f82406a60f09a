// What the benchmarks share: a sink that counts (so that the seal is paid for), shuffled orders, goals.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "bench/bench.h"
#include "registry/entity_registry.h"

namespace bench {

/// Every registry measured here has one: the features of a served world are switched on.
struct CountingSink final : muster::InputSink {
  std::uint64_t inputs = 0, bytes = 0;
  void on_input(const muster::Envelope&, std::span<const std::byte> batch) override {
    ++inputs;
    bytes += batch.size();
  }
};

inline std::vector<std::uint32_t> shuffled(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  std::mt19937 random(7);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// The ratio to the limit that this variant must reach.
inline void goal(benchmark::State& state, double ratio) { state.counters["goal"] = ratio; }
inline void items(benchmark::State& state, std::uint64_t per_iteration) {
  state.SetItemsProcessed(static_cast<std::int64_t>(static_cast<std::uint64_t>(state.iterations()) * per_iteration));
}

/// What the limits of messages keep: ids checked by generation, rows in plain arrays.
struct PlainSlot {
  std::uint32_t generation, row;
};

}  // namespace bench
