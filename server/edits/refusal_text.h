// Generates the texts that explain to sessions why the world refused an input.
#pragma once

#include <cstddef>
#include <span>

#include "messages/session.h"
#include "registry/entity_registry.h"
#include "server/session/server_limits.h"

namespace muster {

/// Returns the fault for an input that was partly or completely refused, including the current
/// value of the affected field. Must be called on the world thread, directly after the input.
/// `edit` is the input's batch, from which names are taken. It may be empty if the batch is not
/// known.
session::Fault refusal_fault(const EntityRegistry& registry, const ServerLimits& limits, const Receipt& receipt,
                             std::span<const std::byte> edit = {});

}  // namespace muster
