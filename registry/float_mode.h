// How the processor computes with floating-point numbers on the calling thread: how it rounds,
// whether it takes denormal numbers for zero, and what traps. Equal inputs have equal results only
// in one mode, so a handler must leave the mode as it was.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

struct FloatMode {
  std::uint32_t rounding = 0;  ///< as std::fegetround()
  std::uint32_t control = 0;   ///< control register for scalars and vectors, without sticky flags
  std::uint32_t extended = 0;  ///< control register for `long double`
  bool operator==(const FloatMode&) const = default;
};

/// Returns the mode of the calling thread, within a few nanoseconds.
[[nodiscard]] FloatMode float_mode() noexcept;
/// Sets the mode of the calling thread. Exceptions that were raised before remain raised.
void set_float_mode(const FloatMode& mode) noexcept;
/// Says how `mode` differs from `usual`, for example "rounds upward and flushes denormal numbers to
/// zero". The modes must be different.
[[nodiscard]] std::string float_mode_text(const FloatMode& mode, const FloatMode& usual);

}  // namespace muster
