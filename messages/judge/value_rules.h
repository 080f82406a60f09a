// Applies the rules that determine whether bytes are a valid struct value. The rules concern bools,
// enums, and padding. value_limits.h checks limits on values from outside.
#pragma once

#include <cstddef>
#include <span>

#include "messages/judge/verifier.h"
#include "messages/type_table.h"

namespace muster {

/// Returns the first rule, in byte order, that `value` violates, or null if it violates none.
/// `rules` are the rules of the value's type.
[[nodiscard]] const ValueRule* first_broken(std::span<const ValueRule> rules, const std::byte* value) noexcept;

/// Returns a fault that describes how `value`, at `offset` in the batch, violates the rule.
[[nodiscard]] std::unexpected<BatchFault> broken(const ValueRule& rule, const std::byte* value, std::size_t offset,
                                                 const TypeDescriptor& type);

/// Corrects `value`, at `offset` in the batch, so that it obeys the rule, and records the
/// correction in `mended`.
void mend(const ValueRule& rule, std::byte* value, std::size_t offset, const TypeDescriptor& type, Mended& mended);

}  // namespace muster
