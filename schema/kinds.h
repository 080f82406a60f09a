// Sizes and words of the small enums in schema/descriptor.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/descriptor.h"

namespace muster {

/// Bytes of one number, flag, entity or text. Of what a table only points to (string, vector, table): of the pointer.
/// Not of a struct, whose TypeDescriptor says its size.
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

/// An integer of this kind in digits. Of a uint64 `value` holds the bits, so a negative one is above 2^63 - 1.
inline std::string integer_text(FieldKind kind, std::int64_t value) {
  return kind == FieldKind::uint64 ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
}

/// As schemas write them in the attribute `remote`, in ascending order.
constexpr std::array<std::string_view, 5> right_names = {"none", "view", "edit", "control", "admin"};

/// "edit"; "unknown" of a number that is no right.
constexpr std::string_view right_name(RemoteRight right) noexcept {
  const auto at = static_cast<std::size_t>(right);
  return at < right_names.size() ? right_names[at] : "unknown";
}
/// The right of that name; nothing where there is none.
constexpr std::optional<RemoteRight> right_named(std::string_view name) noexcept {
  const auto at = std::ranges::find(right_names, name);
  if (at == right_names.end()) return std::nullopt;
  return static_cast<RemoteRight>(at - right_names.begin());
}

}  // namespace muster
