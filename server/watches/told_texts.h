// Texts go ahead of what mentions them.
#pragma once

#include "messages/type_table.h"
#include "server/session/session.h"
#include "server/watches/seen_state.h"

namespace muster {

/// Sends the texts that a value of `type` mentions and this session has not been sent.
void send_texts(Session& to, const SeenState& world, const TypeDescriptor& type, const std::byte* value);
/// Sends the texts that the payloads of a batch mention, row sets included.
void send_texts(Session& to, const SeenState& world, const TypeTable& types, BatchView batch);

}  // namespace muster
