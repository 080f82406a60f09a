// Battles of the same inputs on 1, 2 and 4 workers.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/skirmish/battle.h"

/// Every pass is spread, however light; compares all hashes after each of `parts`. Returns the last one.
inline std::uint64_t fight_on_several_workers(std::uint32_t entities, std::uint32_t parts, std::uint32_t ticks_each) {
  muster::ThreadPool two(2), four(4);
  const muster::RegistryOptions on_two{.executor = &two, .pass_serial_below_ns = 0};
  const muster::RegistryOptions on_four{.executor = &four, .pass_serial_below_ns = 0};
  Battle a(entities), b(entities, 90, on_two), c(entities, 90, on_four);
  const std::uint64_t begin = a.registry.hash();
  for (std::uint32_t part = 0; part < parts; ++part) {
    for (Battle* battle : {&a, &b, &c}) battle->run(ticks_each);
    INFO("after " << (part + 1) * ticks_each << " ticks");
    REQUIRE(b.registry.hash() == a.registry.hash());
    REQUIRE(c.registry.hash() == a.registry.hash());
  }
  CHECK(a.registry.hash() != begin);
  CHECK(b.registry.host().counters().messages == a.registry.host().counters().messages);
  CHECK(a.registry.profile().pass_counters().spread == 0);
  CHECK(b.registry.profile().pass_counters().spread >= parts * ticks_each);
  CHECK(c.registry.profile().pass_counters().tasks > c.registry.profile().pass_counters().spread * 4);
  std::uint32_t lost = 0;
  a.registry.each<skirmish::Army>([&](const skirmish::Army& army) { lost += army.lost; });
  CHECK(lost > 100);  // there was a battle to agree on
  return a.registry.hash();
}
