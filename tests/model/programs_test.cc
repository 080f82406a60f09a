#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/model/program.h"

using namespace naive;

namespace {

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t programs_usual = 100;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t programs_usual = 100;
#else
constexpr std::uint64_t programs_usual = 1000;
#endif
#else
constexpr std::uint64_t programs_usual = 1000;
#endif

}  // namespace

// MUSTER_MODEL_PROGRAMS: how many; MUSTER_MODEL_SEED: the first seed; MUSTER_HASH_OUT: a file for the combined hash of the
// first 200, to be compared between builds.
TEST_CASE("random programs do on the registry what they do on a naive model, order and state") {
  const std::uint64_t programs = number_in("MUSTER_MODEL_PROGRAMS", programs_usual);
  const std::uint64_t first = number_in("MUSTER_MODEL_SEED", 1);
  std::map<std::string, std::uint64_t> covered;
  std::uint64_t steps = 0, hash = 0, hashed = 0;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = make_program(seed);
    Report report = run(program);
    if (report.failure) {
      std::printf("seed %llu fails; made small:\n%s", static_cast<unsigned long long>(seed),
                  explain(shrink(program)).c_str());
      std::fflush(stdout);
      FAIL("seed " << seed << ", step " << report.failure->step << ": " << report.failure->what);
    }
    steps += report.steps;
    if (hashed++ < 200) hash = (hash ^ report.hash) * 0x100000001b3ull + 1;
    for (const auto& [what, times] : report.covered) covered[what] += times;
  }
  std::printf("%llu programs (seeds %llu to %llu), %llu operations, hash of the first %llu: %016llx\n",
              static_cast<unsigned long long>(programs), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + programs - 1), static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(std::min<std::uint64_t>(hashed, 200)),
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
  if (programs < 100) return;  // too few to meet everything
  for (const std::string& feature : features()) {
    INFO(feature);
    CHECK(covered[feature] > 0);
  }
}
