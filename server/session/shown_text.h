// Names and paths as answers show them: never longer than a stated bound, whatever the world holds.
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
/// Returns EntityRegistry::path, or shown_id if that is longer than `bytes_max`. Costs a step per
/// ancestor that is passed.
std::string shown_path(const EntityRegistry& registry, Entity e, std::size_t bytes_max, Steps& steps);
/// Returns a name, cut to at most `bytes_max` bytes at a whole character.
std::string_view shown_name(std::string_view name, std::size_t bytes_max) noexcept;

}  // namespace muster
