// Formats numbers the way the world file stores them in text.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace muster {

/// Returns the number as 16 hexadecimal digits.
[[nodiscard]] inline std::string hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace muster
