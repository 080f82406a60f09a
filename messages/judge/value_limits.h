// Checks limits on well-formed numbers and strings that come from outside: from a socket, from user
// input, or from a template file. Values from the program's own handlers are not checked.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messages/judge/verifier.h"
#include "messages/type_table.h"

namespace muster {

/// Returns the reason why a client may not send the number of kind `kind` at `at`. The reason is
/// either that a float is not finite or that the number is outside its field's `range`. Bounds are
/// compared in the field's own type, so that 0.1 as a float is within 0.1..1. Returns nothing if
/// the number is allowed, or if `kind` is not a number.
[[nodiscard]] std::optional<Fault> number_fault(const FieldDescriptor& field, FieldKind kind,
                                                const std::byte* at) noexcept;

/// Returns the second part of a sentence about a number that number_fault() refuses, such as "is
/// 300, it takes a number from 0 to 100 (hp)".
[[nodiscard]] std::string number_fault_text(const TypeTable& types, const FieldDescriptor& field, FieldKind kind,
                                            const std::byte* at);

/// Returns the index of the first of `count` consecutive floats that is not finite. Returns `count`
/// if all are finite or `kind` is not a float.
[[nodiscard]] std::size_t first_not_finite(FieldKind kind, const std::byte* at, std::size_t count) noexcept;

/// Checks `part`, which contains the bytes of a value of `type` starting at `begin`. `part` must
/// not begin or end in the middle of a number. `limits` must be the result of TypeTable::limits()
/// for the type. The fault's offset is `offset` plus the offset within the value.
[[nodiscard]] std::expected<void, BatchFault> check_limits(std::span<const ValueLimit> limits,
                                                           std::span<const std::byte> part, std::size_t begin,
                                                           std::size_t offset, const TypeDescriptor& type,
                                                           const TypeTable& types);

}  // namespace muster
