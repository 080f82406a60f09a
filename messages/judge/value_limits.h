// What a number or a text from outside must be, beyond being well-formed: the one rule for what a socket brings, what a person types
// and what a file of templates says. The program's own handlers are not asked.
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

/// Why no outsider may send the number of `kind` at `at`: a float that is not finite, or outside the `range` of its field, compared as the
/// field's own type would hold the bounds (0.1 is in 0.1..1 as a float too). Nothing where it may be sent, or is no number.
[[nodiscard]] std::optional<Fault> number_fault(const FieldDescriptor& field, FieldKind kind,
                                                const std::byte* at) noexcept;

/// "is 300, it takes a number from 0 to 100 (hp)": the end of a sentence about a number that number_fault() names.
[[nodiscard]] std::string number_fault_text(const TypeTable& types, const FieldDescriptor& field, FieldKind kind,
                                            const std::byte* at);

/// The first of `count` floats of `kind` side by side that is not finite; `count` where all are, or where `kind` is none of a float.
[[nodiscard]] std::size_t first_not_finite(FieldKind kind, const std::byte* at, std::size_t count) noexcept;

/// Why bytes are no text: "has a zero byte at 3", "is no UTF-8 at byte 3". Empty where they are one.
[[nodiscard]] std::string text_fault(std::string_view text);

/// Checks a part of one value of `type`: `part` are its bytes from `begin` on, whole numbers. `limits` are TypeTable::limits of the type;
/// empty ones cost nothing. The fault's offset is that in the value, plus `offset`.
[[nodiscard]] std::expected<void, BatchFault> check_limits(std::span<const ValueLimit> limits,
                                                           std::span<const std::byte> part, std::size_t begin,
                                                           std::size_t offset, const TypeDescriptor& type,
                                                           const TypeTable& types);

}  // namespace muster
