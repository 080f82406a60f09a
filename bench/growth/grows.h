// Works that are measured at two sizes or more, per item.
#pragma once

#include <initializer_list>
#include <string>

#include "bench/support.h"

namespace bench {

/// Registers a work at several sizes, with names such as subscribe/100 and subscribe/1k.
struct Grows {
  using Work = void (*)(Measure&, std::uint32_t size);
  Grows(const char* work, std::initializer_list<std::uint32_t> sizes, Work measured) {
    for (const std::uint32_t size : sizes) {
      const std::string name = std::string(work) + '/' + shown(size);
      const Goal goal = size == *sizes.begin() ? no_goal : ratio(2);
      benchmark::RegisterBenchmark(name.c_str(), [name, goal, size, measured](benchmark::State& state) {
        Measure one(state, name, goal);
        measured(one, size);
      });
    }
  }
  static std::string shown(std::uint32_t size) {
    if (size % 1'000'000 == 0) return std::to_string(size / 1'000'000) + 'm';
    if (size % 1000 == 0) return std::to_string(size / 1000) + 'k';
    return std::to_string(size);
  }
};

}  // namespace bench
