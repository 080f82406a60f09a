// Formats names and paths for answers, so that they never exceed a given length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/builtin.h"
#include "server/session/steps.h"

namespace muster {

class EntityRegistry;

/// Returns the entity's id in the form "#index:generation".
std::string shown_id(Entity e);
/// Returns the result of EntityRegistry::path, or of shown_id if the path is longer than
/// `bytes_max` bytes. Costs one step per ancestor.
std::string shown_path(const EntityRegistry& registry, Entity e, std::size_t bytes_max, Steps& steps);
/// Returns a name, truncated to at most `bytes_max` bytes at a character boundary.
std::string_view shown_name(std::string_view name, std::size_t bytes_max) noexcept;

}  // namespace muster
