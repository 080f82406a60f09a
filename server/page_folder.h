// The default folder of the editor's page.
#pragma once

#include <string>

namespace muster {

/// Returns the folder of the page that was built with the program if the program runs in its build
/// folder, and the folder of the installed page otherwise. Returns an empty string if that page
/// does not exist.
std::string default_page_folder();

}  // namespace muster
