// Finds Muster's own files on this machine: schemas and the editor's page.
#pragma once

#include <string>

namespace muster {

/// Returns the folder share/muster of the running program's installation, even if that was moved.
/// If the program is not installed, returns the folder configured at build time. The folder need
/// not exist.
std::string installed_folder();

}  // namespace muster
