// Where Muster's own files lie on this machine: schemas, the editor's page.
#pragma once

#include <string>

namespace muster {

/// Returns the folder share/muster of the installation that the running program is of, wherever that was moved; of a program that is in
/// none, the one that was named when Muster was built. It need not exist.
std::string installed_folder();

}  // namespace muster
