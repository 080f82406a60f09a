// Defines the messages exchanged by clients and servers (schema/session.fbs), and functions that
// write them to batches and read them from batches.
#pragma once

#include "messages/batch_writer.h"
#include "schema/session.h"

namespace muster::session {

/// Range of protocol versions (docs/protocol.md) that this build supports.
constexpr std::uint32_t protocol_newest = 1;
constexpr std::uint32_t protocol_oldest = 1;

/// Appends a table message that is addressed to the world or session rather than to an entity.
template <TableMessageType T>
void append(BatchWriter& out, const T& message) {
  out.append_table(TypeTraits<T>::id, Entity{}, encode(message));
}
/// Appends a struct message that is addressed to the world or session rather than to an entity.
template <MessageType T>
void append(BatchWriter& out, const T& message) {
  out.append_world(message);
}

/// Returns the first message of `batch`, which must be of type T and must have been accepted by
/// verify_batch().
template <TableMessageType T>
[[nodiscard]] T read(BatchView batch) {
  return TypeTraits<T>::View::from(table_item(batch, batch.body()).table).decode();
}
template <MessageType T>
[[nodiscard]] T read(BatchView batch) {
  T message;
  std::memcpy(&message, batch.payload(0), sizeof message);
  return message;
}

}  // namespace muster::session
