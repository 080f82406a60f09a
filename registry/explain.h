// Explains as text how the handlers of a message are spread over workers
// (registry/delivery/schedule.h). Each function returns an empty text if the message has no
// handlers yet.
#pragma once

#include <string>
#include <string_view>

#include "registry/entity_registry.h"

namespace muster {

/// Returns the graph of a message's handlers in Graphviz format. It shows which handler waits for
/// which, and why.
std::string pass_dot(const EntityRegistry& registry, TypeId message);
/// Returns the groups of handlers that may overlap, and whether each handler may be split: over
/// rows, or over the children of a parent.
std::string pass_groups(const EntityRegistry& registry, TypeId message);
/// Explains why two handlers of a message do not overlap or, given the same name twice, why that
/// handler is not split.
std::string why_apart(const EntityRegistry& registry, TypeId message, std::string_view first, std::string_view second);

}  // namespace muster
