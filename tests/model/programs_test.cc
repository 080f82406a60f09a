#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/model/program.h"
#include "tests/model/settings.h"

using namespace naive;

namespace {

/// Over the registry's hashes after every step of the first 200 programs: every compiler, build and number of workers must
/// come to it. Who changes what programs do, or what they are, puts the number here that the test prints then.
const std::string hash_of_200 = "ebe1550fe4afba98";

}  // namespace

// MUSTER_MODEL_PROGRAMS: how many; MUSTER_MODEL_SEED: the first seed. In tools/soak the first 10,000, and then new ones.
TEST_CASE("random programs do on the registry what they do on a naive model, order and state") {
  // At least as many as the hash is of. A sanitizer makes each three times as dear.
  Seeds seeds("MUSTER_MODEL_PROGRAMS", "MUSTER_MODEL_SEED", under_sanitizer ? 250 : 500, 10'000);
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
    if (report.steps < 200) FAIL("seed " << seed << " has only " << report.steps << " operations");
    steps += report.steps;
    if (seeds.done() <= 200) hash = (hash ^ report.hash) * 0x100000001b3ull + 1;
    for (const auto& [what, times] : report.covered) covered[what] += times;
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  std::printf(
      "%llu programs, seeds %s, %llu operations; hash of the first %llu: %s\n",
      static_cast<unsigned long long>(seeds.done()), seeds.text().c_str(), static_cast<unsigned long long>(steps),
      static_cast<unsigned long long>(std::min<std::uint64_t>(seeds.done(), 200)), static_cast<const char*>(text));
  for (const auto& [what, times] : covered)
    std::printf("  %9llu  %s\n", static_cast<unsigned long long>(times), what.c_str());
  std::size_t met = 0;
  for (const std::string& feature : features()) met += covered[feature] > 0;
  std::printf("%zu of %zu features met\n", met, features().size());
  if (seeds.first() == 1 && seeds.done() >= 200) {
    CHECK(text == hash_of_200);
  }
  if (seeds.first() == 1 && seeds.done() >= 300)
    for (const std::string& feature : wide_features()) {
      INFO(feature);
      CHECK(covered[feature] > 0);
    }
  if (seeds.done() < 200) return;  // too few to meet everything
  for (const std::string& feature : features()) {
    INFO(feature);
    CHECK(covered[feature] > 0);
  }
}

namespace {

/// As hash_of_200, of programs in which enableable components are drawn too.
const std::string hash_of_enableable = "dccbf559ffa6dedb";

}  // namespace

// The same variables. In tools/soak at least 10,000.
TEST_CASE(
    "random programs with components that come and go without moving rows do on the registry what they do on a naive "
    "model") {
  Seeds seeds("MUSTER_MODEL_PROGRAMS", "MUSTER_MODEL_SEED", under_sanitizer ? 150 : 300, 10'000);
  std::map<std::string, std::uint64_t> covered;
  std::uint64_t hash = 0;
  for (std::uint64_t seed = 0; seeds.next(seed);) {
    Program program = make_program(seed);
    program.enableable = true;
    Report report = run(program);
    if (report.failure) {
      std::printf("seed %llu fails; made small:\n%s", static_cast<unsigned long long>(seed),
                  explain(shrink(program)).c_str());
      std::fflush(stdout);
      FAIL("seed " << seed << ", step " << report.failure->step << ": " << report.failure->what);
    }
    if (seeds.done() <= 100) hash = (hash ^ report.hash) * 0x100000001b3ull + 1;
    for (const auto& [what, times] : report.covered) covered[what] += times;
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  std::printf("%llu programs, seeds %s; hash of the first 100: %s\n", static_cast<unsigned long long>(seeds.done()),
              seeds.text().c_str(), static_cast<const char*>(text));
  for (const std::string& feature : enableable_features())
    std::printf("  %9llu  %s\n", static_cast<unsigned long long>(covered[feature]), feature.c_str());
  if (seeds.first() == 1 && seeds.done() >= 100) {
    CHECK(text == hash_of_enableable);
  }
  if (seeds.done() < 300) return;  // too few to meet everything
  for (const std::string& feature : enableable_features()) {
    INFO(feature);
    CHECK(covered[feature] > 0);
  }
}
