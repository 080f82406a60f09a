// How a server opens its world: from a file or from PostgreSQL, and how durably.
#pragma once

#include <string>

#include "server/world/world.h"

namespace muster {

/// Returns the path from which the names of files about the world are made (World::beside). `world`
/// is the path of a file, or an address in PostgreSQL. If such an address is invalid, returns an
/// empty text.
std::string path_beside(const std::string& world);
/// Makes the world be opened in PostgreSQL if `world` is an address there.
void choose_store(WorldOptions& options, const std::string& world);
/// Returns the value of --durability with this name, which must be valid.
Durability durability_of(const std::string& name);

}  // namespace muster
