// Judges what the author of an edit believes of the world (schema/expecting.fbs).
#pragma once

#include <optional>
#include <vector>

#include "messages/session.h"
#include "registry/entity_registry.h"
#include "server/session/seen_now.h"
#include "server/session/server_limits.h"
#include "server/session/steps.h"

namespace muster {

/// Returns a fault for the first expectation that the world does not meet; its `value` contains the
/// actual value: bytes of the component or field, an Entity for a parent, the bytes of a name, or a
/// number of 4 bytes for descendants. What `sight` hides does not exist; it is null for users who
/// see everything. Counts the cost in `steps`. Must be called on the world thread, between inputs.
[[nodiscard]] std::optional<session::Fault> unmet_expectation(const EntityRegistry& registry,
                                                              const ServerLimits& limits,
                                                              const std::vector<session::Expectation>& expected,
                                                              SeenNow* sight, Steps& steps);

}  // namespace muster
