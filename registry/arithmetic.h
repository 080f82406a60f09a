// Equal inputs give equal bits only if each floating-point operation is rounded separately, as IEEE
// 754 specifies. Compilers do so with -ffp-contract=off and without -ffast-math, but no macro
// reveals the former. Therefore, this header tests a few operations, compiled with the flags of the
// including file.
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

/// Bits of the result of arithmetic_here(). 0 means that each operation is rounded separately.
enum Arithmetic : std::uint32_t {
  arithmetic_contracted = 1,  ///< a * b + c is rounded once: -ffp-contract=off is missing
  arithmetic_fast = 2,        ///< -ffast-math, or one of the options that it implies
};

/// Explains what is wrong with code for which arithmetic_here() returned `found`, and how to fix
/// it, as in "was compiled with ..."; empty for 0.
[[nodiscard]] std::string arithmetic_fault(std::uint32_t found);
/// Explains what is wrong with the processor's rounding on this thread, as in "flushes ..."; empty
/// if nothing is.
[[nodiscard]] std::string rounding_fault();
/// Reports both to `told`, or to stderr if `told` is null. Prints each sentence once per process.
/// May be called from any thread.
void warn_of_arithmetic(std::uint32_t found, const std::function<void(const std::string&)>& told = {});

namespace detail {

/// Checks the flags of the calling file and returns bits of Arithmetic. Each file has its own copy
/// of the function, so that the linker cannot merge them.
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
