// Leaves out of an event what the user of a watch may not see.
#pragma once

#include <optional>
#include <vector>

#include "messages/batch.h"
#include "messages/type_table.h"
#include "server/mirror/seen_state.h"
#include "server/watches/watch_asked.h"

namespace muster {

/// Returns true if a user with this sight is sent events of the type. Messages of Muster itself,
/// such as Create and Set, are not sent, because a watch sends what they change.
bool tells_events_of(TypeId type, const WatchSight& sight, const TypeTable& types);

/// Returns the event without the targets that are hidden or not alive, or nothing if none is left.
/// The result refers to the event's bytes or to `room`. Timed messages are never returned, because
/// they are events when they become due.
std::optional<BatchView> visible_part(BatchView event, const WatchSight& sight, const SeenState& world,
                                      std::vector<std::byte>& room);

}  // namespace muster
