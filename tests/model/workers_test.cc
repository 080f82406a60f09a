#include <catch2/catch.hpp>
#include <cstdlib>

#include "registry/delivery/thread_pool.h"
#include "tests/model/program.h"
#include "tests/model/settings.h"

using namespace naive;

// MUSTER_WORKER_PROGRAMS: how many; MUSTER_MODEL_SEED: the first seed.
TEST_CASE("random programs come to the same state on 1, 2 and 4 workers, after every step", "[workers]") {
  const std::uint64_t usual = under_sanitizer ? 20 : std::getenv("MUSTER_SOAK_MINUTES") ? 2000 : 100;
  const std::uint64_t count = number_in("MUSTER_WORKER_PROGRAMS", usual);
  const std::uint64_t first = number_in("MUSTER_MODEL_SEED", 1);
  muster::ThreadPool two(2), four(4);
  std::uint64_t spread = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Program program = make_program(seed);
    program.other_way = false;
    const Report one = run(program);
    for (muster::ThreadPool* pool : {&two, &four}) {
      program.executor = pool;
      Report several = run(program);
      INFO("seed " << seed << ", " << pool->workers() << " workers");
      if (several.failure) FAIL("step " << several.failure->step << ": " << several.failure->what);
      REQUIRE(several.steps == one.steps);
      REQUIRE(several.hash == one.hash);
      spread += several.covered["passes spread"];
    }
  }
  CHECK(spread > count);
}

// The same variables.
TEST_CASE(
    "random programs with components that come and go without moving rows come to the same state on 1 to 4 workers",
    "[workers]") {
  const std::uint64_t usual = under_sanitizer ? 10 : std::getenv("MUSTER_SOAK_MINUTES") ? 10'000 : 50;
  const std::uint64_t count = number_in("MUSTER_WORKER_PROGRAMS", usual);
  const std::uint64_t first = number_in("MUSTER_MODEL_SEED", 1);
  muster::ThreadPool two(2), three(3), four(4);
  std::uint64_t spread = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Program program = make_program(seed);
    program.enableable = true;
    program.other_way = false;
    const Report one = run(program);
    for (muster::ThreadPool* pool : {&two, &three, &four}) {
      program.executor = pool;
      Report several = run(program);
      INFO("seed " << seed << ", " << pool->workers() << " workers");
      if (several.failure) FAIL("step " << several.failure->step << ": " << several.failure->what);
      REQUIRE(several.steps == one.steps);
      REQUIRE(several.hash == one.hash);
      spread += several.covered["passes spread"];
    }
  }
  CHECK(spread > count);
}
