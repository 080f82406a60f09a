// Checks the values that some messages of muster.fbs carry as plain bytes. The checks determine
// only whether a client may send the numbers and strings in a value; the registry checks whether
// the value is valid in the world. The checks skip values that do not match their type.
#pragma once

#include <cstddef>
#include <expected>
#include <span>

#include "messages/judge/verifier.h"
#include "schema/muster.h"

namespace muster {

constexpr bool carries_field(TypeId message) noexcept {
  return message == TypeTraits<SetField>::id || message == TypeTraits<SetFieldIf>::id;
}
constexpr bool carries_template(TypeId message) noexcept { return message == TypeTraits<DefineTemplate>::id; }

/// Checks a `payload` that begins with a SetField. `offset` is the payload's offset in the batch. A
/// returned fault names the component's type and field.
[[nodiscard]] std::expected<void, BatchFault> check_carried_field(std::span<const std::byte> payload,
                                                                  std::size_t offset, const TypeTable& types);

/// Checks a `table` that is a DefineTemplate accepted by check_table(). A returned fault names the
/// value's type and field, has the offset `offset`, and names the node in its text. Returns the
/// fault bad_table if values are shared so often that their total size exceeds a small multiple of
/// the table's length.
[[nodiscard]] std::expected<void, BatchFault> check_carried_template(std::span<const std::byte> table,
                                                                     std::size_t offset, const TypeTable& types,
                                                                     const VerifierLimits& limits);

}  // namespace muster
