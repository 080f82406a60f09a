// Names and paths as shown in answers. They never exceed a given length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/builtin.h"
#include "server/session/steps.h"

namespace muster {

class EntityRegistry;

/// "#index:generation".
std::string shown_id(Entity e);
/// Returns EntityRegistry::path, or shown_id if the path is longer than `bytes_max`. Costs one step
/// per ancestor.
std::string shown_path(const EntityRegistry& registry, Entity e, std::size_t bytes_max, Steps& steps);
/// Returns a name, cut at a character boundary to at most `bytes_max` bytes.
std::string_view shown_name(std::string_view name, std::size_t bytes_max) noexcept;

}  // namespace muster
