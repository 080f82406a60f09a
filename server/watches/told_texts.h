// Sends interned texts before the frames that contain their hashes.
#pragma once

#include "messages/type_table.h"
#include "server/mirror/seen_state.h"
#include "server/session/session.h"

namespace muster {

/// Returns the approximate size in bytes of the interned texts in a value or batch that this
/// session has not received. If a text occurs twice, it is counted twice.
std::size_t unsent_bytes(const Session& to, const SeenState& world, Text text);
std::size_t unsent_bytes(const Session& to, const SeenState& world, const TypeDescriptor& type, const std::byte* value);
std::size_t unsent_bytes(const Session& to, const SeenState& world, const TypeTable& types, BatchView batch);
/// Sends the interned texts in a value of `type` that this session has not yet received.
void send_texts(Session& to, const SeenState& world, const TypeDescriptor& type, const std::byte* value);
/// Sends the interned texts in a batch's payloads, including row sets, that this session has not
/// yet received.
void send_texts(Session& to, const SeenState& world, const TypeTable& types, BatchView batch);

}  // namespace muster
