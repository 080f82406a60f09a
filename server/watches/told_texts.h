// Texts go ahead of what mentions them.
#pragma once

#include "messages/type_table.h"
#include "server/session/session.h"
#include "server/watches/seen_state.h"

namespace muster {

/// About how many bytes it takes to send those that are mentioned and that this session has not been sent; one that is mentioned twice
/// counts twice.
std::size_t unsent_bytes(const Session& to, const SeenState& world, Text text);
std::size_t unsent_bytes(const Session& to, const SeenState& world, const TypeDescriptor& type, const std::byte* value);
std::size_t unsent_bytes(const Session& to, const SeenState& world, const TypeTable& types, BatchView batch);
/// Sends the texts that a value of `type` mentions and this session has not been sent.
void send_texts(Session& to, const SeenState& world, const TypeDescriptor& type, const std::byte* value);
/// Sends the texts that the payloads of a batch mention, row sets included.
void send_texts(Session& to, const SeenState& world, const TypeTable& types, BatchView batch);

}  // namespace muster
