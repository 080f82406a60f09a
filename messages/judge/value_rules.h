// What the bytes of one struct value must obey to be a value at all: bools, enums, padding. What outsiders may say besides is
// value_limits.h.
#pragma once

#include <cstddef>
#include <span>

#include "messages/judge/verifier.h"
#include "messages/type_table.h"

namespace muster {

/// The first rule that `value` breaks, in the order of its bytes; null: none. `rules` are those of its type.
[[nodiscard]] const ValueRule* first_broken(std::span<const ValueRule> rules, const std::byte* value) noexcept;

/// Says how `value`, at `offset` in the batch, breaks the rule.
[[nodiscard]] std::unexpected<BatchFault> broken(const ValueRule& rule, const std::byte* value, std::size_t offset,
                                                 const TypeDescriptor& type);

/// Makes `value`, at `offset` in the batch, obey the rule.
void mend(const ValueRule& rule, std::byte* value, std::size_t offset, const TypeDescriptor& type, Mended& mended);

}  // namespace muster
