// Finds other Muster programs that a command runs.
#pragma once

#include <string>

namespace muster::cli {

/// Returns the path of the program `name`. Searches the folder of this program, and in a build tree
/// the relative path `built`. If the program is in neither, returns only its name, so that the
/// program is searched for on the PATH.
std::string program(const std::string& name, const std::string& built);

}  // namespace muster::cli
