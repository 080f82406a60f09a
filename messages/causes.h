// Defines the causes stored in batches (messages/batch.h), and converts batches to batches without
// causes. A message's cause identifies the message that led to it.
//
//   cause    | sequence of an input: 40 bits | place: 24 bits |
//   place    position among the messages delivered since that input, from 0; the maximum also stands for all later ones
//   0        no cause, or an unknown one
#pragma once

#include "messages/batch_writer.h"
#include "messages/type_table.h"

namespace muster {

constexpr unsigned cause_place_bits = 24;
constexpr std::uint64_t cause_place_max = (std::uint64_t{1} << cause_place_bits) - 1;

/// Returns the cause of message i of a batch with causes. The batch must not be of kind table or
/// timed. A shared batch has a single cause.
inline std::uint64_t cause_of(const BatchView& batch, std::uint32_t i) noexcept {
  const std::byte* const at = batch.kind() == BatchKind::shared  ? batch.body()
                              : batch.kind() == BatchKind::world ? batch.item(i)
                                                                 : batch.item(i) + 8;
  std::uint64_t cause;
  std::memcpy(&cause, at, sizeof cause);
  return cause;
}
/// Returns the cause of the table item at `at`, in a batch with causes.
inline std::uint64_t table_cause(const std::byte* at) noexcept {
  std::uint64_t cause;
  std::memcpy(&cause, at + 16, sizeof cause);
  return cause;
}

/// Appends the messages of `batch`, starting at index `first`, without their causes. Used for saved
/// state and hashes. `batch` may or may not have causes. `types` must contain the types of the
/// messages.
void append_without_causes(BatchWriter& to, const BatchView& batch, const TypeTable& types, std::uint32_t first = 0);

}  // namespace muster
