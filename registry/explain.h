// Describes how the handlers of a message are spread over workers (registry/delivery/schedule.h).
// Each function returns an empty string if the message has no handlers yet.
#pragma once

#include <string>
#include <string_view>

#include "registry/entity_registry.h"

namespace muster {

/// Returns the graph of a message's handlers in Graphviz format. It shows which handlers wait for
/// which others, and why.
std::string pass_dot(const EntityRegistry& registry, TypeId message);
/// Returns the groups of handlers that may overlap, and how each handler may be split: over rows,
/// or over the children of a parent.
std::string pass_groups(const EntityRegistry& registry, TypeId message);
/// Explains why two handlers of a message do not overlap. If both names are equal, explains why
/// that handler is not split.
std::string why_apart(const EntityRegistry& registry, TypeId message, std::string_view first, std::string_view second);

}  // namespace muster
