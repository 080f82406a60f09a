#include "registry/float_mode.h"

#include <cfenv>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace muster {
namespace {

#if defined(__SSE__)
constexpr std::uint32_t sticky_flags = 0x3f;  // exceptions that were raised
constexpr std::uint32_t to_zero = 0x8000, as_zero = 0x0040;
constexpr std::uint32_t trap_flags = 0x1f80;  // set if they do not trap
constexpr bool set_means_quiet = true;
std::uint32_t control() noexcept { return _mm_getcsr() & ~sticky_flags; }
void set_control(std::uint32_t bits) noexcept { _mm_setcsr(bits | (_mm_getcsr() & sticky_flags)); }
#elif defined(__aarch64__)
constexpr std::uint32_t to_zero = 1u << 24, as_zero = 0;
constexpr std::uint32_t trap_flags = 0x9f00;  // set if they trap
constexpr bool set_means_quiet = false;
std::uint32_t control() noexcept {
  std::uint64_t bits = 0;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return static_cast<std::uint32_t>(bits);
}
void set_control(std::uint32_t bits) noexcept { asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{bits})); }
#else
constexpr std::uint32_t to_zero = 0, as_zero = 0, trap_flags = 0;
constexpr bool set_means_quiet = false;
std::uint32_t control() noexcept { return 0; }
void set_control(std::uint32_t) noexcept {}
#endif

#if defined(__x86_64__) || defined(__i386__)
std::uint32_t extended() noexcept {
  std::uint16_t bits = 0;
  asm volatile("fnstcw %0" : "=m"(bits));
  return bits;
}
void set_extended(std::uint32_t bits) noexcept {
  const auto word = static_cast<std::uint16_t>(bits);
  asm volatile("fldcw %0" : : "m"(word));
}
#else
std::uint32_t extended() noexcept { return 0; }
void set_extended(std::uint32_t) noexcept {}
#endif

const char* rounding_text(std::uint32_t rounding) {
  switch (static_cast<int>(rounding)) {
    case FE_TONEAREST: return "rounds to nearest";
    case FE_UPWARD: return "rounds upward";
    case FE_DOWNWARD: return "rounds downward";
    case FE_TOWARDZERO: return "rounds toward zero";
    default: return "rounds in another way";
  }
}

}  // namespace

FloatMode float_mode() noexcept {
  return {.rounding = static_cast<std::uint32_t>(std::fegetround()), .control = control(), .extended = extended()};
}

void set_float_mode(const FloatMode& mode) noexcept {
  if (float_mode().rounding != mode.rounding) std::fesetround(static_cast<int>(mode.rounding));
  set_extended(mode.extended);
  set_control(mode.control);
}

std::string float_mode_text(const FloatMode& mode, const FloatMode& usual) {
  std::vector<std::string> differs;
  if (mode.rounding != usual.rounding) differs.emplace_back(rounding_text(mode.rounding));
  const std::uint32_t bits = mode.control ^ usual.control;
  if (bits & (to_zero | as_zero))
    differs.emplace_back(mode.control & (to_zero | as_zero) ? "flushes denormal numbers to zero"
                                                            : "does not flush denormal numbers to zero");
  if (bits & trap_flags)
    differs.emplace_back((bits & trap_flags & (set_means_quiet ? usual.control : mode.control))
                             ? "traps on some floating-point results"
                             : "no longer traps on some floating-point results");
  if (differs.empty()) differs.emplace_back("computes with another control register");
  std::string text;
  for (std::size_t i = 0; i < differs.size(); ++i) text += (i ? " and " : "") + differs[i];
  return text;
}

}  // namespace muster
