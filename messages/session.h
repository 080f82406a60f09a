// The messages that client and server say to each other about a world (schema/session.fbs), and how to put their tables
// into batches and out again.
#pragma once

#include "messages/batch_writer.h"
#include "schema/session.h"

namespace muster::session {

/// Versions of the protocol that this build speaks: docs/protocol.md.
constexpr std::uint32_t protocol_newest = 1;
constexpr std::uint32_t protocol_oldest = 1;

/// Appends a table message, for the world or the session as a whole.
template <TableMessageType T>
void append(BatchWriter& out, const T& message) {
  out.append_table(TypeTraits<T>::id, Entity{}, encode(message));
}
/// Appends a struct message, for the world or the session as a whole.
template <MessageType T>
void append(BatchWriter& out, const T& message) {
  out.append_world(message);
}

/// The first message of a batch of this type that verify_batch passed.
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
