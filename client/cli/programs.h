// Finds other programs of Muster that a command runs.
#pragma once

#include <string>

namespace muster::cli {

/// Returns the path of the program `name`: next to this one or, in a build tree, at the relative
/// path `built`. Otherwise returns the name alone, to be found on the PATH.
std::string program(const std::string& name, const std::string& built);

}  // namespace muster::cli
