#include "registry/arithmetic.h"

#include <atomic>
#include <cfenv>
#include <cstdio>
#include <limits>

namespace muster {
namespace {

bool flushes_denormals() {
  const volatile double smallest_normal = std::numeric_limits<double>::min();
  const volatile double smallest = std::numeric_limits<double>::denorm_min();
  const volatile double half = smallest_normal / 2;   // 0 if results are flushed to zero
  const volatile double twice = smallest + smallest;  // 0 if operands are flushed to zero
  return std::bit_cast<std::uint64_t>(double{half}) == 0 || std::bit_cast<std::uint64_t>(double{twice}) == 0;
}

}  // namespace

std::string arithmetic_fault(std::uint32_t found) {
  if (found & arithmetic_fast)
    return "was compiled with -ffast-math or one of its parts, so the same inputs can give different results "
           "elsewhere: "
           "compile without it, or add -fno-fast-math after it";
  if (found & arithmetic_contracted)
    return "was compiled without -ffp-contract=off, so the same inputs can give different results elsewhere: compile "
           "with the flags from `pkg-config --cflags`";
  return {};
}

std::string rounding_fault() {
  if (std::fegetround() != FE_TONEAREST)
    return "does not round floats to nearest, so the same inputs can give different results elsewhere: call "
           "fesetround(FE_TONEAREST)";
  if (flushes_denormals())
    return "flushes denormal floats to zero, so the same inputs can give different results elsewhere: linking a "
           "program or library with -ffast-math turns this on; link without it, or turn it off first (fesetenv)";
  return {};
}

void warn_of_arithmetic(std::uint32_t found, const std::function<void(const std::string&)>& told) {
  static std::atomic<std::uint32_t> said = 0;
  const auto say = [&](std::uint32_t which, const char* who, const std::string& fault) {
    if (fault.empty() || (said.fetch_or(which) & which) != 0) return;
    const std::string sentence = who + fault;
    if (told)
      told(sentence);
    else
      std::fprintf(stderr, "muster: %s\n", sentence.c_str());
  };
  // In another mode, the results of arithmetic_here() say nothing about the compiler's flags.
  const std::string rounding = rounding_fault();
  say(1u << 31, "this thread ", rounding);
  if (rounding.empty()) say(1u << found, "this program ", arithmetic_fault(found));
}

}  // namespace muster
