// Sizes and names of the small enums in schema/descriptor.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/descriptor.h"

namespace muster {

/// Returns the size in bytes of one value of this kind. For a string, vector, or table, returns the
/// size of its offset. For structs, use TypeDescriptor::size.
constexpr std::uint32_t scalar_bytes(FieldKind kind) noexcept {
  switch (kind) {
    case FieldKind::boolean:
    case FieldKind::int8:
    case FieldKind::uint8: return 1;
    case FieldKind::int16:
    case FieldKind::uint16: return 2;
    case FieldKind::int64:
    case FieldKind::uint64:
    case FieldKind::float64:
    case FieldKind::entity:
    case FieldKind::text: return 8;
    default: return 4;
  }
}

/// Formats an integer in decimal. For a uint64, `value` has the same bits, so a negative value
/// represents a number above 2^63 - 1.
inline std::string integer_text(FieldKind kind, std::int64_t value) {
  return kind == FieldKind::uint64 ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
}

/// The names that the `remote` attribute uses for rights, in ascending order of the rights.
constexpr std::array<std::string_view, 5> right_names = {"none", "view", "edit", "control", "admin"};

/// Returns the name of a right, or "unknown" if the number is not a right.
constexpr std::string_view right_name(RemoteRight right) noexcept {
  const auto at = static_cast<std::size_t>(right);
  return at < right_names.size() ? right_names[at] : "unknown";
}
/// Returns the right with this name, if there is one.
constexpr std::optional<RemoteRight> right_named(std::string_view name) noexcept {
  const auto at = std::ranges::find(right_names, name);
  if (at == right_names.end()) return std::nullopt;
  return static_cast<RemoteRight>(at - right_names.begin());
}

}  // namespace muster
