// Helper functions of the verifier that create faults and find nonzero bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <string>
#include <utility>

#include "messages/judge/verifier.h"

namespace muster::detail {

inline std::unexpected<BatchFault> fault(Fault what, std::size_t offset, TypeId type, std::string field,
                                         std::string text) {
  return std::unexpected(BatchFault{what, static_cast<std::uint32_t>(offset), type, std::move(field), std::move(text)});
}

inline std::string number(std::uint64_t value) { return std::to_string(value); }

inline bool all_zero(const std::byte* at, std::size_t bytes) noexcept {
  if (bytes == 8) {  // the most common amount of padding
    std::uint64_t all;
    std::memcpy(&all, at, sizeof all);
    return all == 0;
  }
  std::byte any{};
  for (std::size_t i = 0; i < bytes; ++i) any |= at[i];
  return any == std::byte{};
}

/// Returns the offset of the first nonzero byte, which must exist.
inline std::size_t first_nonzero(const std::byte* at) noexcept {
  std::size_t i = 0;
  while (at[i] == std::byte{}) ++i;
  return i;
}

}  // namespace muster::detail
