// Accesses numbers in fields whose kind is known only at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "schema/kinds.h"

namespace muster {

template <class T>
T read_number(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Calls f with the number at `at`, in the C++ type of `kind`. If `kind` is not a number, calls
/// otherwise() instead. Both functions must return the same type.
template <class Otherwise, class F>
auto with_number(FieldKind kind, const std::byte* at, Otherwise&& otherwise, F&& f) {
  switch (kind) {
    case FieldKind::int8: return f(read_number<std::int8_t>(at));
    case FieldKind::uint8: return f(read_number<std::uint8_t>(at));
    case FieldKind::int16: return f(read_number<std::int16_t>(at));
    case FieldKind::uint16: return f(read_number<std::uint16_t>(at));
    case FieldKind::int32: return f(read_number<std::int32_t>(at));
    case FieldKind::uint32: return f(read_number<std::uint32_t>(at));
    case FieldKind::int64: return f(read_number<std::int64_t>(at));
    case FieldKind::uint64: return f(read_number<std::uint64_t>(at));
    case FieldKind::float32: return f(read_number<float>(at));
    case FieldKind::float64: return f(read_number<double>(at));
    default: return std::forward<Otherwise>(otherwise)();
  }
}

}  // namespace muster
