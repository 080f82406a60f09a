// Equal inputs produce equal bits only if every floating-point operation is rounded separately, as
// IEEE 754 specifies. Compilers do so with -ffp-contract=off and without -ffast-math, but there is
// no macro that reveals the former. Therefore, this header tests a few operations, which are
// compiled with the flags of the file that includes it.
#pragma once

#include <bit>
#include <cfloat>
#include <cstdint>
#include <functional>
#include <string>

#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
#error "muster: x87 gives floats excess precision, so results differ elsewhere: add -msse2 -mfpmath=sse"
#endif

namespace muster {

/// Bits of the result of arithmetic_here(). 0 means that every operation is rounded separately.
enum Arithmetic : std::uint32_t {
  arithmetic_contracted = 1,  ///< a * b + c is rounded once: -ffp-contract=off is missing
  arithmetic_fast = 2,        ///< -ffast-math, or one of the options that it implies, is set
};

/// Explains what is wrong with code for which arithmetic_here() returned `found`, and how to fix
/// it, in a phrase such as "was compiled with ...". Returns an empty string if `found` is 0.
[[nodiscard]] std::string arithmetic_fault(std::uint32_t found);
/// Explains what is wrong with how the processor rounds results on this thread, in a phrase such as
/// "flushes ...". Returns an empty string if nothing is wrong.
[[nodiscard]] std::string rounding_fault();
/// Reports a fault of this thread, or else one of the code, to `told`, or to stderr if `told` is
/// null. Reports each sentence only once per process. May be called from any thread.
void warn_of_arithmetic(std::uint32_t found, const std::function<void(const std::string&)>& told = {});

namespace detail {

/// Checks the compiler flags of the calling file and returns bits of Arithmetic. They hold only
/// if rounding_fault() is empty. Each file has its own copy, which the linker cannot merge.
[[maybe_unused, gnu::noinline]] static std::uint32_t arithmetic_here() noexcept {
  const auto unknown = [](float value) {
    const volatile float seen = value;
    return seen;
  };
  const auto is = [](float value, float expected) {
    return std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(expected);
  };
  std::uint32_t found = 0;
  const float more = unknown(1.0f + 0x1p-13f), less = unknown(1.0f - 0x1p-13f), one = unknown(1.0f);
  if (!is(more * less - one, 0.0f)) found |= arithmetic_contracted;
  const float large = unknown(0x1p30f), five = unknown(5.0f), minus_zero = unknown(-0.0f);
  const bool as_written =
      is(one + large - large, 0.0f) && is(five / 3.0f, 0x1.aaaaaap+0f) && is(minus_zero + 0.0f, 0.0f);
#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
  found |= arithmetic_fast;
#endif
  if (!as_written) found |= arithmetic_fast;
  return found;
}

}  // namespace detail
}  // namespace muster
