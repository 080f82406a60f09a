// Finds out what an edit would do, without doing it. The edit is pushed to a PartialCopy of the
// world, so the code that judges and applies it is the code that would apply it to the world.
#pragma once

#include <expected>

#include "messages/session.h"
#include "registry/entity_registry.h"
#include "server/session/server_limits.h"

namespace muster {

/// Returns what the edit would do if it were pushed now, or the Fault with which it would be
/// answered. Changes nothing. In both, `sequence` is the world's. The batch must have been judged
/// (judge() in server/session/judge.h, and Intake::judge()) and must not contain messages of the
/// game; a Step is possible only in a world that keeps a history. Must be called on the world
/// thread, between inputs.
///
/// If handlers follow edits and write values, an edit can have another result after them than a dry
/// run says, because a dry run calls no handlers.
[[nodiscard]] std::expected<session::WouldChange, session::Fault> dry_run(const EntityRegistry& registry,
                                                                          const ServerLimits& limits, BatchView edit);

}  // namespace muster
