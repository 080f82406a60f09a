// That flags which change the bits of floats are found, and no others.
#include "registry/arithmetic.h"

#include <catch2/catch.hpp>

#include <cfenv>
#include <string>
#include <vector>

#if defined __SSE__
#include <immintrin.h>
#endif

using namespace muster;

std::uint32_t as_users_do();
std::uint32_t strict();
std::uint32_t fast();
std::uint32_t fast_unoptimized();
std::uint32_t fast_taken_back();
std::uint32_t unsafe();
std::uint32_t reciprocal();
std::uint32_t without_signed_zeros();
std::uint32_t finite_only();
#if defined __x86_64__
std::uint32_t fused_strict();
std::uint32_t fused();
#endif

TEST_CASE("flags that keep each operation rounded by itself are not told of", "[arithmetic]") {
  CHECK(detail::arithmetic_here() == 0);
  CHECK(as_users_do() == 0);
  CHECK(strict() == 0);
  CHECK(fast_taken_back() == 0);
  CHECK(arithmetic_fault(0).empty());
}

TEST_CASE("fast-math is found, as a whole and in parts, with and without optimization", "[arithmetic]") {
  for (auto* const flags : {fast, fast_unoptimized, unsafe, reciprocal, without_signed_zeros, finite_only})
    CHECK((flags() & arithmetic_fast) != 0);
  CHECK(arithmetic_fault(arithmetic_fast).starts_with("was compiled with -ffast-math"));
  CHECK(arithmetic_fault(arithmetic_fast | arithmetic_contracted).starts_with("was compiled with -ffast-math"));
}

#if defined __x86_64__
TEST_CASE("products and sums that are rounded once are found where the processor has such an operation",
          "[arithmetic]") {
  if (!__builtin_cpu_supports("fma")) return;
  CHECK(fused() == arithmetic_contracted);
  CHECK(fused_strict() == 0);
  CHECK(arithmetic_fault(arithmetic_contracted).starts_with("was compiled without -ffp-contract=off"));
}
#endif

TEST_CASE("a thread that rounds otherwise is found", "[arithmetic]") {
  CHECK(rounding_fault().empty());
  std::fesetround(FE_DOWNWARD);
  const std::string down = rounding_fault();
  std::fesetround(FE_TONEAREST);
  CHECK(down.starts_with("does not round floats to nearest"));
#if defined __SSE__
  const unsigned before = _mm_getcsr();
  for (const unsigned flag : {0x8000u, 0x0040u}) {  // results, operands
    _mm_setcsr(before | flag);
    const std::string flushed = rounding_fault();
    _mm_setcsr(before);
    CHECK(flushed.starts_with("flushes denormal floats to zero"));
  }
#endif
}

TEST_CASE("on a thread that rounds otherwise, a program is not accused of other flags", "[arithmetic]") {
  std::vector<std::string> told;
  std::fesetround(FE_UPWARD);
  warn_of_arithmetic(detail::arithmetic_here(), [&](const std::string& sentence) { told.push_back(sentence); });
  std::fesetround(FE_TONEAREST);
  REQUIRE(told.size() == 1);
  CHECK(told[0].starts_with("this thread does not round floats to nearest"));
}

TEST_CASE("the same warning is given once", "[arithmetic]") {
  std::vector<std::string> told;
  const auto tell = [&](const std::string& sentence) { told.push_back(sentence); };
  warn_of_arithmetic(0, tell);
  CHECK(told.empty());
  for (int i = 0; i < 3; ++i) warn_of_arithmetic(arithmetic_fast, tell);
  REQUIRE(told.size() == 1);
  CHECK(told[0].starts_with("this program was compiled with -ffast-math"));
  warn_of_arithmetic(arithmetic_contracted, tell);
  CHECK(told.size() == 2);
}
