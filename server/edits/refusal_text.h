// Explains the world's refusals to sessions.
#pragma once

#include <cstddef>
#include <span>

#include "messages/session.h"
#include "registry/entity_registry.h"
#include "server/session/server_limits.h"

namespace muster {

/// The fault for an input of which something was refused, with what the field holds now. Owner's
/// thread, right after the input. `edit`: the input's batch, for what it says of names; empty: not
/// known.
session::Fault refusal_fault(const EntityRegistry& registry, const ServerLimits& limits, const Receipt& receipt,
                             std::span<const std::byte> edit = {});

}  // namespace muster
