// Formats hashes and checksums as hexadecimal digits.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace muster {

/// Returns two digits per byte, in lower case.
[[nodiscard]] inline std::string hex(std::span<const unsigned char> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

/// Returns the number as 16 digits.
[[nodiscard]] inline std::string hex(std::uint64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (56 - 8 * i));
  return hex(bytes);
}

}  // namespace muster
