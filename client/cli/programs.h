// Finds other Muster programs that a command runs.
#pragma once

#include <string>

namespace muster::cli {

/// Returns the path of the program `name`. Searches this program's folder and, in a build tree, the
/// relative path `built`. If the program is in neither place, returns just `name`, which causes a
/// search of the PATH.
std::string program(const std::string& name, const std::string& built);

}  // namespace muster::cli
