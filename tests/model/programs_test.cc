#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "tests/model/program.h"
#include "tests/model/settings.h"

using namespace naive;

// MUSTER_MODEL_PROGRAMS: how many; MUSTER_MODEL_SEED: the first seed; MUSTER_HASH_OUT: a file for the combined hash of the
// first 200, to be compared between builds.
TEST_CASE("random programs do on the registry what they do on a naive model, order and state") {
  Seeds seeds("MUSTER_MODEL_PROGRAMS", "MUSTER_MODEL_SEED", under_sanitizer ? 100 : 1000);
  std::map<std::string, std::uint64_t> covered;
  std::uint64_t steps = 0, hash = 0;
  for (std::uint64_t seed = 0; seeds.next(seed);) {
    const Program program = make_program(seed);
    Report report = run(program);
    if (report.failure) {
      std::printf("seed %llu fails; made small:\n%s", static_cast<unsigned long long>(seed),
                  explain(shrink(program)).c_str());
      std::fflush(stdout);
      FAIL("seed " << seed << ", step " << report.failure->step << ": " << report.failure->what);
    }
    steps += report.steps;
    if (seeds.done() <= 200) hash = (hash ^ report.hash) * 0x100000001b3ull + 1;
    for (const auto& [what, times] : report.covered) covered[what] += times;
  }
  std::printf("%llu programs, seeds from %llu, %llu operations; hash of the first %llu: %016llx\n",
              static_cast<unsigned long long>(seeds.done()), static_cast<unsigned long long>(seeds.first()),
              static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(std::min<std::uint64_t>(seeds.done(), 200)),
              static_cast<unsigned long long>(hash));
  for (const auto& [what, times] : covered)
    std::printf("  %9llu  %s\n", static_cast<unsigned long long>(times), what.c_str());
  if (const char* path = std::getenv("MUSTER_HASH_OUT")) {
    std::ofstream out(path);
    char text[32];
    std::snprintf(text, sizeof text, "%016llx\n", static_cast<unsigned long long>(hash));
    out << text;
    CHECK(out.good());
  }
  if (seeds.done() < 100) return;  // too few to meet everything
  for (const std::string& feature : features()) {
    INFO(feature);
    CHECK(covered[feature] > 0);
  }
}
