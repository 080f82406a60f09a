// Finds Muster's own files on this machine: the schemas and the editor's page.
#pragma once

#include <string>

namespace muster {

/// Returns the directory share/muster of the running program's installation, even if the
/// installation has been moved. If the program is not installed, returns the directory configured
/// at build time. The directory need not exist.
std::string installed_folder();

}  // namespace muster
