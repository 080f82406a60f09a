// Values that messages of muster.fbs carry as plain bytes. Whether they fit the world is the registry's to say; what is judged here is
// only whether somebody outside may send such numbers and texts. What does not fit its type is passed over.
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

/// `payload` begins with a SetField; `offset`: its place in the batch. A fault's type and field are those of the component.
[[nodiscard]] std::expected<void, BatchFault> check_carried_field(std::span<const std::byte> payload,
                                                                  std::size_t offset, const TypeTable& types);

/// `table` is a DefineTemplate that check_table() passed. A fault's type and field are those of the value, its text names the node, its
/// offset is `offset`. Values that are shared so often that they come to a multiple of the table's length are a bad_table.
[[nodiscard]] std::expected<void, BatchFault> check_carried_template(std::span<const std::byte> table,
                                                                     std::size_t offset, const TypeTable& types,
                                                                     const VerifierLimits& limits);

}  // namespace muster
