// Other programs of Muster that a command runs.
#pragma once

#include <string>

namespace muster::cli {

/// The program `name`: beside this one, or at `built` from here, where a build tree has it;
/// otherwise the name alone, for the PATH.
std::string program(const std::string& name, const std::string& built);

}  // namespace muster::cli
